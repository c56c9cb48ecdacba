//! Abandoned statements also end on the server, so a process stays within its connection limit.
#![cfg(unix)]

mod common;

use std::time::{Duration, Instant};

use scorpiox_executor::Cancel;
use scorpiox_store::{Mode, Store, StoreError};
use scorpiox_store_postgres::{Address, Database, Options};
use scorpiox_test_support::postgres::Postgres;

use common::{LONG, Session, name, named, server};

const TOOL: &str = "tool";

fn put(store: &dyn Store, value: &[u8]) -> Result<(), StoreError> {
    let mut transaction = store.begin(Mode::Write, &Cancel::default(), &mut || ())?;
    transaction.set(TOOL, "k", value, u64::MAX)?;
    transaction.commit()
}

fn value(store: &dyn Store) -> Option<Vec<u8>> {
    let mut transaction = store.begin(Mode::ReadFirst, &Cancel::default(), &mut || ()).expect("a reader");
    transaction.get(TOOL, "k").expect("a value")
}

/// Returns a query that counts the connections of the program to a database.
fn others(of: &str) -> String {
    format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{of}' AND application_name = 'scorpiox-code'"
    )
}

#[test]
fn a_statement_that_waits_for_a_lock_is_ended_by_the_server_and_its_connection_goes_on() {
    let address = server().database();
    let options = Options { connections: 2, ..Options::default() };
    let database = Database::new(Address::parse(&address).expect("an address"), options);
    let store = database.workspace(&named("w"));
    put(&store, b"v").expect("kept");
    let mut holder = Session::open(&address);
    holder.run("BEGIN; LOCK TABLE scorpiox_code.entry IN ACCESS EXCLUSIVE MODE");
    for _ in 0..6 {
        let begin = Instant::now();
        let refused = store.try_begin(Mode::ReadFirst).and_then(|mut open| open.get(TOOL, "k"));
        let why = refused.expect_err("it is locked").to_string();
        assert!(why.contains("pg_blocking_pids") && begin.elapsed() < Duration::from_secs(10), "{why}");
        assert_eq!(store.try_begin(Mode::Write).map(drop), Err(StoreError::Conflict));
    }
    let waiting = "SELECT count(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
                   WHERE NOT l.granted AND d.datname = current_database()";
    assert_eq!(server().psql(name(&address), waiting).expect("a number").trim(), "0");
    assert_eq!(server().psql("postgres", &others(name(&address))).expect("a number").trim(), "1");
    holder.run("ROLLBACK");
    put(&store, b"w").expect("kept");
}

/// A commit waiting for a standby is ended by its process, because PostgreSQL does not limit such a wait.
#[test]
fn a_commit_that_waits_for_a_standby_is_ended_when_it_is_given_up_and_is_in_doubt() {
    let own = Postgres::start();
    let address = own.database();
    let options = Options { connections: 2, ..Options::default() };
    let database = Database::new(Address::parse(&address).expect("an address"), options);
    let store = database.workspace(&named("w"));
    put(&store, b"v").expect("kept");
    let set = |value: &str| {
        own.psql("postgres", &format!("ALTER SYSTEM SET synchronous_standby_names = '{value}'"))
            .expect("set");
        own.psql("postgres", "SELECT pg_reload_conf()").expect("read");
    };
    set("nobody");
    // Commits wait for the standby once PostgreSQL has notified all its processes.
    let begin = Instant::now();
    while put(&store, b"x").is_ok() {
        assert!(begin.elapsed() < LONG, "no commit waits");
    }
    for round in 0..2 {
        let mut open = store.try_begin(Mode::Write).expect("a writer");
        open.set(TOOL, "k", &[round], u64::MAX).expect("set");
        let begin = Instant::now();
        let refused = open.commit().expect_err("no standby has it");
        assert!(matches!(refused, StoreError::InDoubt(_)), "{refused:?}");
        assert!(begin.elapsed() < LONG, "{:?}", begin.elapsed());
        // A backend that has ended remains listed for a moment.
        let begin = Instant::now();
        loop {
            let count = own.psql("postgres", &others(name(&address))).expect("a number");
            if ["0", "1", "2"].contains(&count.trim()) {
                break;
            }
            assert!(begin.elapsed() < Duration::from_secs(5), "{count}");
        }
    }
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    own.wait_for("postgres", waiting, "0");
    assert_eq!(value(&store), Some(vec![1]), "it is kept at the server itself");
    set("");
    own.wait_for("postgres", "SHOW synchronous_standby_names", "");
    put(&store, b"w").expect("kept");
    assert!(database.connections()[0] <= 2);
}
