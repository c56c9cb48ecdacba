//! Faults of the database, the network or another program.
#![cfg(unix)]

mod common;

use std::thread;
use std::time::{Duration, Instant};

use scorpiox_executor::{Cancel, Reason};
use scorpiox_store::{BriefStore, Mode, Store, StoreError, Transaction};
use scorpiox_store_postgres::{Address, Database, FORMAT, Options};
use scorpiox_test_support::postgres::Postgres;
use scorpiox_test_support::postgres::proxy::{Cut, Proxy};

use common::{LONG, database, name, named, server, to_format_1};

const TOOL: &str = "tool";
const ANY: u64 = u64::MAX;

fn begin(store: &dyn Store, mode: Mode) -> Result<Box<dyn Transaction>, StoreError> {
    store.begin(mode, &Cancel::default(), &mut || ())
}

fn put(store: &dyn Store, key: &str, value: &[u8]) -> Result<(), StoreError> {
    let mut transaction = begin(store, Mode::Write)?;
    transaction.set(TOOL, key, value, ANY)?;
    transaction.commit()
}

fn value(store: &dyn Store, key: &str) -> Option<Vec<u8>> {
    begin(store, Mode::ReadFirst).expect("a transaction").get(TOOL, key).expect("a value")
}

#[test]
fn a_database_that_starts_again_is_used_again() {
    let mut server = Postgres::start();
    let address = server.database();
    let store = database(&address).workspace(&named("w"));
    for (at, kill) in [true, false].into_iter().enumerate() {
        put(&store, "k", &[u8::try_from(at).expect("small")]).expect("kept");
        let mut open = begin(&store, Mode::Write).expect("a writer");
        open.set(TOOL, "k", b"lost", ANY).expect("set");
        if kill {
            server.kill();
        } else {
            server.end();
        }
        let refused = open.commit().expect_err("it is gone");
        assert!(matches!(refused, StoreError::Unreachable(_) | StoreError::InDoubt(_)), "{refused:?}");
        let begun = Instant::now();
        let cancel = Cancel::default();
        thread::scope(|scope| {
            // A transaction that begins in the meantime waits for the server.
            let waiting = scope.spawn(|| store.begin(Mode::Write, &cancel, &mut || ()).map(drop));
            server.begin();
            assert_eq!(waiting.join().expect("no panic"), Ok(()));
        });
        assert!(begun.elapsed() < LONG);
        assert_eq!(value(&store, "k"), Some(vec![u8::try_from(at).expect("small")]));
    }
}

#[test]
fn a_database_that_stays_away_is_said_to_be() {
    let mut server = Postgres::start();
    let address = server.database();
    let store = database(&address).workspace(&named("w"));
    put(&store, "k", b"v").expect("kept");
    server.kill();
    let begun = Instant::now();
    let refused = begin(&store, Mode::Write).map(drop).expect_err("it is gone");
    let told = refused.to_string();
    assert!(
        told.contains("cannot be reached") && told.contains("127.0.0.1") && !told.contains("pass"),
        "{told}"
    );
    assert!(begun.elapsed() > Duration::from_secs(5) && begun.elapsed() < LONG, "{:?}", begun.elapsed());
    // The wait can be cancelled.
    let cancel = Cancel::default();
    let begun = Instant::now();
    let refused = store.begin(Mode::Write, &cancel, &mut || cancel.set(Reason::Client)).map(drop);
    assert_eq!(refused, Err(StoreError::Cancelled));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(!store.exists() || store.is_absent() == Ok(false));
}

#[test]
fn who_loses_the_connection_keeps_nothing_and_the_next_one_goes_on() {
    let address = server().database();
    let store = database(&address).workspace(&named("w"));
    put(&store, "k", b"v").expect("kept");
    for mode in [Mode::Write, Mode::ReadFirst] {
        let mut open = begin(&store, mode).expect("a transaction");
        open.set(TOOL, "k", b"lost", ANY).expect("set");
        let ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() \
                     AND pid <> pg_backend_pid()";
        server().psql(name(&address), ended).expect("ended");
        let refused = open.get(TOOL, "k").expect_err("it is gone");
        assert!(matches!(refused, StoreError::Unreachable(_)), "{refused:?}");
        assert!(open.set(TOOL, "k", b"again", ANY).is_err() && open.commit().is_err());
        assert_eq!(value(&store, "k").as_deref(), Some(&b"v"[..]));
        put(&store, "k", b"v").expect("kept");
    }
}

