//! Migrations while servers use the tables.
#![cfg(unix)]

mod common;

use std::thread;
use std::time::{Duration, Instant};

use scorpiox_executor::Cancel;
use scorpiox_store::{Mode, Store as _};

use common::{Session, database, name, named, server, to_format_1};

/// Creates a database with content in tables of the first format.
fn old() -> String {
    let address = server().database();
    let store = database(&address).workspace(&named("w"));
    let mut open = store.begin(Mode::Write, &Cancel::default(), &mut || ()).expect("a writer");
    open.set("tool", "k", b"v", u64::MAX).expect("set");
    open.commit().expect("kept");
    to_format_1(&address);
    address
}

/// Waits until a migration is waiting for a table lock.
fn until_waits_for(address: &str, table: &str) {
    let waiting = format!(
        "SELECT count(*) FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
         WHERE NOT l.granted AND l.mode = 'AccessExclusiveLock' AND c.relname = '{table}'
             AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    );
    server().wait_for(name(address), &waiting, "1");
}

#[test]
fn a_migration_waits_for_servers_that_read_before_they_write_and_ends_none() {
    let address = old();
    let mut reader = Session::open(&address);
    // Like a server transaction that reads from one snapshot.
    let read = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT max(format) FROM scorpiox_code.format;
                SELECT count(*) FROM scorpiox_code.entry";
    assert_eq!(reader.run(read), ["1", "1"]);
    thread::scope(|scope| {
        let migrating = scope.spawn(|| database(&address).migrate());
        until_waits_for(&address, "format");
        let write = "SELECT messages FROM scorpiox_code.workspace FOR UPDATE;
                     SELECT count(*) FROM scorpiox_code.message; SELECT count(*) FROM scorpiox_code.timer;
                     UPDATE scorpiox_code.workspace SET version = version + 1; COMMIT; SELECT 'kept'";
        assert_eq!(reader.run(write), ["0", "0", "0", "kept"]);
        assert_eq!(migrating.join().expect("no panic"), Ok(true));
    });
}

#[test]
fn a_migration_that_postgresql_ends_for_a_deadlock_says_so() {
    let address = old();
    // Delays the check of the other session, so that the migration detects the deadlock.
    let later = format!("ALTER DATABASE {} SET deadlock_timeout = '3s'", name(&address));
    server().psql("postgres", &later).expect("set");
    let mut other = Session::open(&address);
    other
        .run("SET deadlock_timeout = '1min'; BEGIN; LOCK TABLE scorpiox_code.workspace IN ACCESS SHARE MODE");
    thread::scope(|scope| {
        let migrating = scope.spawn(|| database(&address).migrate());
        until_waits_for(&address, "workspace");
        assert_eq!(
            other.run("LOCK TABLE scorpiox_code.format IN ACCESS SHARE MODE; SELECT 'has both'"),
            ["has both"]
        );
        let why = migrating.join().expect("no panic").expect_err("it was ended").to_string();
        assert!(why.contains("waited for each other") && why.contains("store migrate"), "{why}");
        assert!(!why.contains("10s"), "{why}");
    });
    other.run("ROLLBACK");
    assert_eq!(database(&address).migrate(), Ok(true));
}

/// The time limit covers all locks together.
#[test]
fn a_migration_waits_no_longer_where_each_lock_is_kept_for_a_while() {
    let address = old();
    let [mut first, _second] = ["format", "workspace"].map(|table| {
        let mut holder = Session::open(&address);
        holder.run(&format!("BEGIN; LOCK TABLE scorpiox_code.{table} IN ACCESS SHARE MODE"));
        holder
    });
    let begin = Instant::now();
    thread::scope(|scope| {
        let migrating = scope.spawn(|| (database(&address).migrate(), begin.elapsed()));
        until_waits_for(&address, "format");
        first.run("SELECT pg_sleep(6); ROLLBACK");
        let (migrated, took) = migrating.join().expect("no panic");
        let why = migrated.expect_err("it has no lock").to_string();
        assert!(why.contains("within 10s") && why.contains("pg_terminate_backend"), "{why}");
        assert!(took < Duration::from_secs(15), "{took:?}");
    });
}
