//! The state on disk: an ordered map, in transactions, used by several at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use proptest::prelude::*;
use scorpiox_executor::{Cancel, Reason};
use scorpiox_store::{Database, DatabaseError, Durability, Mode, Order, Transaction};
use tempfile::TempDir;

const SPACE: &str = "tests";
const QUOTA: u64 = u64::MAX;

fn database() -> (TempDir, Arc<Database>) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::new(folder.path().join("state/x.db"), Durability::Process);
    (folder, Arc::new(database))
}

fn begin(database: &Arc<Database>, mode: Mode) -> Transaction {
    database.begin(mode, &Cancel::default(), &mut || {}).expect("a transaction")
}

#[test]
fn nothing_is_on_disk_before_the_first_use() {
    let (folder, database) = database();
    assert!(!database.exists());
    assert!(!folder.path().join("state").exists());
    begin(&database, Mode::ReadFirst);
    assert!(database.exists());
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, database) = database();
    let mut transaction = begin(&database, Mode::Write);
    transaction.set(SPACE, "k", b"v", QUOTA).expect("set");
    transaction.commit().expect("commit");
    let mode = |path: &str| {
        let meta = std::fs::metadata(folder.path().join(path)).expect("there");
        meta.permissions().mode() & 0o777
    };
    assert_eq!(mode("state"), 0o700);
    for file in ["state/x.db", "state/x.db-wal", "state/x.db-shm"] {
        assert_eq!(mode(file), 0o600, "{file}");
    }
}

#[test]
fn a_transaction_that_is_dropped_leaves_nothing() {
    let (_folder, database) = database();
    let mut transaction = begin(&database, Mode::Write);
    transaction.set(SPACE, "k", b"v", QUOTA).expect("set");
    transaction.arm(SPACE, 1, 5).expect("arm");
    drop(transaction);
    let mut transaction = begin(&database, Mode::ReadFirst);
    assert_eq!(transaction.get(SPACE, "k").expect("get"), None);
    assert_eq!(transaction.next_timer().expect("timer"), None);
}

#[test]
fn namespaces_do_not_see_each_other() {
    let (_folder, database) = database();
    let mut one = begin(&database, Mode::Write);
    one.set("one", "k", b"1", QUOTA).expect("set");
    one.commit().expect("commit");
    let mut two = begin(&database, Mode::Write);
    assert_eq!(two.get("two", "k").expect("get"), None);
    assert_eq!(two.scan("two", "", None, 10, Order::Ascending).expect("scan"), []);
    two.delete("two", "k").expect("delete");
    two.commit().expect("commit");
    assert_eq!(begin(&database, Mode::ReadFirst).get("one", "k").expect("get").as_deref(), Some(&b"1"[..]));
}

#[test]
fn a_write_after_a_stale_read_is_a_conflict() {
    let (_folder, database) = database();
    let mut reader = begin(&database, Mode::ReadFirst);
    reader.get(SPACE, "k").expect("get");
    let mut writer = begin(&database, Mode::Write);
    writer.set(SPACE, "k", b"new", QUOTA).expect("set");
    writer.commit().expect("commit");
    assert_eq!(reader.get(SPACE, "k").expect("still the old state"), None);
    assert_eq!(reader.set(SPACE, "k", b"mine", QUOTA), Err(DatabaseError::Conflict));
}

#[test]
fn waiting_for_a_writer_ends_with_a_cancel_and_is_reported() {
    let (_folder, database) = database();
    let writer = begin(&database, Mode::Write);
    let cancel = Cancel::default();
    let mut told = 0;
    let refused = database.begin(Mode::Write, &cancel, &mut || {
        told += 1;
        cancel.set(Reason::Client);
    });
    assert_eq!(refused.map(drop), Err(DatabaseError::Cancelled));
    assert_eq!(told, 1);
    drop(writer);
    begin(&database, Mode::Write);
}

#[test]
fn a_quota_counts_growth_and_shrinking() {
    let (_folder, database) = database();
    let mut transaction = begin(&database, Mode::Write);
    transaction.set(SPACE, "a", &[0; 50], 100).expect("51 of 100");
    assert_eq!(transaction.set(SPACE, "b", &[0; 60], 100), Err(DatabaseError::Quota(100)));
    drop(transaction);
    let mut transaction = begin(&database, Mode::Write);
    transaction.set(SPACE, "a", &[0; 90], 100).expect("91 of 100");
    transaction.commit().expect("commit");
    let mut transaction = begin(&database, Mode::Write);
    assert_eq!(transaction.set(SPACE, "b", &[0; 20], 100), Err(DatabaseError::Quota(100)));
    drop(transaction);
    let mut transaction = begin(&database, Mode::Write);
    transaction.set(SPACE, "a", &[0; 10], 100).expect("smaller");
    transaction.set(SPACE, "b", &[0; 20], 100).expect("fits now");
    transaction.delete(SPACE, "a").expect("delete");
    transaction.commit().expect("commit");
    let mut transaction = begin(&database, Mode::Write);
    transaction.set(SPACE, "c", &[0; 78], 100).expect("21 + 79 of 100");
}

