//! Commits that PostgreSQL answers with success although they may be lost, or were not made.
#![cfg(unix)]

mod common;

use std::io::{Error, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use scorpiox_executor::Cancel;
use scorpiox_store::{Mode, Store, StoreError};
use scorpiox_test_support::postgres::Postgres;

use common::{LONG, database, name, named, server};

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

/// Condition on the process of a commit that waits for a standby.
const WAITS: &str = "wait_event = 'SyncRep' AND application_name = 'scorpiox-code'";

/// Server that can be told to wait for a standby that does not exist.
struct Primary(Postgres);

impl Primary {
    /// Starts a server with a database that has these settings. Returns it with the address.
    fn start(settings: &[&str]) -> (Self, String) {
        let own = Postgres::start();
        let address = own.database();
        database(&address).migrate().expect("tables");
        for setting in settings {
            own.psql("postgres", &format!("ALTER DATABASE {} SET {setting}", name(&address))).expect("set");
        }
        (Self(own), address)
    }

    fn set_standby(&self, name: &str) {
        let set = format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'");
        self.0.psql("postgres", &set).expect("set");
        self.0.psql("postgres", "SELECT pg_reload_conf()").expect("read");
    }

    /// Returns the process of a commit that waits, other than this one.
    fn waiting(&self, other: u32) -> Option<u32> {
        let sql = format!("SELECT pid FROM pg_stat_activity WHERE {WAITS} AND pid <> {other} LIMIT 1");
        self.0.psql("postgres", &sql).expect("an answer").trim().parse().ok()
    }

    /// Runs `work` until its commit waits. PostgreSQL takes a moment to tell its processes of a new standby.
    fn until_waiting<'scope, 'env, T: Send + 'scope>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        work: impl Fn() -> T + Clone + Send + 'scope,
    ) -> (ScopedJoinHandle<'scope, T>, u32) {
        let begin = Instant::now();
        let mut worker = scope.spawn(work.clone());
        loop {
            if let Some(pid) = self.waiting(0) {
                return (worker, pid);
            }
            assert!(begin.elapsed() < LONG, "no commit waits");
            if worker.is_finished() {
                worker.join().expect("no panic");
                worker = scope.spawn(work.clone());
            }
        }
    }

    /// Cancels the wait of all commits. Returns the number of commits.
    fn cancel(&self) -> u32 {
        let sql = format!("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE {WAITS}");
        self.0.psql("postgres", &sql).expect("cancelled").trim().parse().expect("a number")
    }
}

#[test]
fn a_commit_whose_wait_for_a_standby_is_cancelled_is_in_doubt() {
    // Warnings would otherwise be suppressed.
    let (primary, address) = Primary::start(&["client_min_messages = error"]);
    let owner = database(&address);
    let (store, other) = (owner.workspace(&named("w")), owner.workspace(&named("x")));
    put(&store, b"v").expect("kept");
    primary.set_standby("nobody");
    thread::scope(|scope| {
        let (writer, _) = primary.until_waiting(scope, || put(&store, b"w"));
        let begin = Instant::now();
        // Also cancels the check of the outcome.
        let mut cancelled = 0;
        while !writer.is_finished() {
            cancelled += primary.cancel();
            assert!(begin.elapsed() < LONG, "it waits still");
        }
        let refused = writer.join().expect("no panic").expect_err("no standby has it");
        assert!(matches!(&refused, StoreError::InDoubt(why) if why.contains("synchronous")), "{refused:?}");
        assert!(cancelled > 1, "{cancelled}");
        assert_eq!(value(&store).as_deref(), Some(&b"w"[..]), "it is kept at the server itself");
        // A commit that no mark identifies.
        let (waits, _) =
            primary.until_waiting(scope, || owner.end_session(b"2", (b"1", b"3"), 9, LONG).map(drop));
        primary.cancel();
        let ended = waits.join().expect("no panic");
        assert!(matches!(ended, Err(StoreError::InDoubt(_))), "{ended:?}");
        // The name of a workspace is kept again with its first commit.
        let first_write = || other.begin(Mode::Write, &Cancel::default(), &mut || ()).map(drop);
        let (beginner, _) = primary.until_waiting(scope, first_write);
        primary.cancel();
        assert_eq!(beginner.join().expect("no panic"), Ok(()));
    });
}

#[test]
fn a_commit_whose_wait_was_cancelled_is_kept_after_a_later_commit() {
    let (primary, address) = Primary::start(&[]);
    let owner = database(&address);
    let store = owner.workspace(&named("w"));
    put(&store, b"v").expect("kept");
    primary.set_standby("nobody");
    thread::scope(|scope| {
        let (writer, pid) = primary.until_waiting(scope, || put(&store, b"w"));
        assert_eq!(primary.cancel(), 1);
        let begin = Instant::now();
        while primary.waiting(pid).is_none() {
            assert!(!writer.is_finished() && begin.elapsed() < LONG, "no check of the outcome waits");
        }
        primary.set_standby("");
        assert_eq!(writer.join().expect("no panic"), Ok(()));
    });
    assert_eq!(value(&store).as_deref(), Some(&b"w"[..]));
    put(&store, b"x").expect("kept");
}

/// A write operation.
type Write<'a> = Box<dyn Fn() -> Result<(), StoreError> + Send + Sync + 'a>;

