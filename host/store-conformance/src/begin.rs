//! Opening a workspace, and beginning transactions.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use scorpiox_executor::{Cancel, Reason};

use super::changes::settle;
use super::{Fixture, TOOL, add, commit_value, read, value, write};
use scorpiox_store::{Mode, Order, StoreError};

pub(super) fn a_workspace_that_was_never_used_is_absent_and_looking_at_it_creates_nothing(
    fixture: &dyn Fixture,
) {
    let store = fixture.open("new");
    for _ in 0..2 {
        assert!(!store.exists());
        assert_eq!(store.is_absent(), Ok(true));
        assert!(!store.changes().expect("changes").changed().expect("an answer"));
    }
}

pub(super) fn a_workspace_exists_after_its_first_commit(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    commit_value(&store, "k", b"v");
    for store in [store, fixture.open("w")] {
        assert!(store.exists());
        assert_eq!(store.is_absent(), Ok(false));
    }
}

pub(super) fn workspaces_share_nothing(fixture: &dyn Fixture) {
    let (store, elsewhere) = (fixture.open("w"), fixture.open("elsewhere"));
    drop(write(&elsewhere));
    let mut changes = elsewhere.changes().expect("changes");
    settle(&mut changes);
    let mut transaction = write(&store);
    transaction.set(TOOL, "k", b"v", 2).expect("fits");
    transaction.arm(TOOL, 1, 1).expect("arm");
    add(&mut transaction, "m");
    let mut other = elsewhere.try_begin(Mode::Write).expect("another writer");
    transaction.commit().expect("commit");
    assert_eq!(value(&mut other, "k"), None);
    assert_eq!(other.scan(TOOL, "", None, 10, Order::Ascending), Ok(vec![]));
    assert_eq!(other.next_timer(), Ok(None));
    assert_eq!(other.has_messages(), Ok(false));
    other.forget(TOOL).expect("forget");
    other.set(TOOL, "o", b"v", 2).expect("a quota of its own");
    drop(other);
    assert!(!changes.changed().expect("an answer"), "a change elsewhere");
    assert_eq!(value(&mut read(&store), "k").as_deref(), Some(&b"v"[..]));
}

pub(super) fn waiting_for_a_writer_ends_with_a_cancel_and_is_told_once(fixture: &dyn Fixture) {
    let (store, other) = (fixture.open("w"), fixture.open("w"));
    let writer = write(&store);
    let cancel = Cancel::default();
    let mut told = 0;
    let refused = other.begin(Mode::Write, &cancel, &mut || {
        told += 1;
        cancel.set(Reason::Client);
    });
    assert_eq!(refused.map(drop), Err(StoreError::Cancelled));
    assert_eq!(told, 1);
    drop(writer);
    write(&other);
}

pub(super) fn waiting_for_a_writer_ends_when_that_does(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let writer = write(&store);
    let (waits, is_waiting) = mpsc::channel();
    thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            let begun = fixture.open("w").begin(Mode::Write, &Cancel::default(), &mut || {
                waits.send(()).expect("the test waits");
            });
            begun.map(drop)
        });
        is_waiting.recv_timeout(Duration::from_secs(10)).expect("it waits");
        drop(writer);
        assert_eq!(waiting.join().expect("no panic"), Ok(()));
    });
}

pub(super) fn a_cancel_is_not_looked_at_where_there_is_no_wait(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let cancel = Cancel::default();
    cancel.set(Reason::Client);
    for mode in [Mode::ReadFirst, Mode::Write] {
        store.begin(mode, &cancel, &mut || panic!("there is no wait")).expect("a transaction");
    }
}

pub(super) fn try_begin_does_not_wait(fixture: &dyn Fixture) {
    let (store, other) = (fixture.open("w"), fixture.open("w"));
    let writer = store.try_begin(Mode::Write).expect("no writer");
    for _ in 0..3 {
        for store in [&store, &other] {
            assert_eq!(store.try_begin(Mode::Write).map(drop), Err(StoreError::Conflict));
            store.try_begin(Mode::ReadFirst).expect("no writer");
        }
    }
    drop(writer);
    other.try_begin(Mode::Write).expect("no writer");
}

pub(super) fn what_was_committed_is_there_when_it_is_opened_again(fixture: &dyn Fixture) {
    for at in 0..3 {
        let store = fixture.open("w");
        assert_eq!(store.exists(), at > 0);
        if at > 0 {
            assert_eq!(value(&mut read(&store), "k"), Some(vec![at - 1]));
        }
        commit_value(&store, "k", &[at]);
    }
}