#[test]
fn a_commit_whose_answer_is_lost_is_known_to_be_kept_or_not() {
    let proxy = Proxy::before(server().port());
    let address = server().database();
    let store = database(&proxy.address(&address, server().port())).workspace(&named("w"));
    put(&store, "k", b"0").expect("kept");
    for at in 0..3u8 {
        proxy.cut(Cut::After);
        put(&store, "k", &[at]).expect("it was kept, and that was found out");
        assert_eq!(value(&store, "k"), Some(vec![at]));
        proxy.cut(Cut::Before);
        let refused = put(&store, "k", b"lost").expect_err("it was not kept");
        assert!(
            matches!(&refused, StoreError::Unreachable(why) if why.contains("nothing was kept")),
            "{refused:?}"
        );
        assert_eq!(value(&store, "k"), Some(vec![at]));
    }
}

#[test]
fn no_more_connections_are_made_than_are_allowed_and_who_waits_can_give_up() {
    let address = server().database();
    let options = Options { connections: 2, ..Options::default() };
    let database = Database::new(Address::parse(&address).expect("an address"), options);
    let stores = ["a", "b", "c"].map(|name| database.workspace(&named(name)));
    let held: Vec<_> = stores[..2].iter().map(|store| begin(store, Mode::Write).expect("a writer")).collect();
    assert_eq!(stores[2].try_begin(Mode::ReadFirst).map(drop), Err(StoreError::Conflict));
    let cancel = Cancel::default();
    let mut told = 0;
    let refused = stores[2].begin(Mode::ReadFirst, &cancel, &mut || {
        told += 1;
        cancel.set(Reason::Client);
    });
    assert_eq!((refused.map(drop), told), (Err(StoreError::Cancelled), 1));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| begin(&stores[2], Mode::Write).map(drop));
        drop(held);
        assert_eq!(waiting.join().expect("no panic"), Ok(()));
    });
    let count = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{}'", name(&address));
    assert!(["1", "2"].contains(&server().psql("postgres", &count).expect("a number").trim()));
}

#[test]
fn tables_are_made_once_whoever_begins_and_newer_ones_are_left_alone() {
    let address = server().database();
    thread::scope(|scope| {
        let all: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| put(&database(&address).workspace(&named("w")), "k", b"v")))
            .collect();
        for one in all {
            assert_eq!(one.join().expect("no panic"), Ok(()));
        }
    });
    let database_name = name(&address);
    let formats =
        server().psql(database_name, "SELECT count(*) FROM scorpiox_code.format").expect("a number");
    assert_eq!(formats.trim(), FORMAT.to_string());
    let newer = "INSERT INTO scorpiox_code.format (format) VALUES (1000)";
    server().psql(database_name, newer).expect("written");
    let store = database(&address).workspace(&named("w"));
    let refused = begin(&store, Mode::ReadFirst).map(drop).expect_err("newer");
    assert!(matches!(refused, StoreError::Newer { found: 1000, .. }), "{refused:?}");
    assert!(store.is_absent().is_err() && !store.exists());
}

#[test]
fn who_may_not_make_tables_is_told_how_they_are_made() {
    let address = server().database();
    let options = Options { migrates: false, ..Options::default() };
    let open = || Database::new(Address::parse(&address).expect("an address"), options);
    let store = open().workspace(&named("w"));
    assert_eq!(store.is_absent(), Ok(true));
    let refused = begin(&store, Mode::ReadFirst).map(drop).expect_err("no tables");
    assert!(refused.to_string().contains("store migrate"), "{refused}");
    let database = open();
    assert_eq!((database.format(), database.migrate(), database.migrate()), (Ok(None), Ok(true), Ok(false)));
    put(&open().workspace(&named("w")), "k", b"v").expect("kept");
}

#[test]
fn a_wrong_password_and_a_wrong_name_are_said() {
    let address = server().database();
    let wrong = |from: &str, to: &str| {
        let store = database(&address.replace(from, to)).workspace(&named("w"));
        let refused = begin(&store, Mode::ReadFirst).map(drop).expect_err("refused").to_string();
        assert!(!refused.contains("pass%20word") && !refused.contains("guess"), "{refused}");
        refused
    };
    assert!(wrong("pass%20word", "guess").contains("password authentication failed"));
    assert!(wrong(&format!("/{}", name(&address)), "/nothing").contains("does not exist"));
}

#[test]
fn a_writer_that_does_not_end_is_waited_for_for_ten_seconds() {
    let address = server().database();
    let (store, other) =
        (database(&address).workspace(&named("w")), database(&address).workspace(&named("w")));
    put(&store, "k", b"v").expect("kept");
    let writer = begin(&other, Mode::Write).expect("a writer");
    let begun = Instant::now();
    assert_eq!(begin(&store, Mode::Write).map(drop), Err(StoreError::Busy(10)));
    assert!(begun.elapsed() >= Duration::from_secs(10) && begun.elapsed() < LONG, "{:?}", begun.elapsed());
    assert_eq!(value(&store, "k").as_deref(), Some(&b"v"[..]), "readers do not wait");
    drop(writer);
    put(&store, "k", b"w").expect("kept");
}

