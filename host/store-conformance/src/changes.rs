//! Change notification.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_executor::{Cancel, Reason};

use super::{ANY, Fixture, TOOL, commit_value, read, value, write};
use scorpiox_store::{Changes, Store};

/// Maximum time to wait for expected events.
const LONG: Duration = Duration::from_secs(20);

fn changes_of(store: &Arc<dyn Store>) -> Box<dyn Changes> {
    store.changes().expect("changes")
}

/// Waits until a change is reported.
fn is_told(changes: &mut Box<dyn Changes>) -> bool {
    changes.wait(LONG, &Cancel::default()).expect("an answer")
}

/// Queries until no change is reported.
pub(super) fn settle(changes: &mut Box<dyn Changes>) {
    let all_changed = (0..10).all(|_| changes.changed().expect("an answer"));
    assert!(!all_changed, "nothing changes, but changes are told of again and again");
}

pub(super) fn a_commit_of_another_is_told(fixture: &dyn Fixture) {
    let (store, other) = (fixture.open("w"), fixture.open("w"));
    commit_value(&store, "k", b"v");
    let mut changes = changes_of(&store);
    for at in 0..4 {
        settle(&mut changes);
        let mut transaction = write(&other);
        match at {
            0 => transaction.set(TOOL, "k", b"w", ANY).expect("set"),
            1 => transaction.arm(TOOL, 1, 5).expect("arm"),
            2 => drop(transaction.add_message(TOOL, 1, 5, "m").expect("add")),
            _ => drop(transaction.forget(TOOL).expect("forget")),
        }
        transaction.commit().expect("commit");
        assert!(is_told(&mut changes), "change {at}");
    }
}

pub(super) fn a_commit_of_the_same_store_is_told(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    commit_value(&store, "k", b"v");
    let mut changes = changes_of(&store);
    for at in 0..3 {
        settle(&mut changes);
        commit_value(&store, "k", &[at]);
        assert!(is_told(&mut changes));
    }
}

pub(super) fn the_first_commit_of_a_workspace_is_told(fixture: &dyn Fixture) {
    let mut changes = changes_of(&fixture.open("w"));
    settle(&mut changes);
    commit_value(&fixture.open("w"), "k", b"v");
    assert!(is_told(&mut changes));
    settle(&mut changes);
    commit_value(&fixture.open("w"), "k", b"w");
    assert!(is_told(&mut changes));
}

pub(super) fn several_commits_are_told_at_least_once(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    commit_value(&store, "k", b"v");
    let mut watching = [changes_of(&store), changes_of(&store), changes_of(&fixture.open("w"))];
    watching.iter_mut().for_each(settle);
    for at in 0..3 {
        commit_value(&fixture.open("w"), "k", &[at]);
    }
    for changes in &mut watching {
        assert!(is_told(changes));
    }
}

pub(super) fn without_changes_nothing_is_told_for_ever(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    commit_value(&store, "k", b"v");
    let mut changes = changes_of(&store);
    settle(&mut changes);
    // Neither of these changes anything.
    drop(write(&store).set(TOOL, "k", b"w", ANY));
    value(&mut read(&store), "k");
    settle(&mut changes);
    assert_eq!(changes.wait(Duration::from_millis(20), &Cancel::default()), Ok(false));
}

pub(super) fn what_was_told_is_seen(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    commit_value(&store, "k", b"0");
    let mut changes = changes_of(&store);
    settle(&mut changes);
    for at in 1..20 {
        commit_value(&fixture.open("w"), "k", &[at]);
        assert!(is_told(&mut changes));
        assert_eq!(value(&mut read(&store), "k"), Some(vec![at]));
    }
}

pub(super) fn a_wait_ends_with_a_change(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    commit_value(&store, "k", b"v");
    let (starts, has_started) = mpsc::channel();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut changes = changes_of(&fixture.open("w"));
            settle(&mut changes);
            starts.send(()).expect("the test waits");
            let start = Instant::now();
            (changes.wait(3 * LONG, &Cancel::default()), start.elapsed())
        });
        has_started.recv_timeout(LONG).expect("it starts");
        commit_value(&store, "k", b"w");
        let (told, after) = waiting.join().expect("no panic");
        assert_eq!(told, Ok(true));
        assert!(after < LONG, "not at the end of the time alone: {after:?}");
    });
}

pub(super) fn a_wait_ends_with_a_cancel(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    commit_value(&store, "k", b"v");
    let mut changes = changes_of(&store);
    settle(&mut changes);
    let cancel = Cancel::default();
    let start = Instant::now();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| changes.wait(3 * LONG, &cancel));
        cancel.set(Reason::Shutdown);
        assert_eq!(waiting.join().expect("no panic"), Ok(false));
    });
    assert!(start.elapsed() < LONG, "the wait did not end");
    assert_eq!(changes.wait(3 * LONG, &cancel), Ok(false), "nor does one begin");
    commit_value(&store, "k", b"w");
    assert!(is_told(&mut changes), "a cancel loses nothing");
}