#[test]
fn who_goes_on_over_the_quota_keeps_nothing() {
    let (_folder, database) = database();
    let mut transaction = begin(&database, Mode::Write);
    assert!(transaction.set(SPACE, "a", &[0; 200], 100).is_err());
    assert_eq!(transaction.commit(), Err(DatabaseError::Quota(100)));
    let mut transaction = begin(&database, Mode::Write);
    assert_eq!(transaction.get(SPACE, "a").expect("get"), None);
    assert!(transaction.set(SPACE, "a", &[0; 200], 100).is_err());
    transaction.delete(SPACE, "a").expect("delete");
    transaction.set(SPACE, "b", &[0; 50], 100).expect("within the quota again");
    transaction.commit().expect("commit");
}

#[test]
fn a_scan_is_bounded_in_bytes() {
    let (_folder, database) = database();
    let mut transaction = begin(&database, Mode::Write);
    for at in 0..10 {
        transaction.set(SPACE, &format!("k{at}"), &vec![0; 1024 * 1024], QUOTA).expect("set");
    }
    let found = transaction.scan(SPACE, "k", None, 1000, Order::Ascending).expect("scan");
    assert_eq!(found.len(), 4);
}

#[test]
fn keys_and_values_over_their_limits_are_refused() {
    let (_folder, database) = database();
    let mut transaction = begin(&database, Mode::Write);
    for key in ["", &"k".repeat(513)] {
        assert!(matches!(transaction.set(SPACE, key, b"", QUOTA), Err(DatabaseError::TooLarge(_))));
    }
    let large = vec![0; 1024 * 1024 + 1];
    assert!(matches!(transaction.set(SPACE, "k", &large, QUOTA), Err(DatabaseError::TooLarge(_))));
    transaction.set(SPACE, &"k".repeat(512), &large[1..], QUOTA).expect("at the limits");
}

#[test]
fn a_counter_is_text_and_what_is_none_is_an_error() {
    let (_folder, database) = database();
    let mut transaction = begin(&database, Mode::Write);
    assert_eq!(transaction.increment(SPACE, "c", 5, QUOTA), Ok(5));
    assert_eq!(transaction.increment(SPACE, "c", -7, QUOTA), Ok(-2));
    assert_eq!(transaction.get(SPACE, "c").expect("get").as_deref(), Some(&b"-2"[..]));
    transaction.set(SPACE, "c", b"x", QUOTA).expect("set");
    assert!(transaction.increment(SPACE, "c", 1, QUOTA).is_err());
    transaction.set(SPACE, "c", i64::MAX.to_string().as_bytes(), QUOTA).expect("set");
    assert!(transaction.increment(SPACE, "c", 1, QUOTA).is_err());
}

#[test]
fn messages_are_taken_once_and_the_oldest_are_dropped() {
    let (_folder, database) = database();
    let mut transaction = begin(&database, Mode::Write);
    for at in 0..130 {
        transaction.add_message(SPACE, 1, at, &format!("m{at}")).expect("add");
    }
    transaction.commit().expect("commit");
    let mut transaction = begin(&database, Mode::Write);
    let taken = transaction.take_messages(usize::MAX, |message| message.text.len()).expect("take");
    transaction.commit().expect("commit");
    assert_eq!(taken.len(), 100);
    assert_eq!((&*taken[0].text, &*taken[99].text), ("m30", "m129"));
    let mut transaction = begin(&database, Mode::Write);
    assert_eq!(transaction.take_messages(usize::MAX, |message| message.text.len()).expect("take"), []);
    assert!(transaction.add_message(SPACE, 1, 0, "next").expect("add") > 130, "sequences are not used again");
}

#[test]
fn only_messages_that_there_is_room_for_are_taken() {
    let (_folder, database) = database();
    let mut transaction = begin(&database, Mode::Write);
    for text in ["12345", "1234", "1234567890", "1"] {
        transaction.add_message(SPACE, 1, 0, text).expect("add");
    }
    let mut take = |room| {
        let taken = transaction.take_messages(room, |message| message.text.len()).expect("take");
        taken.into_iter().map(|message| message.text).collect::<Vec<_>>()
    };
    assert_eq!(take(9), ["12345", "1234"]);
    assert_eq!(take(5), ["1234567890"], "one that fits nowhere comes alone");
    assert_eq!(take(5), ["1"]);
    assert_eq!(take(5), [""; 0]);
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let (_folder, database) = database();
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                // A database of its own, as another server has.
                let database = Arc::new(Database::new(database.path().to_owned(), Durability::Process));
                for _ in 0..50 {
                    let mut transaction = begin(&database, Mode::Write);
                    transaction.increment(SPACE, "n", 1, QUOTA).expect("increment");
                    transaction.commit().expect("commit");
                }
            });
        }
    });
    assert_eq!(begin(&database, Mode::ReadFirst).get(SPACE, "n").expect("get").as_deref(), Some(&b"300"[..]));
}

