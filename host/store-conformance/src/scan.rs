//! Ordered scans of keys.

use super::{Fixture, TOOL, commit_value, keys_of, put, read, write};
use scorpiox_store::{MAX_SCAN_ENTRIES, Order};

pub(super) fn keys_come_in_the_order_of_their_bytes(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    // UTF-16 order swaps the last two; dictionary orders differ too.
    let keys =
        ["\0", "A", "B", "a", "a\0", "a\u{1}", "aB", "aa", "b", "z", "\u{7f}", "é", "\u{ffff}", "\u{10000}"];
    let mut transaction = write(&store);
    for at in [3, 7, 0, 13, 9, 1, 12, 5, 11, 2, 10, 4, 8, 6] {
        put(&mut transaction, keys[at], keys[at].as_bytes());
    }
    transaction.commit().expect("commit");
    let mut transaction = read(&store);
    assert_eq!(keys_of(&mut transaction, "", None, 100, Order::Ascending), keys);
    let reversed: Vec<&str> = keys.into_iter().rev().collect();
    assert_eq!(keys_of(&mut transaction, "", None, 100, Order::Descending), reversed);
    let found = transaction.scan(TOOL, "", None, 100, Order::Ascending).expect("scan");
    assert!(found.iter().all(|entry| entry.key.as_bytes() == entry.value), "each with its own value");
}

pub(super) fn a_prefix_is_text_and_no_pattern(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let keys = ["%", "_", "a", "a%b", "a/", "a/1", "a/2", "ab", "\u{d7ff}", "\u{d7ff}x", "\u{e000}"];
    let last = ["\u{10ffff}", "\u{10ffff}\u{10ffff}", "\u{10ffff}a"];
    let mut transaction = write(&store);
    for key in keys.iter().chain(&last) {
        put(&mut transaction, key, b"");
    }
    for prefix in
        ["", "a", "a/", "%", "_", "a%", "b", "a/11", "\u{d7ff}", "\u{10ffff}", "\u{10ffff}\u{10ffff}"]
    {
        let mut expected: Vec<&str> =
            keys.iter().chain(&last).copied().filter(|key| key.starts_with(prefix)).collect();
        expected.sort_unstable();
        assert_eq!(keys_of(&mut transaction, prefix, None, 100, Order::Ascending), expected, "{prefix:?}");
        expected.reverse();
        assert_eq!(keys_of(&mut transaction, prefix, None, 100, Order::Descending), expected, "{prefix:?}");
    }
}

pub(super) fn a_scan_starts_strictly_after_a_key(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    for key in ["a", "p1", "p3", "p5", "z"] {
        put(&mut transaction, key, b"");
    }
    let expected: [(&str, &[&str], &[&str]); 7] = [
        ("p1", &["p3", "p5"], &[]),
        ("p3", &["p5"], &["p1"]),
        ("p4", &["p5"], &["p3", "p1"]),
        ("p5", &[], &["p3", "p1"]),
        ("a", &["p1", "p3", "p5"], &[]),
        ("z", &[], &["p5", "p3", "p1"]),
        ("", &["p1", "p3", "p5"], &[]),
    ];
    for (after, ascending, descending) in expected {
        assert_eq!(keys_of(&mut transaction, "p", Some(after), 9, Order::Ascending), ascending, "{after:?}");
        assert_eq!(
            keys_of(&mut transaction, "p", Some(after), 9, Order::Descending),
            descending,
            "{after:?}"
        );
    }
}

pub(super) fn a_scan_gives_at_most_its_limit(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    let mut transaction = write(&store);
    for at in 0..=MAX_SCAN_ENTRIES {
        put(&mut transaction, &format!("{at:04}"), b"");
    }
    assert_eq!(keys_of(&mut transaction, "", None, 0, Order::Ascending), [""; 0]);
    assert_eq!(keys_of(&mut transaction, "", None, 2, Order::Ascending), ["0000", "0001"]);
    assert_eq!(keys_of(&mut transaction, "", None, 2, Order::Descending), ["1000", "0999"]);
    assert_eq!(keys_of(&mut transaction, "", Some("0007"), 1, Order::Ascending), ["0008"]);
    for limit in [MAX_SCAN_ENTRIES, MAX_SCAN_ENTRIES + 1, u32::MAX] {
        let found = keys_of(&mut transaction, "", None, limit, Order::Ascending);
        assert_eq!(found.len(), MAX_SCAN_ENTRIES as usize);
    }
}

pub(super) fn a_scan_ends_with_the_entry_that_reaches_its_bytes(fixture: &dyn Fixture) {
    const MIB: usize = 1024 * 1024;
    let store = fixture.open("w");
    let mut transaction = write(&store);
    for at in 0..6 {
        put(&mut transaction, &format!("k{at}"), &vec![0; MIB - 2]);
    }
    assert_eq!(keys_of(&mut transaction, "", None, 10, Order::Ascending), ["k0", "k1", "k2", "k3"]);
    put(&mut transaction, "k1", &vec![0; MIB - 3]);
    assert_eq!(keys_of(&mut transaction, "", None, 10, Order::Ascending), ["k0", "k1", "k2", "k3", "k4"]);
    assert_eq!(keys_of(&mut transaction, "", Some("k4"), 10, Order::Ascending), ["k5"]);
}

pub(super) fn a_scan_sees_what_the_transaction_wrote(fixture: &dyn Fixture) {
    let store = fixture.open("w");
    for key in ["a", "b", "c"] {
        commit_value(&store, key, b"old");
    }
    let mut transaction = write(&store);
    put(&mut transaction, "a", b"new");
    transaction.delete(TOOL, "b").expect("delete");
    put(&mut transaction, "d", b"new");
    let found = transaction.scan(TOOL, "", None, 10, Order::Ascending).expect("scan");
    let found: Vec<(&str, &[u8])> = found.iter().map(|entry| (&*entry.key, entry.value.as_slice())).collect();
    assert_eq!(found, [("a", &b"new"[..]), ("c", b"old"), ("d", b"new")]);
}
