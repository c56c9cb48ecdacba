//! Tests of a database with a full disk: acknowledged writes are never lost, and service resumes after space
//! is freed.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use scorpiox_test_support::postgres::{Place, Postgres};
use scorpiox_tests::http::HttpServer;
use serde_json::{Value, json};

use super::team::{Team, stored};
use crate::faults::Mount;

/// Number of calls that exceeds the space of each test disk.
const MOST: usize = 60_000;

/// Creates a task; fails with the reason of the refusal.
fn make(server: &HttpServer, name: &str) -> Result<(), String> {
    let params = json!({ "name": "TaskManager", "arguments": { "action": "create", "text": name } });
    let answer = server.ask(&server.modern("tools/call", params));
    assert_eq!(answer.status, 200, "{answer:?}");
    // A call that waits for the database is answered as a stream.
    let last = answer.body.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
    let message: Value = serde_json::from_str(last.unwrap_or(&answer.body)).expect("JSON");
    let result = &message["result"];
    let text = result["content"][0]["text"].as_str().expect("a text").to_owned();
    if result["isError"] == true { Err(text) } else { Ok(()) }
}

/// Fills the rest of the disk that contains this directory.
fn fill(folder: &Path) {
    let mut ballast = fs::File::create(folder.join("ballast")).expect("a file");
    while ballast.write(&[0; 4096]).is_ok_and(|written| written > 0) {}
}

/// Creates tasks until a call is refused; returns the number of created tasks and the refusal.
fn until_refused(server: &HttpServer) -> (usize, String) {
    let refused = (0..MOST).find_map(|number| {
        let refusal = make(server, &format!("task-{number}-end {}", "y".repeat(450))).err()?;
        Some((number, refusal))
    });
    refused.expect("the disk gets full")
}

/// Asserts that each acknowledged task is stored, and none twice.
fn holds(database: &Postgres, name: &str, acknowledged: usize) {
    let stored = stored(database, name);
    for task in 0..acknowledged {
        assert!(stored.contains_key(&format!("task-{task}-end")), "{task} of {acknowledged} is lost");
    }
    assert!(stored.values().all(|times| *times == 1), "{stored:?}");
}

/// `true` if a call was refused for a reason that a full disk causes.
fn is_for_the_disk(refusal: &str) -> bool {
    ["is full", "cannot be reached", "became unreachable"].iter().any(|words| refusal.contains(words))
}

#[test]
fn a_database_without_room_refuses_writes_in_clear_words_and_takes_them_again_with_room() {
    let Some(disk) = Mount::needed("size=120m,mode=711") else { return };
    let database = Postgres::start_at(&Place { all: Some(disk.path()), log: None }, &[]);
    let team = Team::new(&database.database(), 1);
    let server = team.start(0, 0);
    make(&server, "before").expect("there is room");
    fill(disk.path());
    let (acknowledged, refusal) = until_refused(&server);
    assert!(refusal.contains("the disk of postgres://") && refusal.contains("is full"), "{refusal}");
    assert!(refusal.contains("Nothing was changed"), "{refusal}");
    // Stored data stays readable.
    let params = json!({ "name": "TaskManager", "arguments": { "action": "list" } });
    assert!(server.ask(&server.modern("tools/call", params)).body.contains("before"));
    fs::remove_file(disk.path().join("ballast")).expect("it is there");
    make(&server, "after").expect("there is room");
    holds(&database, "test0", acknowledged);
}

#[test]
fn a_database_that_ends_since_its_log_has_no_room_loses_nothing() {
    let Some(disk) = Mount::needed("size=40m,mode=711") else { return };
    // A segment of the write-ahead log has 16 MiB, so the disk has no room for the next one.
    let mut database = Postgres::start_at(&Place { all: None, log: Some(disk.path()) }, &["fsync=on"]);
    let team = Team::new(&database.database(), 1);
    let server = team.start(0, 0);
    fill(disk.path());
    let (acknowledged, refusal) = until_refused(&server);
    assert!(is_for_the_disk(&refusal), "{refusal}");
    // PostgreSQL exits as soon as a transaction does not fit into the write-ahead log.
    let begun = Instant::now();
    while database.runs() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it goes on without room");
        let refusal = make(&server, "meanwhile").expect_err("there is no room");
        assert!(is_for_the_disk(&refusal), "{refusal}");
    }
    fs::remove_file(disk.path().join("ballast")).expect("it is there");
    database.kill();
    database.begin();
    make(&server, "after").expect("there is room");
    holds(&database, "test0", acknowledged);
}
