//! Pending messages.

use super::{Fixture, TOOL, add, read, take, write};
use scorpiox_store::{MAX_KEPT_MESSAGES, Message};

const LAST_TIME: u64 = i64::MAX as u64;

pub(super) fn a_message_is_what_was_added(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    let mut added = Vec::new();
    for (timer, fired_at, text) in [(0, 0, ""), (u32::MAX, LAST_TIME, "é\n\0\u{10ffff}"), (7, 5, "text")] {
        let sequence = transaction.add_message(TOOL, timer, fired_at, text).expect("add");
        added.push(Message { sequence, timer, fired_at, text: text.to_owned() });
    }
    transaction.commit().expect("commit");
    let mut transaction = write(&store);
    assert_eq!(transaction.messages(TOOL, 10), Ok(added.clone()));
    assert_eq!(transaction.take_messages(100, &|_| 1), Ok(added));
}

pub(super) fn messages_are_of_a_namespace_and_come_oldest_first(fixture: &dyn Fixture) {
    let mut transaction = write(&fixture.open("w"));
    for (namespace, text) in [("one", "1"), ("two", "2"), ("one", "3"), ("one", "4")] {
        transaction.add_message(namespace, 1, 0, text).expect("add");
    }
    let mut texts = |namespace, limit| {
        let found = transaction.messages(namespace, limit).expect("messages");
        found.into_iter().map(|message| message.text).collect::<Vec<_>>()
    };
    assert_eq!(texts("one", 10), ["1", "3", "4"]);
    assert_eq!(texts("one", 2), ["1", "3"]);
    assert_eq!(texts("one", 0), [""; 0]);
    assert_eq!(texts("two", u32::MAX), ["2"]);
    assert_eq!(texts("three", 10), [""; 0]);
}

pub(super) fn messages_of_all_namespaces_are_taken_oldest_first_and_once(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    for (namespace, text) in [("b", "1"), ("a", "2"), ("b", "3")] {
        transaction.add_message(namespace, 1, 0, text).expect("add");
    }
    assert_eq!(transaction.has_messages(), Ok(true));
    transaction.commit().expect("commit");
    assert_eq!(read(&store).has_messages(), Ok(true));
    let mut transaction = write(&store);
    assert_eq!(take(&mut transaction, 100), ["1", "2", "3"]);
    assert_eq!(take(&mut transaction, 100), [""; 0]);
    transaction.commit().expect("commit");
    let mut transaction = write(&fixture.open("w"));
    assert_eq!(transaction.has_messages(), Ok(false));
    assert_eq!(take(&mut transaction, 100), [""; 0]);
}

pub(super) fn what_a_rollback_took_is_still_there(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    add(&mut transaction, "m");
    transaction.commit().expect("commit");
    for _ in 0..2 {
        assert_eq!(take(&mut write(&store), 100), ["m"]);
    }
}

pub(super) fn sequence_numbers_rise_and_are_not_used_again(fixture: &dyn Fixture) {
    let mut last = 0;
    for round in 0..4 {
        let mut transaction = write(&fixture.open("w"));
        for _ in 0..3 {
            let sequence = add(&mut transaction, "m");
            assert!(sequence > last, "{sequence} after {last}");
            last = sequence;
        }
        match round {
            0 => {}
            1 => drop(transaction.forget(TOOL).expect("forget")),
            _ => drop(take(&mut transaction, 100)),
        }
        transaction.commit().expect("commit");
    }
}

pub(super) fn only_messages_that_there_is_room_for_are_taken(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    for text in ["12345", "1234", "123", "1"] {
        add(&mut transaction, text);
    }
    assert_eq!(take(&mut transaction, 9), ["12345", "1234"]);
    transaction.commit().expect("commit");
    let mut transaction = write(&store);
    assert_eq!(take(&mut transaction, 3), ["123"], "and none behind the first that does not fit");
    assert_eq!(take(&mut transaction, 100), ["1"]);
}

pub(super) fn one_that_fits_nowhere_comes_alone(fixture: &dyn Fixture) {
    let mut transaction = write(&fixture.open("w"));
    for text in ["1234567890", "1", "1234567890", "", "2"] {
        add(&mut transaction, text);
    }
    assert_eq!(take(&mut transaction, 5), ["1234567890"]);
    assert_eq!(take(&mut transaction, 5), ["1"], "one that would fit alone waits behind what fits");
    assert_eq!(take(&mut transaction, 0), ["1234567890", ""], "what costs nothing needs no room");
    assert_eq!(take(&mut transaction, 1), ["2"]);
}

pub(super) fn the_oldest_are_dropped(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    for round in 0..3 {
        let mut transaction = write(&store);
        for at in 0..50 {
            let namespace = if at % 2 == 0 { "even" } else { "odd" };
            transaction.add_message(namespace, 1, 0, &format!("{}", round * 50 + at)).expect("add");
        }
        transaction.commit().expect("commit");
    }
    let taken = take(&mut write(&store), usize::MAX);
    assert_eq!(taken.len() as u64, MAX_KEPT_MESSAGES);
    assert_eq!((&*taken[0], &*taken[99]), ("50", "149"));
}
