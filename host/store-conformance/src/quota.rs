//! Quotas of namespaces.

use super::{Fixture, TOOL, add, keys_of, read, value, write};
use scorpiox_store::{Order, StoreError};

pub(super) fn what_fills_a_quota_exactly_fits(fixture: &dyn Fixture) {
    let mut transaction = write(&fixture.open("w"));
    transaction.set(TOOL, "ab", &[0; 8], 10).expect("10 of 10");
    assert_eq!(transaction.set(TOOL, "c", b"", 10), Err(StoreError::Quota(10)));
    transaction.delete(TOOL, "c").expect("delete");
    assert_eq!(transaction.set(TOOL, "ab", &[0; 9], 10), Err(StoreError::Quota(10)));
}

pub(super) fn keys_and_values_count_and_nothing_else(fixture: &dyn Fixture) {
    let mut transaction = write(&fixture.open("w"));
    add(&mut transaction, &"m".repeat(1000));
    transaction.arm(TOOL, 1, 5).expect("arm");
    transaction.set(TOOL, "é", &[0; 8], 10).expect("2 bytes of key, 8 of value");
    transaction.commit().expect("commit");
}

pub(super) fn replacing_counts_the_difference(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    for size in [9, 1, 9, 9, 0, 9] {
        transaction.set(TOOL, "k", &vec![1; size], 10).expect("fits");
    }
    transaction.commit().expect("commit");
    // The length of the value is known from a read, or unknown.
    for reads in [true, false] {
        let mut transaction = write(&store);
        if reads {
            value(&mut transaction, "k");
        }
        transaction.set(TOOL, "k", &[2; 9], 10).expect("fits");
        transaction.set(TOOL, "k", &[2; 4], 10).expect("fits");
        transaction.set(TOOL, "l", &[2; 4], 10).expect("fits");
        assert_eq!(transaction.set(TOOL, "l", &[2; 5], 10), Err(StoreError::Quota(10)));
    }
}

pub(super) fn what_was_committed_before_counts(fixture: &dyn Fixture) {
    for (at, key) in ["a", "b", "c"].into_iter().enumerate() {
        let mut transaction = write(&fixture.open("w"));
        transaction.set(TOOL, key, &[0; 9], 10 * (at as u64 + 1)).expect("fits");
        transaction.commit().expect("commit");
    }
    let refused = read(&fixture.open("w")).set(TOOL, "d", &[0; 9], 39);
    assert_eq!(refused, Err(StoreError::Quota(39)));
}

pub(super) fn what_was_rolled_back_does_not_count(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    for _ in 0..3 {
        write(&store).set(TOOL, "k", &[0; 9], 10).expect("fits");
    }
    let mut transaction = write(&store);
    transaction.set(TOOL, "l", &[0; 9], 10).expect("fits");
    transaction.commit().expect("commit");
}

pub(super) fn deleting_frees_at_once(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    for key in ["a", "b", "c"] {
        let mut transaction = write(&store);
        for old in ["a", "b", "c"] {
            transaction.delete(TOOL, old).expect("delete");
        }
        transaction.set(TOOL, key, &[0; 9], 10).expect("fits");
        transaction.commit().expect("commit");
    }
}

pub(super) fn who_stays_over_a_quota_keeps_nothing(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    transaction.set(TOOL, "small", b"", 10).expect("fits");
    assert_eq!(transaction.set(TOOL, "k", &[0; 20], 10), Err(StoreError::Quota(10)));
    assert_eq!(value(&mut transaction, "k"), Some(vec![0; 20]), "it is in the transaction");
    transaction.arm(TOOL, 1, 5).expect("arm");
    assert_eq!(transaction.commit(), Err(StoreError::Quota(10)));
    let mut reader = read(&store);
    assert_eq!(keys_of(&mut reader, "", None, 10, Order::Ascending), [""; 0]);
    assert_eq!(reader.next_timer(), Ok(None));
}

pub(super) fn who_is_within_a_quota_again_may_commit(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    assert_eq!(transaction.set(TOOL, "k", &[0; 20], 10), Err(StoreError::Quota(10)));
    transaction.set(TOOL, "k", &[0; 5], 10).expect("smaller");
    transaction.set(TOOL, "l", &[0; 3], 10).expect("fits");
    transaction.commit().expect("commit");
    assert_eq!(keys_of(&mut read(&store), "", None, 10, Order::Ascending), ["k", "l"]);
}

pub(super) fn a_lowered_quota_still_lets_change_and_shrink(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    transaction.set(TOOL, "k", &[0; 20], 100).expect("fits");
    transaction.set(TOOL, "l", &[0; 20], 100).expect("fits");
    transaction.commit().expect("commit");
    for size in [20, 15] {
        let mut transaction = write(&store);
        transaction.set(TOOL, "k", &vec![1; size], 10).expect("it does not grow");
        transaction.commit().expect("commit");
    }
    let mut transaction = write(&store);
    transaction.delete(TOOL, "l").expect("delete");
    assert_eq!(transaction.set(TOOL, "m", &[0; 19], 10), Err(StoreError::Quota(10)));
    transaction.commit().expect("no more than before");
}

pub(super) fn each_namespace_has_a_quota_of_its_own(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    transaction.set("one", "k", &[0; 9], 10).expect("fits");
    transaction.set("two", "k", &[0; 19], 20).expect("fits");
    assert_eq!(transaction.set("one", "l", b"", 10), Err(StoreError::Quota(10)));
    transaction.delete("two", "k").expect("delete");
    assert_eq!(transaction.commit(), Err(StoreError::Quota(10)), "one does not make room for another");
}
