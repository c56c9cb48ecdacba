//! Messages between servers arrive whatever happens to the listening connection.
#![cfg(unix)]

mod common;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use scorpiox_executor::Cancel;
use scorpiox_store::{Mode, Store as _};
use scorpiox_store_postgres::{ACTS, Address, Database, Options};
use scorpiox_test_support::postgres::Postgres;
use scorpiox_test_support::postgres::proxy::Proxy;

use common::{LONG, database, name, named, server, until_heard};

/// Polling interval.
const LOOK: Duration = Duration::from_millis(100);

/// Starts a process that receives the texts of `one`. Waits until it does.
fn hearing(address: &str, one: &Database) -> (Arc<Database>, Receiver<String>) {
    let other = database(address);
    let texts = heard_by(&other, one);
    (other, texts)
}

fn heard_by(other: &Arc<Database>, one: &Database) -> Receiver<String> {
    let (passed, texts) = channel();
    other.hear_passed(move |text| drop(passed.send(text.to_owned()))).expect("a thread");
    until_heard(one, &texts);
    texts
}

/// Waits until the listening state of a process equals `hears` for `at_least`.
fn until(other: &Arc<Database>, hears: bool, at_least: Duration) {
    let store = other.workspace(&named("w"));
    let (begin, mut since) = (Instant::now(), None);
    while since.is_none_or(|since: Instant| since.elapsed() < at_least) {
        assert!(begin.elapsed() < 2 * LONG, "{:?}", store.hears());
        since = (store.hears().is_ok() == hears).then(|| since.unwrap_or_else(Instant::now));
        std::thread::sleep(LOOK);
    }
}

#[test]
fn what_is_acknowledged_after_the_database_was_away_arrives() {
    let mut own = Postgres::start();
    let address = own.database();
    let one = database(&address);
    let (other, texts) = hearing(&address, &one);
    own.kill();
    // Longer than a text is active.
    until(&other, false, ACTS + Duration::from_secs(3));
    let why = other.workspace(&named("w")).hears().expect_err("it is away").to_string();
    assert!(why.contains("has not heard other servers"), "{why}");
    own.begin();
    let begin = Instant::now();
    while one.pass_on("after").is_err() {
        assert!(begin.elapsed() < LONG, "the database is not there again");
    }
    // Well before the text expires, so that the result does not depend on the time of the last connection
    // attempt.
    assert_eq!(texts.recv_timeout(ACTS / 3).as_deref(), Ok("after"));
    until(&other, true, LOOK);
}

#[test]
fn a_connection_that_says_nothing_any_more_is_made_anew_in_time() {
    let proxy = Proxy::before(server().port());
    let address = server().database();
    let one = database(&address);
    let (other, texts) = hearing(&proxy.address(&address, server().port()), &one);
    proxy.freeze();
    one.pass_on("frozen").expect("passed on");
    assert_eq!(texts.recv_timeout(ACTS).as_deref(), Ok("frozen"));
    proxy.hang();
    until(&other, false, LOOK);
    proxy.recover();
    one.pass_on("again").expect("passed on");
    assert_eq!(texts.recv_timeout(ACTS).as_deref(), Ok("again"));
    until(&other, true, LOOK);
}

#[test]
fn a_process_whose_connections_are_all_in_use_hears_the_others() {
    let address = server().database();
    let one = database(&address);
    let options = Options { connections: 2, ..Options::default() };
    let other = Database::new(Address::parse(&address).expect("an address"), options);
    let texts = heard_by(&other, &one);
    let held = ["a", "b"].map(|name| {
        other.workspace(&named(name)).begin(Mode::Write, &Cancel::default(), &mut || ()).expect("a writer")
    });
    for text in ["first", "second"] {
        one.pass_on(text).expect("passed on");
        // Well before waiting for a pooled connection would time out.
        assert_eq!(texts.recv_timeout(ACTS / 3).as_deref(), Ok(text));
    }
    until(&other, true, LOOK);
    drop(held);
}

#[test]
fn many_rows_and_those_of_a_time_to_come_keep_nothing_back() {
    let address = server().database();
    let one = database(&address);
    let (_other, texts) = hearing(&address, &one);
    // Each text is reported once. The rows have times before, within and after the active period of a text.
    let flood = "INSERT INTO scorpiox_code.relay (mark, sender, since, content)
                 SELECT ('m' || i)::bytea, 's', now() + (i - 500) * interval '0.1 second', 'x'
                 FROM generate_series(1, 2000) AS i; NOTIFY scorpiox_code_relay";
    server().psql(name(&address), flood).expect("written");
    let (flooded, mut told) = (Instant::now(), 0);
    for number in 0..20 {
        let text = format!("text {number}");
        one.pass_on(&text).expect("passed on");
        let begin = Instant::now();
        while texts.recv_timeout(ACTS).expect("it comes") != text {
            assert!(begin.elapsed() < ACTS, "{text}");
            told += 1;
        }
    }
    // Rows with a time in the future must not be reported repeatedly.
    let within = 2 * ACTS + flooded.elapsed() + LOOK * 10;
    assert!(told <= within.as_millis() / 100, "{told}");
}
