//! Conflicts between writers.

use super::{ANY, Fixture, TOOL, add, commit_value, keys_of, put, read, take, value, write};
use scorpiox_store::{Message, Order, StoreError, Timer, Transaction};

type Write = (&'static str, fn(&mut dyn Transaction) -> Result<(), StoreError>);

/// All ways to write, applied to the data created by [`prepare`].
const WRITES: [Write; 9] = [
    ("set", |t| t.set(TOOL, "new", b"v", ANY)),
    ("set again", |t| t.set(TOOL, "k", b"w", ANY)),
    ("increment", |t| t.increment(TOOL, "n", 1, ANY).map(drop)),
    ("delete", |t| t.delete(TOOL, "k")),
    ("arm", |t| t.arm(TOOL, 2, 5)),
    ("disarm", |t| t.disarm(TOOL, 1)),
    ("postpone", |t| t.postpone(&Timer { namespace: TOOL.to_owned(), id: 1, due: 5 }, 6)),
    ("add", |t| t.add_message(TOOL, 1, 0, "m").map(drop)),
    ("take", |t| t.take_messages(100, &|message: &Message| message.text.len()).map(drop)),
];

/// Way to write that runs last, because it removes the data the other ways need.
const FORGET: Write = ("forget", |t| t.forget(TOOL).map(drop));

/// Stores one item of each kind.
fn prepare(fixture: &dyn Fixture, workspace: &str) {
    let mut transaction = write(&fixture.open(workspace));
    put(&mut transaction, "k", b"v");
    transaction.arm(TOOL, 1, 5).expect("arm");
    add(&mut transaction, "m");
    transaction.commit().expect("commit");
}

pub(super) fn each_write_after_each_change_is_a_conflict(fixture: &dyn Fixture) {
    for (changing, change) in WRITES.iter().chain([&FORGET]) {
        prepare(fixture, changing);
        let (store, other) = (fixture.open(changing), fixture.open(changing));
        let all = || WRITES.iter().chain([&FORGET]);
        let mut readers: Vec<_> = all().map(|_| read(&store)).collect();
        for reader in &mut readers {
            value(reader, "k");
        }
        let mut writer = write(&other);
        change(&mut *writer).expect("the writer may");
        writer.commit().expect("commit");
        for ((writing, late), mut reader) in all().zip(readers) {
            assert_eq!(late(&mut *reader), Err(StoreError::Conflict), "{writing} after {changing}");
        }
    }
}

pub(super) fn each_write_beside_a_writer_is_a_conflict(fixture: &dyn Fixture) {
    prepare(fixture, "w");
    let (store, other) = (fixture.open("w"), fixture.open("w"));
    let writer = write(&store);
    for (writing, write) in WRITES.iter().chain([&FORGET]) {
        for store in [&store, &other] {
            assert_eq!(write(&mut *read(store)), Err(StoreError::Conflict), "{writing}");
        }
    }
    drop(writer);
}

pub(super) fn who_starts_again_as_a_writer_does_not_conflict(fixture: &dyn Fixture) {
    let (store, other) = (fixture.open("w"), fixture.open("w"));
    let mut first = read(&store);
    assert_eq!(value(&mut first, "k"), None);
    commit_value(&other, "k", b"theirs");
    assert_eq!(first.set(TOOL, "k", b"mine", ANY), Err(StoreError::Conflict));
    drop(first);
    let mut again = write(&store);
    assert_eq!(value(&mut again, "k").as_deref(), Some(&b"theirs"[..]));
    // A late writer does not affect this one.
    let mut late = read(&other);
    assert_eq!(late.set(TOOL, "k", b"late", ANY), Err(StoreError::Conflict));
    drop(late);
    put(&mut again, "k", b"mine");
    again.commit().expect("commit");
    assert_eq!(value(&mut read(&other), "k").as_deref(), Some(&b"mine"[..]));
}

pub(super) fn a_first_operation_that_writes_has_no_change_before_it(fixture: &dyn Fixture) {
    let (store, other) = (fixture.open("w"), fixture.open("w"));
    for (_, write) in WRITES.iter().chain([&FORGET]) {
        prepare(fixture, "w");
        let mut transaction = read(&store);
        commit_value(&other, "other", b"v");
        write(&mut *transaction).expect("nothing was read before");
        transaction.commit().expect("commit");
    }
}

pub(super) fn what_only_reads_does_not_conflict(fixture: &dyn Fixture) {
    prepare(fixture, "w");
    let (store, other) = (fixture.open("w"), fixture.open("w"));
    let mut reader = read(&store);
    for value_now in [b"1", b"2"] {
        assert_eq!(value(&mut reader, "k").as_deref(), Some(&b"v"[..]));
        let mut writer = write(&other);
        put(&mut writer, "k", value_now);
        keys_of(&mut reader, "", None, 10, Order::Descending);
        writer.commit().expect("commit");
    }
    reader.next_timer().expect("timer");
    reader.messages(TOOL, 10).expect("messages");
    reader.has_messages().expect("messages");
    let _writer = write(&other);
    reader.commit().expect("commit");
}

pub(super) fn taking_nothing_away_is_no_write(fixture: &dyn Fixture) {
    let (store, other) = (fixture.open("w"), fixture.open("w"));
    let mut transaction = read(&store);
    let _writer = write(&other);
    transaction.delete(TOOL, "absent").expect("nothing to delete");
    assert_eq!(take(&mut transaction, 100), [""; 0]);
    transaction.commit().expect("commit");
}

pub(super) fn a_rollback_is_no_change(fixture: &dyn Fixture) {
    let (store, other) = (fixture.open("w"), fixture.open("w"));
    commit_value(&store, "k", b"v");
    let mut transaction = read(&store);
    assert_eq!(value(&mut transaction, "k").as_deref(), Some(&b"v"[..]));
    let mut writer = write(&other);
    put(&mut writer, "k", b"w");
    drop(writer);
    put(&mut transaction, "k", b"mine");
    transaction.commit().expect("commit");
}

pub(super) fn a_commit_of_reads_is_no_change(fixture: &dyn Fixture) {
    let (store, other) = (fixture.open("w"), fixture.open("w"));
    commit_value(&store, "k", b"v");
    let mut transaction = read(&store);
    assert_eq!(value(&mut transaction, "k").as_deref(), Some(&b"v"[..]));
    let mut writer = write(&other);
    assert_eq!(value(&mut writer, "k").as_deref(), Some(&b"v"[..]));
    writer.commit().expect("commit");
    put(&mut transaction, "k", b"mine");
    transaction.commit().expect("commit");
}

pub(super) fn the_writer_is_free_after_its_end(fixture: &dyn Fixture) {
    let (store, other) = (fixture.open("w"), fixture.open("w"));
    for at in 0..3 {
        commit_value(&store, "k", &[at]);
        let mut first = read(&other);
        put(&mut first, "k", &[at, at]);
        drop(first);
        let mut refused = read(&other);
        assert_eq!(refused.set(TOOL, "k", &[0; 9], 4), Err(StoreError::Quota(4)));
        assert_eq!(refused.commit(), Err(StoreError::Quota(4)));
        let mut second = read(&other);
        put(&mut second, "k", &[at, at]);
        second.commit().expect("commit");
    }
}
