//! Timers.

use std::thread;

use parking_lot::Mutex;

use super::{Fixture, TOOL, read, write};
use scorpiox_store::{Timer, Transaction};

fn timer(namespace: &str, id: u32, due: u64) -> Timer {
    Timer { namespace: namespace.to_owned(), id, due }
}

fn next(transaction: &mut Box<dyn Transaction>) -> Option<Timer> {
    transaction.next_timer().expect("timer")
}

/// Removes and returns all timers in order.
fn drain(transaction: &mut Box<dyn Transaction>) -> Vec<Timer> {
    let mut all = Vec::new();
    while let Some(timer) = next(transaction) {
        transaction.disarm(&timer.namespace, timer.id).expect("disarm");
        all.push(timer);
    }
    all
}

pub(super) fn the_timer_that_is_due_first_comes_first(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    assert_eq!(next(&mut transaction), None);
    for (id, due) in [(1, 50), (2, 10), (3, 70), (4, 0)] {
        transaction.arm(TOOL, id, due).expect("arm");
    }
    transaction.commit().expect("commit");
    assert_eq!(next(&mut read(&store)), Some(timer(TOOL, 4, 0)));
    let due: Vec<u64> = drain(&mut write(&store)).iter().map(|timer| timer.due).collect();
    assert_eq!(due, [0, 10, 50, 70]);
}

pub(super) fn of_those_due_at_once_the_namespace_and_then_the_id_decides(fixture: &dyn Fixture) {
    let mut transaction = write(&fixture.open("w"));
    let ordered = [("B", 9), ("a", 2), ("a", 10), ("ab", 1), ("b", 0), ("é", 0)];
    for at in [4, 0, 2, 5, 1, 3] {
        let (namespace, id) = ordered[at];
        transaction.arm(namespace, id, 5).expect("arm");
    }
    let found: Vec<Timer> = ordered.iter().map(|(namespace, id)| timer(namespace, *id, 5)).collect();
    assert_eq!(drain(&mut transaction), found);
}

pub(super) fn arming_again_replaces_the_due_time(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    transaction.arm(TOOL, 1, 5).expect("arm");
    transaction.arm(TOOL, 1, 9).expect("arm");
    transaction.commit().expect("commit");
    let mut transaction = write(&store);
    assert_eq!(next(&mut transaction), Some(timer(TOOL, 1, 9)));
    transaction.arm(TOOL, 1, 3).expect("arm");
    assert_eq!(drain(&mut transaction), [timer(TOOL, 1, 3)]);
}

pub(super) fn disarming_is_idempotent_and_of_one_namespace(fixture: &dyn Fixture) {
    let mut transaction = write(&fixture.open("w"));
    for (namespace, id) in [("one", 1), ("one", 2), ("two", 1)] {
        transaction.arm(namespace, id, 5).expect("arm");
    }
    for _ in 0..2 {
        transaction.disarm("one", 1).expect("disarm");
    }
    transaction.disarm("none", 1).expect("disarm");
    transaction.commit().expect("commit");
    let left = drain(&mut write(&fixture.open("w")));
    assert_eq!(left, [timer("one", 2, 5), timer("two", 1, 5)]);
}

pub(super) fn a_timer_is_postponed_only_if_it_is_the_one_that_was_seen(fixture: &dyn Fixture) {
    let mut transaction = write(&fixture.open("w"));
    transaction.arm(TOOL, 1, 5).expect("arm");
    for other in [timer(TOOL, 1, 4), timer(TOOL, 2, 5), timer("other", 1, 5)] {
        transaction.postpone(&other, 8).expect("postpone");
        assert_eq!(next(&mut transaction), Some(timer(TOOL, 1, 5)), "{other:?}");
    }
    transaction.postpone(&timer(TOOL, 1, 5), 8).expect("postpone");
    assert_eq!(drain(&mut transaction), [timer(TOOL, 1, 8)]);
    transaction.postpone(&timer(TOOL, 1, 8), 9).expect("postpone");
    assert_eq!(next(&mut transaction), None, "it was fired");
}

pub(super) fn due_times_are_any_number(fixture: &dyn Fixture) {
    const LAST: u64 = i64::MAX as u64;
    let mut transaction = write(&fixture.open("w"));
    for (id, due) in [(0, 0), (u32::MAX, LAST - 1), (2, LAST), (3, u64::MAX)] {
        transaction.arm(TOOL, id, due).expect("arm");
    }
    transaction.postpone(&timer(TOOL, 0, 0), u64::MAX).expect("postpone");
    transaction.postpone(&timer(TOOL, 3, u64::MAX), 7).expect("postpone");
    let found =
        [timer(TOOL, 3, 7), timer(TOOL, u32::MAX, LAST - 1), timer(TOOL, 0, LAST), timer(TOOL, 2, LAST)];
    assert_eq!(drain(&mut transaction), found);
}

pub(super) fn a_timer_is_fired_once(fixture: &dyn Fixture) {
    const TIMERS: u32 = 30;
    let mut transaction = write(&fixture.open("w"));
    for id in 0..TIMERS {
        transaction.arm(TOOL, id, 5).expect("arm");
    }
    transaction.commit().expect("commit");
    let fired = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let store = fixture.open("w");
                loop {
                    let mut transaction = write(&store);
                    let Some(timer) = next(&mut transaction) else { break };
                    transaction.disarm(&timer.namespace, timer.id).expect("disarm");
                    transaction.commit().expect("commit");
                    fired.lock().push(timer.id);
                }
            });
        }
    });
    let mut fired = fired.into_inner();
    fired.sort_unstable();
    assert_eq!(fired, (0..TIMERS).collect::<Vec<_>>());
}

pub(super) fn timers_of_a_namespace_come_by_their_ids(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    for (namespace, id, due) in [(TOOL, u32::MAX, 1), (TOOL, 2, 9), ("other", 1, 5), (TOOL, 3, u64::MAX)] {
        transaction.arm(namespace, id, due).expect("arm");
    }
    let found = transaction.timers(TOOL).expect("timers");
    let shown: Vec<_> = found.iter().map(|timer| (timer.namespace.as_str(), timer.id, timer.due)).collect();
    assert_eq!(shown, [(TOOL, 2, 9), (TOOL, 3, i64::MAX as u64), (TOOL, u32::MAX, 1)]);
    assert_eq!(transaction.timers("absent"), Ok(vec![]));
}