#[test]
fn a_server_that_runs_refuses_everything_when_the_format_of_the_tables_rises() {
    let address = server().database();
    let old = database(&address);
    let store = old.workspace(&named("w"));
    put(&store, "k", b"v").expect("kept");
    let mut changes = store.changes().expect("changes");
    let (mut reader, mut both) = (
        begin(&store, Mode::ReadFirst).expect("a reader"),
        begin(&store, Mode::ReadFirst).expect("a reader"),
    );
    assert!(both.get(TOOL, "k").expect("a value").is_some());
    // Raises the format like a migration does.
    let rises = "BEGIN; LOCK TABLE scorpiox_code.workspace IN EXCLUSIVE MODE;
                 UPDATE scorpiox_code.workspace SET version = version + 1;
                 INSERT INTO scorpiox_code.format (format) VALUES (1000); COMMIT";
    // A transaction that has started reading may still write: a migration waits for it.
    server().psql(name(&address), &format!("SET lock_timeout = '200ms'; {rises}")).expect_err("it is locked");
    both.set(TOOL, "k", b"v", ANY).and_then(|()| both.commit()).expect("kept");
    server().psql(name(&address), rises).expect("written");
    let is_newer = |error: &StoreError| matches!(error, StoreError::Newer { found: 1000, .. });
    let refused = put(&store, "k", b"w").expect_err("newer");
    assert!(is_newer(&refused) && refused.to_string().contains("update the program"), "{refused}");
    assert!(is_newer(&reader.get(TOOL, "k").expect_err("newer")), "who begins");
    assert!(reader.set(TOOL, "k", b"w", ANY).is_err() && reader.commit().is_err());
    assert!(is_newer(&changes.changed().expect_err("newer")));
    assert!(is_newer(&old.secret("name", b"new").expect_err("newer")));
    assert!(is_newer(&old.has_ended(b"number").expect_err("newer")));
    assert!(is_newer(&old.end_session(b"1", (b"0", b"2"), 9, LONG).expect_err("newer")));
    assert!(is_newer(&old.pass_on("text").expect_err("newer")));
    server().psql(name(&address), "DELETE FROM scorpiox_code.format WHERE format = 1000").expect("written");
    assert_eq!(value(&store, "k").as_deref(), Some(&b"v"[..]));
    let rows =
        "SELECT (SELECT count(*) FROM scorpiox_code.secret) + (SELECT count(*) FROM scorpiox_code.ended)
                + (SELECT count(*) FROM scorpiox_code.relay)";
    assert_eq!(server().psql(name(&address), rows).expect("a number").trim(), "0", "nothing was written");
    put(&store, "k", b"w").expect("kept");
}

#[test]
fn whoever_reads_before_a_migration_writes_nothing_after_it() {
    let address = server().database();
    let (old, new) = (database(&address), database(&address));
    let store = old.workspace(&named("w"));
    put(&store, "k", b"v").expect("kept");
    let mut open = begin(&store, Mode::ReadFirst).expect("a reader");
    assert!(open.get(TOOL, "k").expect("a value").is_some());
    drop(open);
    to_format_1(&address);
    let mut open = begin(&old.workspace(&named("x")), Mode::ReadFirst).expect("a reader");
    assert!(open.get(TOOL, "k").is_err(), "the tables are older than this program's");
    assert_eq!(new.migrate(), Ok(true));
    put(&database(&address).workspace(&named("w")), "k", b"w").expect("kept");
    assert_eq!(value(&store, "k").as_deref(), Some(&b"w"[..]));
}

#[test]
fn a_new_password_is_read_when_the_database_refuses_the_old_one() {
    use std::sync::{Arc, Mutex};
    let mut own = Postgres::start();
    let address = own.database();
    let role = "CREATE ROLE app LOGIN SUPERUSER PASSWORD 'old'";
    own.psql("postgres", role).expect("a role");
    let of = |password: &str| {
        let address = address.replace("owner:pass%20word@", &format!("app:{password}@"));
        Address::parse(&address).expect("an address")
    };
    let source = Arc::new(Mutex::new("old".to_owned()));
    let (read, from) = (Arc::new(Mutex::new(0)), Arc::clone(&source));
    let (count, base) = (Arc::clone(&read), address.clone());
    let reload = move || {
        *count.lock().expect("no panic") += 1;
        let password = from.lock().expect("no panic").clone();
        Address::parse(&base.replace("owner:pass%20word@", &format!("app:{password}@")))
    };
    let opened = Database::reloading(of("old"), Some(Box::new(reload)), Options::default());
    let store = opened.workspace(&named("w"));
    put(&store, "k", b"v").expect("kept");
    assert_eq!(*read.lock().expect("no panic"), 0, "nothing is read while all is well");
    own.psql("postgres", "ALTER ROLE app PASSWORD 'new'").expect("changed");
    own.end();
    own.begin();
    let refused = put(&store, "k", b"w").expect_err("the file has the old one still");
    assert!(matches!(refused, StoreError::Denied(_)), "{refused:?}");
    assert!(!refused.to_string().contains("old"), "{refused}");
    *source.lock().expect("no panic") = "new".to_owned();
    let begun = Instant::now();
    put(&store, "k", b"w").expect("kept");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(value(&store, "k").as_deref(), Some(&b"w"[..]));
}

