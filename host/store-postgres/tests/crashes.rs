//! Acknowledged writes survive crashes of the database, and lost writes are not reported as committed.
#![cfg(unix)]

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use scorpiox_executor::Cancel;
use scorpiox_store::{Mode, Store, StoreError};
use scorpiox_store_postgres::Database;
use scorpiox_test_support::postgres::Postgres;
use scorpiox_test_support::postgres::proxy::{Cut, Proxy};

use common::{LONG, database, name, named};

const TOOL: &str = "tool";
const WRITERS: usize = 4;
/// Number of times that all processes of the database are killed.
const KILLS: u64 = 5;
/// Minimum number of writes acknowledged between two kills.
const BETWEEN: u64 = 40;

fn put(store: &dyn Store, key: &str, value: &[u8]) -> Result<(), StoreError> {
    let mut transaction = store.begin(Mode::Write, &Cancel::default(), &mut || ())?;
    transaction.set(TOOL, key, value, u64::MAX)?;
    transaction.commit()
}

fn value(store: &dyn Store, key: &str) -> Option<Vec<u8>> {
    let mut transaction = store.begin(Mode::ReadFirst, &Cancel::default(), &mut || ()).expect("a reader");
    transaction.get(TOOL, key).expect("a value")
}

#[test]
fn a_commit_that_died_with_the_database_is_not_taken_for_another_one() {
    // Uncommitted work stays in memory and is lost in the crash.
    let mut server = Postgres::start_with(&["wal_writer_delay=10s", "bgwriter_delay=10s"]);
    let address = server.database();
    let name = name(&address).to_owned();
    let proxy = Proxy::before(server.port());
    let store = database(&proxy.address(&address, server.port())).workspace(&named("w"));
    put(&store, "k", b"kept").expect("kept");
    for _ in 0..3 {
        proxy.cut(Cut::Closed);
        let refused = thread::scope(|scope| {
            let lost = scope.spawn(|| put(&store, "k", b"lost"));
            proxy.wait_for_commit();
            server.kill();
            server.begin();
            // Other transactions reuse the IDs of transactions lost in the crash.
            let others = "DO $$ BEGIN FOR i IN 1..40 LOOP PERFORM txid_current(); COMMIT; END LOOP; END $$";
            server.psql(&name, others).expect("others write");
            proxy.open();
            lost.join().expect("no panic").expect_err("it is not there")
        });
        assert!(
            matches!(&refused, StoreError::Unreachable(why) if why.contains("nothing was kept")),
            "{refused:?}"
        );
        assert_eq!(value(&store, "k").as_deref(), Some(&b"kept"[..]));
    }
}

/// Outcomes of the writes, by number.
#[derive(Default)]
struct Outcomes {
    kept: AtomicU64,
    of: parking_lot::Mutex<BTreeMap<u64, Result<(), StoreError>>>,
}

/// Writes a new key with each call while `disturb` runs.
fn write_while(database: &Arc<Database>, outcomes: &Outcomes, disturb: impl FnOnce()) {
    let (stop, number) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let store = database.workspace(&named(&format!("w{}", writer % 2)));
            let (stop, number) = (&stop, &number);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let at = number.fetch_add(1, Ordering::Relaxed);
                    let outcome = put(&store, &at.to_string(), &[u8::try_from(writer).expect("small")]);
                    outcomes.kept.fetch_add(u64::from(outcome.is_ok()), Ordering::Relaxed);
                    outcomes.of.lock().insert(at, outcome);
                }
            });
        }
        disturb();
        stop.store(true, Ordering::Relaxed);
    });
}

/// Waits until `more` further writes are acknowledged.
fn wait_for(outcomes: &Outcomes, more: u64) {
    let (before, begin) = (outcomes.kept.load(Ordering::Relaxed), Instant::now());
    while outcomes.kept.load(Ordering::Relaxed) < before + more {
        assert!(begin.elapsed() < LONG, "nothing is kept any more");
        thread::yield_now();
    }
}

