//! Keys and values.

use super::{ANY, Fixture, TOOL, commit_value, put, read, value, write};
use scorpiox_store::{MAX_KEY_BYTES, MAX_VALUE_BYTES, Order, StoreError};

pub(super) fn a_key_has_the_value_that_was_set_last(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    assert_eq!(value(&mut read(&store), "k"), None);
    let mut transaction = write(&store);
    for text in ["one", "two", "two", "longer", ""] {
        put(&mut transaction, "k", text.as_bytes());
        assert_eq!(value(&mut transaction, "k").as_deref(), Some(text.as_bytes()));
    }
    put(&mut transaction, "k", b"last");
    transaction.commit().expect("commit");
    assert_eq!(value(&mut read(&store), "k").as_deref(), Some(&b"last"[..]));
    commit_value(&store, "k", b"later");
    assert_eq!(value(&mut read(&store), "k").as_deref(), Some(&b"later"[..]));
}

pub(super) fn values_are_any_bytes(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    for bytes in [vec![], vec![0], (0..=255).collect(), vec![0xff; MAX_VALUE_BYTES]] {
        commit_value(&store, "k", &bytes);
        assert!(value(&mut read(&store), "k") == Some(bytes), "as it was");
    }
}

pub(super) fn keys_are_any_text(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let keys = ["a", "A", "a\0", "a\0b", " a", "'\"\\", "%", "é", "e\u{301}", "\u{10ffff}"];
    let mut transaction = write(&store);
    for key in keys {
        put(&mut transaction, key, key.as_bytes());
    }
    transaction.commit().expect("commit");
    let mut transaction = read(&store);
    for key in keys {
        assert_eq!(value(&mut transaction, key).as_deref(), Some(key.as_bytes()), "{key:?}");
    }
}

pub(super) fn limits_are_kept_and_what_is_over_them_is_not_written(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let (longest, largest) = ("k".repeat(MAX_KEY_BYTES), vec![1; MAX_VALUE_BYTES]);
    let mut transaction = write(&store);
    put(&mut transaction, &longest, &largest);
    put(&mut transaction, "k", b"v");
    for key in ["", &format!("{longest}k"), &"é".repeat(MAX_KEY_BYTES / 2 + 1)] {
        assert!(matches!(transaction.set(TOOL, key, b"", ANY), Err(StoreError::TooLarge(_))), "{key}");
        assert_eq!(value(&mut transaction, key), None);
    }
    let too_large = [&largest[..], &[1]].concat();
    assert!(matches!(transaction.set(TOOL, "k", &too_large, ANY), Err(StoreError::TooLarge(_))));
    transaction.commit().expect("it is usable");
    assert_eq!(value(&mut read(&store), "k").as_deref(), Some(&b"v"[..]));
    assert_eq!(value(&mut read(&store), &longest).map(|value| value.len()), Some(MAX_VALUE_BYTES));
}

pub(super) fn deleting_takes_a_key_away_and_an_absent_one_is_no_error(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    commit_value(&store, "k", b"v");
    let mut transaction = write(&store);
    for key in ["k", "k", "never", ""] {
        transaction.delete(TOOL, key).expect("delete");
        assert_eq!(value(&mut transaction, key), None);
    }
    put(&mut transaction, "again", b"v");
    transaction.delete(TOOL, "again").expect("delete");
    transaction.commit().expect("commit");
    assert_eq!(read(&store).scan(TOOL, "", None, 10, Order::Ascending), Ok(vec![]));
}

pub(super) fn namespaces_do_not_see_each_other(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    transaction.set("one", "k", b"1", ANY).expect("set");
    transaction.commit().expect("commit");
    let mut transaction = write(&store);
    for other in ["two", "", "on", "one ", "One", "one\0"] {
        assert_eq!(transaction.get(other, "k"), Ok(None), "{other:?}");
        assert_eq!(transaction.scan(other, "", None, 10, Order::Ascending), Ok(vec![]), "{other:?}");
        transaction.delete(other, "k").expect("delete");
    }
    transaction.commit().expect("commit");
    assert_eq!(read(&store).get("one", "k"), Ok(Some(b"1".to_vec())));
}

pub(super) fn one_transaction_may_use_several_namespaces(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    for round in ["first", "second, longer"] {
        for namespace in ["one", "two", "one"] {
            let text = format!("{round} {namespace}");
            transaction.get(namespace, "k").expect("get");
            transaction.set(namespace, "k", text.as_bytes(), 100).expect("set");
        }
    }
    transaction.delete("two", "k").expect("delete");
    transaction.set("two", "k", &[2; 99], 100).expect("exactly fits");
    transaction.commit().expect("commit");
    let mut transaction = read(&store);
    assert_eq!(transaction.get("one", "k"), Ok(Some(b"second, longer one".to_vec())));
    assert_eq!(transaction.get("two", "k"), Ok(Some(vec![2; 99])));
}

pub(super) fn a_counter_is_decimal_text(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    assert_eq!(transaction.increment(TOOL, "c", 5, ANY), Ok(5));
    assert_eq!(transaction.increment(TOOL, "c", -7, ANY), Ok(-2));
    assert_eq!(value(&mut transaction, "c").as_deref(), Some(&b"-2"[..]));
    put(&mut transaction, "c", b"40");
    assert_eq!(transaction.increment(TOOL, "c", 2, ANY), Ok(42));
    assert_eq!(transaction.increment(TOOL, "m", i64::MIN, ANY), Ok(i64::MIN));
}

pub(super) fn what_is_no_counter_or_overflows_is_an_error(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    let largest = i64::MAX.to_string();
    for text in ["x", "", "1.5", "99999999999999999999", &largest] {
        put(&mut transaction, "c", text.as_bytes());
        assert!(matches!(transaction.increment(TOOL, "c", 1, ANY), Err(StoreError::Other(_))), "{text:?}");
        assert_eq!(value(&mut transaction, "c").as_deref(), Some(text.as_bytes()));
    }
}
