//! Deleting a namespace.

use super::{ANY, Fixture, TOOL, write};
use scorpiox_store::{Order, StoreError};

pub(super) fn all_of_a_namespace_is_deleted_and_nothing_else(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    for namespace in ["gone", "stays"] {
        for key in ["a", "b"] {
            transaction.set(namespace, key, b"v", ANY).expect("set");
        }
        transaction.arm(namespace, 1, 5).expect("arm");
        transaction.add_message(namespace, 1, 0, namespace).expect("add");
    }
    transaction.commit().expect("commit");
    let mut transaction = write(&store);
    assert!(transaction.get("gone", "a").expect("get").is_some());
    assert_eq!(transaction.forget("gone"), Ok(true));
    assert_eq!(transaction.get("gone", "a"), Ok(None));
    transaction.commit().expect("commit");
    let mut transaction = write(&fixture.open("w"));
    let mut keys =
        |namespace| transaction.scan(namespace, "", None, 9, Order::Ascending).expect("scan").len();
    assert_eq!((keys("gone"), keys("stays")), (0, 2));
    assert_eq!(
        transaction.next_timer().expect("timer").map(|timer| timer.namespace).as_deref(),
        Some("stays")
    );
    transaction.disarm("stays", 1).expect("disarm");
    assert_eq!(transaction.next_timer(), Ok(None));
    let texts = transaction.take_messages(9, &|_| 1).expect("take");
    assert_eq!(texts.into_iter().map(|message| message.text).collect::<Vec<_>>(), ["stays"]);
}

pub(super) fn forgetting_says_whether_there_was_anything(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    assert_eq!(transaction.forget(TOOL), Ok(false));
    transaction.set(TOOL, "k", b"v", ANY).expect("set");
    assert_eq!(transaction.forget(TOOL), Ok(true));
    assert_eq!(transaction.forget(TOOL), Ok(false));
    transaction.arm(TOOL, 1, 5).expect("arm");
    assert_eq!(transaction.forget(TOOL), Ok(true));
    transaction.add_message(TOOL, 1, 5, "m").expect("add");
    assert_eq!(transaction.forget(TOOL), Ok(true));
    transaction.set(TOOL, "k", b"v", ANY).expect("set");
    transaction.commit().expect("commit");
    let mut transaction = write(&store);
    transaction.delete(TOOL, "k").expect("delete");
    transaction.commit().expect("commit");
    assert_eq!(write(&store).forget(TOOL), Ok(false), "the last key was deleted");
}

pub(super) fn forgetting_frees_the_quota(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    transaction.set(TOOL, "k", &[0; 9], 10).expect("fits");
    transaction.commit().expect("commit");
    for key in ["l", "m"] {
        let mut transaction = write(&store);
        assert_eq!(transaction.set(TOOL, "n", b"", 10), Err(StoreError::Quota(10)));
        transaction.forget(TOOL).expect("forget");
        transaction.set(TOOL, key, &[0; 9], 10).expect("fits");
        transaction.commit().expect("commit");
    }
    let mut transaction = write(&store);
    transaction.forget(TOOL).expect("forget");
    transaction.commit().expect("commit");
    write(&store).set(TOOL, "o", &[0; 9], 10).expect("fits");
}

pub(super) fn what_was_forgotten_can_be_set_again(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    transaction.set(TOOL, "k", b"old", ANY).expect("set");
    transaction.commit().expect("commit");
    let mut transaction = write(&store);
    assert_eq!(transaction.get(TOOL, "k"), Ok(Some(b"old".to_vec())));
    transaction.forget(TOOL).expect("forget");
    transaction.set(TOOL, "k", b"new", 4).expect("nothing else counts");
    assert_eq!(transaction.get(TOOL, "k"), Ok(Some(b"new".to_vec())));
    transaction.commit().expect("commit");
    assert_eq!(write(&store).get(TOOL, "k"), Ok(Some(b"new".to_vec())));
}

pub(super) fn a_namespace_is_there_as_long_as_it_has_something(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    assert_eq!(transaction.namespaces(), Ok(vec![]));
    transaction.set("\u{e000}", "k", b"v", ANY).expect("set");
    transaction.set("b", "k", b"v", ANY).expect("set");
    transaction.arm("a", 1, 5).expect("arm");
    transaction.arm("b", 1, 5).expect("arm");
    transaction.add_message("c", 1, 0, "m").expect("add");
    let all = ["a", "b", "c", "\u{e000}"].map(str::to_owned);
    assert_eq!(transaction.namespaces(), Ok(all.to_vec()));
    transaction.commit().expect("commit");
    let mut transaction = write(&fixture.open("w"));
    assert_eq!(transaction.namespaces(), Ok(all.to_vec()));
    transaction.delete("\u{e000}", "k").expect("delete");
    transaction.disarm("a", 1).expect("disarm");
    transaction.take_messages(9, &|_| 1).expect("take");
    transaction.delete("b", "k").expect("delete");
    assert_eq!(transaction.namespaces(), Ok(vec!["b".to_owned()]));
}