/// Compares the outcomes with the stored keys. Returns the number of acknowledged writes that are missing.
fn compare(database: &Arc<Database>, outcomes: &Outcomes) -> usize {
    let stores = [database.workspace(&named("w0")), database.workspace(&named("w1"))];
    let mut lost = 0;
    for (at, outcome) in &*outcomes.of.lock() {
        let is_there = stores.iter().any(|store| value(store, &at.to_string()).is_some());
        match outcome {
            Ok(()) if !is_there => lost += 1,
            // The outcome of a write in doubt may be either.
            Ok(()) | Err(StoreError::InDoubt(_)) => {}
            Err(error) => assert!(!is_there, "{at} is there, and was said not to be: {error}"),
        }
    }
    lost
}

#[test]
fn nothing_acknowledged_is_lost_while_all_processes_of_the_database_die() {
    let mut server = Postgres::start();
    let database = database(&server.database());
    let outcomes = Outcomes::default();
    write_while(&database, &outcomes, || {
        for _ in 0..KILLS {
            wait_for(&outcomes, BETWEEN);
            server.kill();
            server.begin();
        }
        wait_for(&outcomes, BETWEEN);
    });
    assert_eq!(compare(&database, &outcomes), 0);
}

/// Starts a server with a standby. Returns both, and a database address that leads to the one that accepts
/// writes.
fn pair(settings: &[&str]) -> (Postgres, Postgres, String) {
    let primary = Postgres::start_with(&["max_connections=50", "wal_level=replica"]);
    let standby = primary.standby(&["cluster_name=standby"]);
    let address = primary.database();
    for setting in settings {
        primary.psql("postgres", &format!("ALTER SYSTEM SET {setting}")).expect("set");
    }
    primary.psql("postgres", "SELECT pg_reload_conf()").expect("read");
    let hosts = |port: u16| format!("127.0.0.1:{port}");
    let both = format!("{},{}", hosts(primary.port()), hosts(standby.port()));
    let address = address.replace(&hosts(primary.port()), &both) + "?target_session_attrs=read-write";
    (primary, standby, address)
}

#[test]
fn a_synchronous_standby_takes_over_with_all_that_was_acknowledged() {
    let (mut primary, standby, address) = pair(&["synchronous_standby_names = '*'"]);
    primary.wait_for("postgres", "SELECT sync_state FROM pg_stat_replication", "sync");
    let database = database(&address);
    let outcomes = Outcomes::default();
    write_while(&database, &outcomes, || {
        wait_for(&outcomes, BETWEEN);
        primary.kill();
        standby.promote();
        wait_for(&outcomes, BETWEEN);
    });
    assert_eq!(compare(&database, &outcomes), 0);
}

#[test]
fn an_asynchronous_standby_takes_over_and_it_is_noticed_that_writes_are_lost() {
    let (mut primary, standby, address) = pair(&[]);
    let database = database(&address);
    let (store, other) = (database.workspace(&named("w0")), database.workspace(&named("w1")));
    put(&store, "early", b"v").expect("kept");
    let name = name(address.split('?').next().expect("an address"));
    standby.wait_for(name, "SELECT count(*) FROM scorpiox_code.entry", "1");
    assert_eq!(database.lost_writes(), 0);
    // The following writes never reach the standby. Nothing reports that, because the standby is
    // asynchronous.
    standby.stop_receiving();
    put(&store, "late", b"v").expect("acknowledged");
    put(&other, "late", b"v").expect("acknowledged, in a workspace that the standby has never heard of");
    primary.kill();
    standby.promote();
    // Another workspace is created first: it must not get the data of the lost one.
    let third = database.workspace(&named("w2"));
    put(&third, "k", b"third").expect("kept");
    assert_eq!((value(&store, "early"), value(&store, "late")), (Some(b"v".to_vec()), None));
    assert_eq!(value(&other, "k"), None);
    put(&other, "k", b"other").expect("kept, in a workspace that is made again");
    assert_eq!((value(&other, "k"), value(&third, "k")), (Some(b"other".to_vec()), Some(b"third".to_vec())));
    assert_eq!(database.lost_writes(), 1, "it was noticed once");
}
