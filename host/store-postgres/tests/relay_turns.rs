//! Many texts of one principal delay those of no other.
#![cfg(unix)]

mod common;

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use scorpiox_store::Store as _;
use scorpiox_store_postgres::{ACTS, Kind};

use common::{LONG, database, name, named, server, until_heard};

/// Rows like those of a principal that cancels calls which do not exist: a byte of the kind, a group, and a number.
const FLOOD: &str = "INSERT INTO scorpiox_code.relay (mark, sender, since, content)
     SELECT decode('01' || repeat('aa', 8), 'hex') || decode(lpad(to_hex(i), 32, '0'), 'hex'), 's',
         clock_timestamp() - interval 'AGE', 'flood'
     FROM generate_series(FROM, TO) AS i; NOTIFY scorpiox_code_relay";

fn flood(age: &str, from: usize, to: usize) -> String {
    FLOOD.replace("AGE", age).replace("FROM, TO", &format!("{from}, {to}"))
}

#[test]
fn an_answer_overtakes_the_cancellations_of_another_principal() {
    let address = server().database();
    let one = database(&address);
    let other = database(&address);
    let (passed, texts) = channel();
    let slow = move |text: &str| {
        // A server that is busy reads 1,000 texts a second.
        std::thread::sleep(Duration::from_millis(1));
        drop(passed.send(text.to_owned()));
    };
    other.hear_passed(slow).expect("a thread");
    until_heard(&one, &texts);
    server().psql(name(&address), &flood("1 second", 1, 40_000)).expect("written");
    for number in 0..5 {
        let (text, begun) = (format!("answer {number}"), Instant::now());
        one.pass_on_of(Kind::Answer, [number; 8], &text).expect("passed on");
        let mut before = 0;
        while texts.recv_timeout(LONG).expect("it comes") != text {
            before += 1;
        }
        assert!(begun.elapsed() < ACTS / 3, "{:?} after {before} texts", begun.elapsed());
    }
    // Late cancellations do not make the server deaf.
    assert!(other.workspace(&named("w")).hears().is_ok());
}

#[test]
fn a_server_that_does_not_read_answers_in_time_says_so() {
    let address = server().database();
    let one = database(&address);
    let other = database(&address);
    let (passed, texts) = channel();
    let stuck = move |text: &str| {
        if text == "stuck" {
            std::thread::sleep(Duration::from_secs(8));
        }
        drop(passed.send(text.to_owned()));
    };
    other.hear_passed(stuck).expect("a thread");
    until_heard(&one, &texts);
    // One of them is read, and the others wait.
    let stuck = "INSERT INTO scorpiox_code.relay (mark, sender, content)
         SELECT decode(lpad(to_hex(i), 50, '0'), 'hex'), 's', 'stuck' FROM generate_series(1, 300) AS i;
         NOTIFY scorpiox_code_relay";
    server().psql(name(&address), stuck).expect("written");
    let begun = Instant::now();
    let why = loop {
        assert!(begun.elapsed() < ACTS, "it hears");
        match other.hears() {
            Err(why) => break why.to_string(),
            Ok(()) => std::thread::sleep(Duration::from_millis(100)),
        }
    };
    assert!(why.contains("an answer from another server has not been read for "), "{why}");
}

#[test]
fn a_row_that_appears_late_is_read() {
    let address = server().database();
    let one = database(&address);
    let other = database(&address);
    let (passed, texts) = channel();
    other.hear_passed(move |text| drop(passed.send(text.to_owned()))).expect("a thread");
    until_heard(&one, &texts);
    one.pass_on("newer").expect("passed on");
    assert_eq!(texts.recv_timeout(LONG).as_deref(), Ok("newer"));
    // A commit took four seconds, so a pass has read later rows already.
    let late = "INSERT INTO scorpiox_code.relay (mark, sender, since, content)
                VALUES ('late', 's', clock_timestamp() - interval '4 seconds', 'late'); NOTIFY scorpiox_code_relay";
    server().psql(name(&address), late).expect("written");
    assert_eq!(texts.recv_timeout(ACTS).as_deref(), Ok("late"));
}

/// The queue of notifications is full.
#[test]
fn a_text_without_a_notification_is_read_in_time() {
    let address = server().database();
    let one = database(&address);
    let other = database(&address);
    let (passed, texts) = channel();
    other.hear_passed(move |text| drop(passed.send(text.to_owned()))).expect("a thread");
    until_heard(&one, &texts);
    // Longer than the listener looks for texts that it knows of.
    server().psql(name(&address), "DELETE FROM scorpiox_code.relay; SELECT pg_sleep(8)").expect("deleted");
    let silent = "INSERT INTO scorpiox_code.relay (mark, sender, content) VALUES ('silent', 's', 'silent')";
    server().psql(name(&address), silent).expect("written");
    assert_eq!(texts.recv_timeout(ACTS).as_deref(), Ok("silent"));
}
