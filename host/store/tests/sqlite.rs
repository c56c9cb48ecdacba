//! Behavior specific to the SQLite file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_executor::Cancel;
use scorpiox_store::{Durability, Mode, SqliteStore, Store, StoreError, Transaction};
use tempfile::TempDir;

const SPACE: &str = "tests";

fn store() -> (TempDir, SqliteStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::new(folder.path().join("state/x.db"), Durability::Process);
    (folder, store)
}

fn begin(store: &SqliteStore, mode: Mode) -> Box<dyn Transaction> {
    store.begin(mode, &Cancel::default(), &mut || {}).expect("a transaction")
}

fn refusal(store: &SqliteStore) -> StoreError {
    store.begin(Mode::Write, &Cancel::default(), &mut || {}).map(drop).expect_err("refused")
}

#[test]
fn nothing_is_on_disk_before_the_first_use() {
    let (folder, store) = store();
    assert!(!store.exists());
    assert_eq!(store.is_absent(), Ok(true));
    assert_eq!(store.changes().expect("changes").changed(), Ok(false));
    assert!(!folder.path().join("state").exists());
    begin(&store, Mode::ReadFirst);
    assert!(store.exists());
    assert_eq!(store.location(), folder.path().join("state/x.db").display().to_string());
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, store) = store();
    let mut transaction = begin(&store, Mode::Write);
    transaction.set(SPACE, "k", b"v", u64::MAX).expect("set");
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

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_looked_at_may_be_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("a file");
    // A path below a regular file cannot be examined by any user.
    let store = SqliteStore::new(file.join("x.db"), Durability::Process);
    assert!(!store.exists());
    assert!(matches!(store.is_absent(), Err(StoreError::Other(_))));
}

#[test]
fn a_file_of_a_newer_format_is_left_alone() {
    let (_folder, store) = store();
    drop(begin(&store, Mode::Write));
    let raw = rusqlite::Connection::open(store.path()).expect("open");
    raw.pragma_update(None, "user_version", 99).expect("pragma");
    let fresh = SqliteStore::new(store.path().to_owned(), Durability::Process);
    let refused = refusal(&fresh);
    assert!(matches!(refused, StoreError::Newer { found: 99, known: 1, .. }), "{refused}");
    assert_eq!(fresh.changes().map(drop), Err(refused));
}

#[test]
fn a_file_that_is_no_database_is_named_and_left_alone() {
    let (_folder, store) = store();
    let content = "this is not a database, and long enough to be seen as one".repeat(100);
    std::fs::create_dir_all(store.path().parent().expect("folder")).expect("folder");
    std::fs::write(store.path(), &content).expect("file");
    assert_eq!(refusal(&store), StoreError::Damaged(store.location()));
    assert_eq!(std::fs::read_to_string(store.path()).expect("the file"), content);
}

#[test]
fn an_empty_file_has_lost_what_it_had() {
    let (_folder, store) = store();
    std::fs::create_dir_all(store.path().parent().expect("folder")).expect("folder");
    std::fs::write(store.path(), "").expect("file");
    assert_eq!(refusal(&store), StoreError::Damaged(store.location()));
}

#[test]
fn several_who_make_the_file_at_once_get_the_same_one() {
    let (_folder, store) = store();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let own = SqliteStore::new(store.path().to_owned(), Durability::Process);
                let mut transaction = begin(&own, Mode::Write);
                transaction.increment(SPACE, "n", 1, u64::MAX).expect("increment");
                transaction.commit().expect("commit");
            });
        }
    });
    assert_eq!(begin(&store, Mode::ReadFirst).get(SPACE, "n"), Ok(Some(b"4".to_vec())));
    let files = std::fs::read_dir(store.path().parent().expect("folder")).expect("folder");
    let left: Vec<_> = files.filter_map(|file| file.ok()?.file_name().into_string().ok()).collect();
    assert!(left.iter().all(|name| !name.contains("new-")), "{left:?}");
}

#[test]
fn a_transaction_keeps_its_state_when_the_store_is_gone() {
    let (_folder, store) = store();
    let store: Arc<dyn Store> = Arc::new(store);
    let mut transaction = store.begin(Mode::Write, &Cancel::default(), &mut || {}).expect("a transaction");
    let mut changes = store.changes().expect("changes");
    drop(store);
    transaction.set(SPACE, "k", b"v", u64::MAX).expect("set");
    transaction.commit().expect("commit");
    assert_eq!(changes.changed(), Ok(true));
}

/// The other writers start again immediately, and hold the lock nearly all the time.
#[test]
fn every_writer_of_a_process_gets_its_turn() {
    const HELD: Duration = Duration::from_millis(5);
    let (_folder, store) = store();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let writer = begin(&store, Mode::Write);
                    thread::sleep(HELD);
                    drop(writer);
                }
            });
        }
        let slowest = (0..50).map(|_| {
            let start = Instant::now();
            drop(begin(&store, Mode::Write));
            start.elapsed()
        });
        let slowest = slowest.max().expect("a time");
        done.store(true, Ordering::Relaxed);
        // In order, it waits for eight turns.
        assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    });
}