/// A commit that does not wait for the disk does not wait for a standby either.
#[test]
fn commits_wait_for_the_disk_where_the_database_sets_that_they_do_not() {
    let (primary, address) = Primary::start(&["synchronous_commit = off"]);
    let owner = database(&address);
    let store = owner.workspace(&named("w"));
    put(&store, b"v").expect("kept");
    primary.set_standby("nobody");
    let attempts = AtomicUsize::new(0);
    thread::scope(|scope| {
        let writes: [Write<'_>; 4] = [
            Box::new(|| put(&store, b"w")),
            Box::new(|| {
                let mut transaction = store.begin(Mode::ReadFirst, &Cancel::default(), &mut || ())?;
                transaction.get(TOOL, "k")?;
                transaction.set(TOOL, "k", b"x", u64::MAX)?;
                transaction.commit()
            }),
            // Only the first value of a secret is written, so each attempt has a secret of its own.
            Box::new(|| {
                let number = attempts.fetch_add(1, Ordering::SeqCst);
                owner.secret(&format!("name-{number}"), b"value").map(drop)
            }),
            Box::new(|| {
                let dropped = "SET synchronous_commit = local; DROP SCHEMA IF EXISTS scorpiox_code CASCADE";
                primary.0.psql(name(&address), dropped).expect("dropped");
                database(&address).migrate().map(drop)
            }),
        ];
        for write in writes {
            let write = Arc::new(write);
            let (waits, _) = primary.until_waiting(scope, move || write());
            primary.set_standby("");
            assert_eq!(waits.join().expect("no panic"), Ok(()));
            primary.set_standby("nobody");
        }
    });
}

#[test]
fn commits_wait_for_no_more_than_the_database_sets() {
    let (primary, address) = Primary::start(&["synchronous_commit = local"]);
    let store = database(&address).workspace(&named("w"));
    put(&store, b"v").expect("kept");
    primary.set_standby("nobody");
    // Another connection shows that PostgreSQL waits by now.
    let statement =
        "SET synchronous_commit = on; SET application_name = 'scorpiox-code'; CREATE TABLE public.shown ()";
    thread::scope(|scope| {
        let create = || {
            primary.0.psql(name(&address), "DROP TABLE IF EXISTS public.shown").expect("dropped");
            primary.0.psql(name(&address), statement)
        };
        let (waits, _) = primary.until_waiting(scope, create);
        put(&store, b"w").expect("kept");
        assert!(!waits.is_finished());
        primary.set_standby("");
        waits.join().expect("no panic").expect("made");
    });
}

#[test]
fn a_transaction_that_failed_unseen_is_not_kept() {
    let address = server().database();
    let fails = Arc::new(AtomicBool::new(false));
    let port = failing(server().port(), &fails);
    let through = address.replace(&format!(":{}/", server().port()), &format!(":{port}/"));
    let store = database(&through).workspace(&named("w"));
    put(&store, b"v").expect("kept");
    fails.store(true, Ordering::SeqCst);
    put(&store, b"w").expect_err("it was rolled back");
    assert!(!fails.load(Ordering::SeqCst), "it has failed");
    assert_eq!(value(&store).as_deref(), Some(&b"v"[..]));
    put(&store, b"x").expect("kept");
}

/// Starts a proxy that makes the next transaction fail at its commit, unseen by the client, if `fails` is
/// set. Returns its port.
fn failing(server: u16, fails: &Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let fails = Arc::clone(fails);
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let fails = Arc::clone(&fails);
            let server = TcpStream::connect(("127.0.0.1", server)).expect("a server");
            // Ends when either side disconnects.
            thread::spawn(move || drop(forward(client, server, &fails)));
        }
    });
    port
}

fn forward(mut client: TcpStream, mut server: TcpStream, fails: &AtomicBool) -> Result<(), Error> {
    // The first message has no type.
    server.write_all(&message(&mut client, 0)?)?;
    let mut has_begun = false;
    while !has_begun {
        let answer = message(&mut server, 1)?;
        client.write_all(&answer)?;
        // An authentication request that the client must answer.
        if answer[0] == b'R' && [3, 5, 10, 11].contains(&answer[8]) {
            server.write_all(&message(&mut client, 1)?)?;
        }
        has_begun = answer[0] == b'Z';
    }
    loop {
        let sent = message(&mut client, 1)?;
        if sent[0] == b'X' {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        if sent[0] == b'Q' && sent.ends_with(b"COMMIT\0") && fails.swap(false, Ordering::SeqCst) {
            server.write_all(b"Q\0\0\0\x0fSELECT 1/0\0")?;
            while message(&mut server, 1)?[0] != b'Z' {}
        }
        server.write_all(&sent)?;
        while [b'Q', b'S'].contains(&sent[0]) {
            let answer = message(&mut server, 1)?;
            client.write_all(&answer)?;
            if answer[0] == b'Z' {
                break;
            }
        }
    }
}

/// Reads a message with `kind` bytes before its length.
fn message(from: &mut TcpStream, kind: usize) -> Result<Vec<u8>, Error> {
    from.set_read_timeout(Some(Duration::from_mins(5)))?;
    let mut all = vec![0; kind + 4];
    from.read_exact(&mut all)?;
    let length = all[kind..].iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    all.resize(kind + length, 0);
    from.read_exact(&mut all[kind + 4..])?;
    Ok(all)
}
