//! Tests of irregular batches (revision 2025-03-26). `conversations/batches.txt` covers the regular ones.

use std::time::{Duration, Instant};

use scorpiox_tests::store::WriteLock;
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

const REVISION: &str = "2025-03-26";

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    let meta = json!({ "progressToken": id });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn create(id: u64) -> Value {
    call(id, "TaskManager", json!({ "action": "create", "query": "", "text": format!("task {id}") }))
}

fn started(program: &Program) -> Started {
    let mut server = program.start();
    server.initialize(REVISION);
    server.text("TaskManager", json!({ "action": "create", "query": "", "text": "there before" }));
    server
}

/// Returns the IDs in an array of responses.
fn ids(batch: &Value) -> Vec<u64> {
    let answers = batch.as_array().unwrap_or_else(|| panic!("no array: {batch}"));
    answers.iter().map(|answer| answer["id"].as_u64().expect("an id")).collect()
}

#[test]
fn a_batch_is_answered_when_the_input_ends_right_after_it() {
    let program = Program::new();
    let mut server = program.start();
    server.initialize(REVISION);
    server.send(&(100..500).map(create).collect());
    server.close_input();
    while server.next().is_some_and(|message| !message.is_array()) {}
    let answers = server.received.last().expect("the handshake was answered");
    assert_eq!(ids(answers), (100..500).collect::<Vec<_>>());
    assert!(server.wait().0.success());
}

#[cfg(unix)] // a signal
#[test]
fn a_batch_that_waits_is_answered_when_the_server_is_told_to_end() {
    let program = Program::new();
    let mut server = started(&program);
    let _lock = WriteLock::hold(&program);
    server.send(&(100..103).map(create).collect());
    server.notification("notifications/progress");
    server.signal(rustix::process::Signal::TERM);
    while server.next().is_some_and(|message| !message.is_array()) {}
    assert_eq!(ids(server.received.last().expect("a message")), [100, 101, 102]);
    let (status, took) = server.wait();
    assert!(status.success());
    assert!(took < Duration::from_secs(1), "took {took:?}");
}

#[test]
fn nobody_waits_with_a_batch() {
    let program = Program::new();
    let mut server = started(&program);
    let lock = WriteLock::hold(&program);
    server.send(&json!([create(100)]));
    server.notification("notifications/progress");
    let start = Instant::now();
    server.ask("ping", json!({}));
    let took = start.elapsed();
    assert!(took < Duration::from_millis(100), "ping took {took:?} beside a batch that waits");
    lock.release();
    assert_eq!(ids(&server.next().expect("the answers")), [100]);
}

#[test]
fn a_cancelled_member_is_left_out_and_a_batch_of_such_is_not_answered() {
    let program = Program::new();
    let mut server = started(&program);
    let lock = WriteLock::hold(&program);
    server.send(&json!([create(100), call(101, "PlanMode", json!({ "action": "status" }))]));
    server.notification("notifications/progress");
    server.notify("notifications/cancelled", json!({ "requestId": 100 }));
    assert_eq!(ids(&server.next().expect("the answers")), [101]);
    server.send(&json!([create(102)]));
    server.notification("notifications/progress");
    server.notify("notifications/cancelled", json!({ "requestId": 102 }));
    server.ask("ping", json!({}));
    lock.release();
    assert!(server.is_silent_for(Duration::from_millis(200)));
    let list = server.text("TaskManager", json!({ "action": "list", "query": "" }));
    assert!(list.starts_with("1 task,"), "{list}");
}

/// Requests that were not run are in the audit, as they are over HTTP.
#[test]
fn the_calls_of_a_refused_batch_have_lines() {
    let program = Program::new();
    let mut server = program.start();
    server.initialize("2025-11-25");
    server.send(&json!([create(100), call(101, "NoSuchTool", json!({})), { "jsonrpc": "2.0", "id": 102, "method": "ping" }]));
    let refused = server.next().expect("an answer");
    assert!(
        refused["error"]["message"].as_str().expect("a text").contains("batches are not part"),
        "{refused}"
    );
    let lines = super::audit::lines(&program, 2);
    let told: Vec<_> = lines.iter().map(|line| (&line["tool"], &line["outcome"])).collect();
    let refused = json!("refused");
    assert_eq!(told, [(&json!("TaskManager"), &refused), (&json!("NoSuchTool"), &refused)], "{lines:?}");
}
