//! Isolation of transactions.

use std::thread;

use super::{ANY, Fixture, TOOL, add, begin, commit_value, keys_of, put, read, take, value, write};
use scorpiox_store::{Mode, Order, StoreError};

pub(super) fn a_transaction_reads_its_own_writes(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = read(&store);
    assert_eq!(value(&mut transaction, "k"), None);
    put(&mut transaction, "k", b"v");
    transaction.arm(TOOL, 1, 5).expect("arm");
    add(&mut transaction, "m");
    assert_eq!(value(&mut transaction, "k").as_deref(), Some(&b"v"[..]));
    assert_eq!(transaction.next_timer().expect("timer").map(|timer| timer.due), Some(5));
    assert_eq!(transaction.has_messages(), Ok(true));
    assert_eq!(take(&mut transaction, 100), ["m"]);
    assert_eq!(transaction.has_messages(), Ok(false));
}

pub(super) fn nobody_sees_what_is_not_committed(fixture: &dyn Fixture) {
    let (store, other) = (fixture.open("w"), fixture.open("w"));
    let mut writer = write(&store);
    put(&mut writer, "k", b"v");
    writer.arm(TOOL, 1, 5).expect("arm");
    add(&mut writer, "m");
    for store in [&store, &other] {
        let mut reader = read(store);
        assert_eq!(value(&mut reader, "k"), None);
        assert_eq!(keys_of(&mut reader, "", None, 10, Order::Ascending), [""; 0]);
        assert_eq!(reader.next_timer(), Ok(None));
        assert_eq!(reader.has_messages(), Ok(false));
    }
}

pub(super) fn a_commit_keeps_all_kinds_of_writes(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut writer = write(&store);
    put(&mut writer, "k", b"v");
    writer.arm(TOOL, 1, 5).expect("arm");
    add(&mut writer, "m");
    writer.commit().expect("commit");
    for store in [store, fixture.open("w")] {
        let mut reader = read(&store);
        assert_eq!(value(&mut reader, "k").as_deref(), Some(&b"v"[..]));
        assert_eq!(reader.next_timer().expect("timer").map(|timer| timer.due), Some(5));
        assert_eq!(reader.messages(TOOL, 10).expect("messages").len(), 1);
    }
}

pub(super) fn a_drop_without_a_commit_leaves_nothing(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    commit_value(&store, "old", b"v");
    for mode in [Mode::Write, Mode::ReadFirst] {
        let mut transaction = begin(&store, mode);
        put(&mut transaction, "new", b"v");
        transaction.delete(TOOL, "old").expect("delete");
        transaction.arm(TOOL, 1, 5).expect("arm");
        add(&mut transaction, "m");
        drop(transaction);
        let mut reader = read(&store);
        assert_eq!(keys_of(&mut reader, "", None, 10, Order::Ascending), ["old"]);
        assert_eq!(reader.next_timer(), Ok(None));
        assert_eq!(reader.has_messages(), Ok(false));
    }
}

pub(super) fn what_was_read_does_not_change(fixture: &dyn Fixture) {
    let (store, other) = (fixture.open("w"), fixture.open("w"));
    commit_value(&store, "k", b"old");
    let mut reader = read(&store);
    assert_eq!(value(&mut reader, "k").as_deref(), Some(&b"old"[..]));
    for text in ["new", "newer"] {
        let mut writer = write(&other);
        put(&mut writer, "k", text.as_bytes());
        put(&mut writer, text, b"v");
        writer.arm(TOOL, 1, 5).expect("arm");
        add(&mut writer, "m");
        writer.commit().expect("commit");
        assert_eq!(value(&mut reader, "k").as_deref(), Some(&b"old"[..]));
        assert_eq!(value(&mut reader, text), None);
        assert_eq!(keys_of(&mut reader, "", None, 10, Order::Ascending), ["k"]);
        assert_eq!(reader.next_timer(), Ok(None));
        assert_eq!(reader.has_messages(), Ok(false));
        assert_eq!(reader.messages(TOOL, 10), Ok(vec![]));
    }
    reader.commit().expect("a commit of reads");
    assert_eq!(value(&mut read(&store), "k").as_deref(), Some(&b"newer"[..]));
}

pub(super) fn a_snapshot_is_taken_at_the_first_operation(fixture: &dyn Fixture) {
    let (store, other) = (fixture.open("w"), fixture.open("w"));
    commit_value(&store, "k", b"old");
    let mut reader = read(&store);
    commit_value(&other, "k", b"new");
    assert_eq!(value(&mut reader, "k").as_deref(), Some(&b"new"[..]));
}

pub(super) fn a_write_transaction_sees_all_that_was_committed_before_it(fixture: &dyn Fixture) {
    let stores = [fixture.open("w"), fixture.open("w"), fixture.open("w")];
    for at in 0..9 {
        let mut transaction = write(&stores[at % 3]);
        assert_eq!(
            transaction.increment(TOOL, "n", 1, ANY),
            i64::try_from(at + 1).map_err(|_| unreachable!())
        );
        transaction.commit().expect("commit");
    }
}

pub(super) fn a_reader_neither_waits_nor_keeps_a_writer_waiting(fixture: &dyn Fixture) {
    let (store, other) = (fixture.open("w"), fixture.open("w"));
    commit_value(&store, "k", b"old");
    let mut early = read(&other);
    assert_eq!(value(&mut early, "k").as_deref(), Some(&b"old"[..]));
    let mut writer = store.try_begin(Mode::Write).expect("readers are no writers");
    put(&mut writer, "k", b"new");
    let mut late = read(&other);
    assert_eq!(value(&mut late, "k").as_deref(), Some(&b"old"[..]));
    writer.commit().expect("nobody is waited for");
}

pub(super) fn many_writers_lose_nothing(fixture: &dyn Fixture) {
    const WRITERS: i64 = 4;
    const EACH: i64 = 25;
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                let store = fixture.open("w");
                for _ in 0..EACH {
                    // The same pattern as in a tool call.
                    let add = |mode| -> Result<(), StoreError> {
                        let mut transaction = begin(&store, mode);
                        transaction.increment(TOOL, "n", 1, ANY)?;
                        transaction.commit()
                    };
                    match add(Mode::ReadFirst) {
                        Err(StoreError::Conflict) => add(Mode::Write).expect("a writer does not conflict"),
                        first => first.expect("no other error"),
                    }
                }
            });
        }
    });
    let sum = value(&mut read(&fixture.open("w")), "n");
    assert_eq!(sum, Some((WRITERS * EACH).to_string().into_bytes()));
}