#[test]
fn a_file_of_a_newer_format_is_left_alone() {
    let (_folder, database) = database();
    drop(begin(&database, Mode::Write));
    let raw = rusqlite::Connection::open(database.path()).expect("open");
    raw.pragma_update(None, "user_version", 99).expect("pragma");
    let fresh = Arc::new(Database::new(database.path().to_owned(), Durability::Process));
    let refused = fresh.begin(Mode::Write, &Cancel::default(), &mut || {}).map(drop).expect_err("refused");
    assert!(matches!(refused, DatabaseError::Newer { found: 99, known: 1, .. }), "{refused}");
}

#[test]
fn a_file_that_is_no_database_is_named_and_left_alone() {
    let (_folder, database) = database();
    std::fs::create_dir_all(database.path().parent().expect("folder")).expect("folder");
    std::fs::write(database.path(), "this is not a database, and long enough to be seen as one".repeat(100))
        .expect("file");
    let refused = database.begin(Mode::Write, &Cancel::default(), &mut || {}).map(drop).expect_err("refused");
    assert!(matches!(refused, DatabaseError::Damaged(_)), "{refused}");
}

/// What a test does to the store.
#[derive(Debug, Clone)]
enum Step {
    Set(String, Vec<u8>),
    Delete(String),
    Get(String),
    Scan { prefix: String, after: Option<String>, limit: u32, descending: bool },
    Commit,
    RollBack,
}

fn key() -> impl Strategy<Value = String> {
    proptest::string::string_regex("[ab/\u{7f}\u{d7ff}\u{e000}\u{10ffff}]{1,4}").expect("a pattern")
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (key(), proptest::collection::vec(any::<u8>(), 0..20)).prop_map(|(k, v)| Step::Set(k, v)),
        1 => key().prop_map(Step::Delete),
        1 => key().prop_map(Step::Get),
        3 => (proptest::option::of(key()), proptest::option::of(key()), 0u32..8, any::<bool>()).prop_map(
            |(prefix, after, limit, descending)| Step::Scan {
                prefix: prefix.unwrap_or_default(), after, limit, descending
            }
        ),
        1 => Just(Step::Commit),
        1 => Just(Step::RollBack),
    ]
}

type Model = BTreeMap<String, Vec<u8>>;

fn scan_model(
    model: &Model,
    prefix: &str,
    after: Option<&str>,
    limit: u32,
    descending: bool,
) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = model
        .iter()
        .filter(|(key, _)| key.starts_with(prefix))
        .filter(|(key, _)| after.is_none_or(|a| if descending { key.as_str() < a } else { key.as_str() > a }))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if descending {
        found.reverse();
    }
    found.truncate(limit as usize);
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_store_is_an_ordered_map(steps in proptest::collection::vec(step(), 1..60)) {
        let (_folder, database) = database();
        let (mut kept, mut now) = (Model::new(), Model::new());
        let mut transaction = begin(&database, Mode::Write);
        for step in steps {
            match step {
                Step::Set(key, value) => {
                    transaction.set(SPACE, &key, &value, QUOTA).expect("set");
                    now.insert(key, value);
                }
                Step::Delete(key) => {
                    transaction.delete(SPACE, &key).expect("delete");
                    now.remove(&key);
                }
                Step::Get(key) => prop_assert_eq!(transaction.get(SPACE, &key).expect("get"), now.get(&key).cloned()),
                Step::Scan { prefix, after, limit, descending } => {
                    let order = if descending { Order::Descending } else { Order::Ascending };
                    let found = transaction.scan(SPACE, &prefix, after.as_deref(), limit, order).expect("scan");
                    let found: Vec<_> = found.into_iter().map(|entry| (entry.key, entry.value)).collect();
                    prop_assert_eq!(found, scan_model(&now, &prefix, after.as_deref(), limit, descending));
                }
                Step::Commit => {
                    transaction.commit().expect("commit");
                    kept = now.clone();
                    transaction = begin(&database, Mode::Write);
                }
                Step::RollBack => {
                    drop(transaction);
                    now = kept.clone();
                    transaction = begin(&database, Mode::Write);
                }
            }
        }
        // What the quota counts is what is there.
        let bytes: usize = now.iter().map(|(key, value)| key.len() + value.len()).sum();
        transaction.set(SPACE, "zz", b"", (bytes + 2) as u64).expect("exactly fits");
        prop_assert!(transaction.set(SPACE, "zzz", b"", (bytes + 4) as u64).is_err());
    }
}