#[test]
fn a_database_that_hangs_is_waited_for_at_length_once() {
    let proxy = Proxy::before(server().port());
    let address = server().database();
    let opened = database(&proxy.address(&address, server().port()));
    let store = opened.workspace(&named("w"));
    put(&store, "k", b"v").expect("kept");
    proxy.hang();
    let begun = Instant::now();
    assert!(put(&store, "k", b"w").is_err());
    let first = begun.elapsed();
    for _ in 0..3 {
        let begun = Instant::now();
        assert!(put(&store, "k", b"w").is_err());
        assert!(begun.elapsed() < first / 2, "{:?} after {first:?}", begun.elapsed());
    }
    proxy.recover();
    let begun = Instant::now();
    while put(&store, "k", b"x").is_err() {
        assert!(begun.elapsed() < LONG, "it is there again");
    }
}

#[test]
fn a_database_that_hangs_is_not_waited_for_by_what_can_do_without_it() {
    let proxy = Proxy::before(server().port());
    let address = server().database();
    let opened = database(&proxy.address(&address, server().port()));
    let (store, unused) = (opened.workspace(&named("w")), opened.workspace(&named("never-used")));
    put(&store, "k", b"v").expect("kept");
    proxy.hang();
    let brief = Duration::from_secs(5);
    for _ in 0..2 {
        let begun = Instant::now();
        let looked = store.try_begin(Mode::ReadFirst).and_then(|mut open| open.get(TOOL, "k"));
        assert!(matches!(looked, Err(StoreError::Unreachable(_))), "{looked:?}");
        assert!(unused.is_absent().is_err() && !unused.exists());
        assert!(begun.elapsed() < 2 * brief, "{:?}", begun.elapsed());
        let begun = Instant::now();
        let shared: std::sync::Arc<dyn Store> = std::sync::Arc::new(opened.workspace(&named("w")));
        let asked =
            begin(&*BriefStore::of(&shared), Mode::ReadFirst).and_then(|mut open| open.get(TOOL, "k"));
        assert!(asked.is_err() && begun.elapsed() < brief, "{asked:?} {:?}", begun.elapsed());
    }
}

#[test]
fn messages_are_asked_for_once_as_far_as_their_bytes_allow() {
    let own =
        Postgres::start_with(&["log_min_messages=log", "log_statement=all", "log_parameter_max_length=0"]);
    let store = database(&own.database()).workspace(&named("w"));
    let asked = || {
        let log = std::fs::read_to_string(own.folder().join("log")).expect("a log");
        log.matches("ORDER BY sequence LIMIT").count()
    };
    // The store reads at most eight megabytes at a time.
    for (count, bytes, times) in [(0, 0, 1), (3, 10, 1), (100, 10, 1), (20, 1_000_000, 3)] {
        for number in 0..count {
            let mut open = begin(&store, Mode::Write).expect("a writer");
            open.add_message(TOOL, 1, 1, &format!("{}{number}", "0".repeat(bytes))).expect("added");
            open.commit().expect("kept");
        }
        let numbers = |all: &[scorpiox_store::Message]| -> Vec<u32> {
            all.iter().map(|message| message.text.parse().expect("a number")).collect()
        };
        let all: Vec<_> = (0..count).collect();
        let before = asked();
        let mut open = begin(&store, Mode::ReadFirst).expect("a reader");
        assert_eq!(numbers(&open.messages(TOOL, 1000).expect("messages")), all);
        assert_eq!(asked() - before, times, "{count} of {bytes}");
        drop(open);
        let mut open = begin(&store, Mode::Write).expect("a writer");
        assert_eq!(numbers(&open.take_messages(usize::MAX, &|_| 1).expect("messages")), all);
        open.commit().expect("kept");
        assert_eq!(asked() - before, 2 * times, "{count} of {bytes}");
    }
}
