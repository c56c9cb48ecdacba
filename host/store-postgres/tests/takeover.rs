//! Another database takes over, with an older copy or without tables.
#![cfg(unix)]

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use scorpiox_executor::Cancel;
use scorpiox_store::{Mode, Store, StoreError};
use scorpiox_store_postgres::{Address, Database, Options};

use common::{LONG, database, name, named, server};

const TOOL: &str = "tool";

fn put(store: &dyn Store, value: &[u8]) -> Result<(), StoreError> {
    let mut transaction = store.begin(Mode::Write, &Cancel::default(), &mut || ())?;
    transaction.set(TOOL, "k", value, u64::MAX)?;
    transaction.commit()
}

fn got(store: &dyn Store) -> Result<Option<Vec<u8>>, StoreError> {
    store.begin(Mode::ReadFirst, &Cancel::default(), &mut || ())?.get(TOOL, "k")
}

/// Waits until the listening state of a process equals `hears`. Returns the error if it is not listening.
fn until(database: &Arc<Database>, hears: bool) -> Result<(), StoreError> {
    let store = database.workspace(&named("w"));
    let begin = Instant::now();
    while store.hears().is_ok() != hears {
        assert!(begin.elapsed() < LONG, "{:?}", store.hears());
        std::thread::sleep(Duration::from_millis(20));
    }
    store.hears()
}

#[test]
fn a_workspace_that_has_another_number_now_is_read_by_that_one() {
    let address = server().database();
    let (one, two) = (database(&address), database(&address));
    let (first, second) = (one.workspace(&named("w")), two.workspace(&named("w")));
    put(&first, b"lost").expect("kept");
    // Simulates a copy without the workspace.
    let gone = "DELETE FROM scorpiox_code.workspace; DELETE FROM scorpiox_code.entry; DELETE FROM scorpiox_code.usage";
    server().psql(name(&address), gone).expect("gone");
    put(&second, b"made").expect("kept");
    let read = got(&first);
    assert_eq!(read, Err(StoreError::Conflict), "nothing is read by the old number");
    assert_eq!(got(&first), Ok(Some(b"made".to_vec())));
    server().psql(name(&address), gone).expect("gone");
    put(&second, b"again").expect("kept");
    put(&first, b"written").expect("kept");
    assert_eq!(got(&second), Ok(Some(b"written".to_vec())));
    let count = "SELECT count(*) FROM scorpiox_code.workspace";
    assert_eq!(server().psql(name(&address), count).expect("a number").trim(), "1");
}

#[test]
fn tables_are_made_again_where_an_empty_database_took_over() {
    let address = server().database();
    let one = database(&address);
    let strict = Options { migrates: false, ..Options::default() };
    let strict = Database::new(Address::parse(&address).expect("an address"), strict);
    let (store, refused) = (one.workspace(&named("w")), strict.workspace(&named("w")));
    put(&store, b"v").expect("kept");
    put(&refused, b"v").expect("kept");
    let empty = || server().psql(name(&address), "DROP SCHEMA scorpiox_code CASCADE").expect("gone");
    empty();
    let why = put(&refused, b"w").expect_err("no tables").to_string();
    assert!(why.contains("store migrate"), "{why}");
    put(&store, b"w").expect("kept");
    assert_eq!(got(&store), Ok(Some(b"w".to_vec())));
    put(&refused, b"x").expect("kept");
    // The tables are created by whichever operation comes first.
    empty();
    assert_eq!(got(&store), Err(StoreError::Conflict));
    assert_eq!(got(&store), Ok(None));
    empty();
    assert_eq!(one.has_ended(b"number"), Ok(false));
    empty();
    assert_eq!(one.pass_on("text"), Ok(()));
    empty();
    assert!(store.changes().is_ok());
    put(&store, b"y").expect("kept");
}

#[test]
fn servers_that_run_keep_their_secret_or_say_that_they_are_not_ready() {
    let address = server().database();
    let one = database(&address);
    let secret = one.secret("http", b"of all").expect("a secret");
    one.hear_passed(|_| ()).expect("a thread");
    until(&one, true).expect("it hears");
    // The listening thread may hold locks at the same time.
    let begin = Instant::now();
    while let Err(why) = server().psql(name(&address), "DROP SCHEMA scorpiox_code CASCADE") {
        assert!(why.contains("deadlock") && begin.elapsed() < LONG, "{why}");
    }
    let found = "SELECT count(*) FROM pg_tables WHERE schemaname = 'scorpiox_code' AND tablename = 'secret'";
    server().wait_for(name(&address), found, "1");
    server().wait_for(name(&address), "SELECT count(*) FROM scorpiox_code.secret", "1");
    assert_eq!(database(&address).secret("http", b"another"), Ok(secret), "the next server has the same");
    until(&one, true).expect("it hears");
    let change = |value: &str| {
        let sql = format!("UPDATE scorpiox_code.secret SET value = '{value}'");
        server().psql(name(&address), &sql).expect("changed");
    };
    change("another");
    let why = until(&one, false).expect_err("another secret").to_string();
    assert!(
        why.contains("another one than this server's") && why.contains("start this server again"),
        "{why}"
    );
    assert!(!why.contains("of all"), "{why}");
    change("of all");
    until(&one, true).expect("it hears");
}
