//! Tests of calls that have to wait: their progress, their independence from other requests, and the effects
//! of a cancellation.
//!
//! A call waits because the test holds the write lock of the workspace's state, like another server with a
//! long transaction.

use std::thread;
use std::time::{Duration, Instant};

use scorpiox_tests::program::modern;
use scorpiox_tests::schema::Schema;
use scorpiox_tests::store::WriteLock;
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

const NEWEST: &str = "2025-11-25";
const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", NEWEST, "2026-07-28"];
const PROGRESS: &str = "notifications/progress";
const WAITING: &str = "Waiting for others to finish writing";
/// Maximum time for a request that does not wait for anything.
const AT_ONCE: Duration = Duration::from_millis(if cfg!(windows) { 1000 } else { 100 }); // Wine is slow

/// Client of one revision.
struct Client {
    revision: &'static str,
    server: Started,
}

impl Client {
    fn start(program: &Program, revision: &'static str) -> Self {
        let mut server = program.start();
        if revision != "2026-07-28" {
            server.initialize(revision);
        }
        Self { revision, server }
    }

    fn params(&self, params: Value) -> Value {
        if self.revision == "2026-07-28" { modern(params) } else { params }
    }

    fn request_create(&mut self, name: &str, token: Option<&str>) -> u64 {
        let arguments = json!({ "action": "create", "query": "", "text": name });
        let mut params = json!({ "name": "TaskManager", "arguments": arguments });
        if let Some(token) = token {
            params["_meta"] = json!({ "progressToken": token });
        }
        let params = self.params(params);
        self.server.request("tools/call", params)
    }

    fn create(&mut self, name: &str) {
        let id = self.request_create(name, None);
        let answer = self.server.answer(id);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }

    /// Returns the list of all tasks.
    fn tasks(&mut self) -> String {
        let arguments = json!({ "action": "list", "query": "" });
        let params = self.params(json!({ "name": "TaskManager", "arguments": arguments }));
        let answer = self.server.ask("tools/call", params);
        answer["result"]["content"][0]["text"].as_str().expect("text").to_owned()
    }

    /// Asserts that small requests are answered immediately.
    fn is_awake(&mut self) {
        for _ in 0..3 {
            let method = if self.revision == "2026-07-28" { "server/discover" } else { "ping" };
            let params = self.params(json!({}));
            let start = Instant::now();
            let answer = self.server.ask(method, params);
            let took = start.elapsed();
            assert!(answer.get("result").is_some(), "{answer}");
            assert!(took < AT_ONCE, "{}: {method} took {took:?} beside a call that waits", self.revision);
        }
    }
}

#[test]
fn a_cancelled_call_is_never_answered_and_leaves_nothing_behind() {
    thread::scope(|scope| {
        for revision in REVISIONS {
            scope.spawn(move || cancelled_in(revision));
        }
    });
}

fn cancelled_in(revision: &'static str) {
    let program = Program::new();
    let mut client = Client::start(&program, revision);
    client.create("there before");
    let lock = WriteLock::hold(&program);
    let id = client.request_create("never made", Some("t"));
    let progress = client.server.notification(PROGRESS);
    Schema::of(revision).check_notification(&progress);
    let mut expected = json!({ "progressToken": "t", "progress": 1 });
    if revision != "2024-11-05" {
        expected["message"] = json!(WAITING);
    }
    assert_eq!(progress["params"], expected, "{revision}");
    client.is_awake();
    client.server.notify("notifications/cancelled", json!({ "requestId": id, "reason": "no need" }));
    client.is_awake();
    lock.release();
    assert!(client.server.is_silent_for(Duration::from_millis(200)));
    let tasks = client.tasks();
    assert!(tasks.starts_with("1 task, 1 open."), "{revision}: {tasks}");
    client.create("made after");
    let tasks = client.tasks();
    assert!(tasks.starts_with("2 tasks, 2 open.\n* #2 made after"), "{revision}: {tasks}");
    client.server.close_input();
    while client.server.next().is_some() {}
    let answers = client.server.received.iter().filter(|message| message["id"] == id);
    assert_eq!(answers.count(), 0, "{revision}: a cancelled call was answered");
}

#[test]
fn a_call_goes_on_when_the_other_server_has_written() {
    let program = Program::new();
    let mut client = Client::start(&program, NEWEST);
    client.create("one");
    let lock = WriteLock::hold(&program);
    let id = client.request_create("two", Some("t"));
    client.server.notification(PROGRESS);
    lock.release();
    let answer = client.server.answer(id);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert!(client.server.is_silent_for(Duration::from_millis(100)), "progress after the answer");
    let progress: Vec<_> = client.server.received.iter().filter(|m| m["method"] == PROGRESS).collect();
    let steps = progress.iter().map(|m| m["params"]["progress"].as_u64().expect("a number"));
    assert!(steps.is_sorted_by(|a, b| a < b), "{progress:?}");
    assert!(client.tasks().starts_with("2 tasks"));
}

#[test]
fn who_gave_no_token_hears_nothing_while_a_call_waits() {
    let program = Program::new();
    let mut client = Client::start(&program, NEWEST);
    client.create("one");
    let lock = WriteLock::hold(&program);
    let id = client.request_create("two", None);
    assert!(client.server.is_silent_for(Duration::from_millis(300)));
    lock.release();
    assert_eq!(client.server.answer(id)["result"]["isError"], false);
}

#[test]
fn nobody_waits_with_a_call_however_often_calls_had_to_wait() {
    let program = Program::new();
    let mut client = Client::start(&program, NEWEST);
    client.create("first");
    for round in 0..4 {
        let lock = WriteLock::hold(&program);
        let id = client.request_create(&format!("task {round}"), Some(&format!("t{round}")));
        client.server.notification(PROGRESS);
        client.is_awake();
        lock.release();
        assert_eq!(client.server.answer(id)["result"]["isError"], false);
    }
}

#[test]
fn calls_that_only_read_do_not_wait_for_a_writer() {
    let program = Program::new();
    let mut client = Client::start(&program, NEWEST);
    client.create("one");
    let _lock = WriteLock::hold(&program);
    client.request_create("two", Some("t"));
    client.server.notification(PROGRESS);
    let start = Instant::now();
    assert!(client.tasks().starts_with("1 task"));
    client.server.text("PlanMode", json!({ "action": "status" }));
    client.server.text("SetCallback", json!({ "action": "list" }));
    client.server.ask("tools/list", json!({}));
    let took = start.elapsed();
    assert!(took < AT_ONCE * 4, "reading took {took:?} beside a writer");
}

#[test]
fn a_cancel_of_what_is_not_in_flight_changes_nothing() {
    let program = Program::new();
    let mut client = Client::start(&program, NEWEST);
    client.create("one");
    let lock = WriteLock::hold(&program);
    let id = client.request_create("two", Some("t"));
    client.server.notification(PROGRESS);
    for wrong in [json!(id.to_string()), json!(id + 1), json!(id - 1), json!(null), json!([id])] {
        client.server.notify("notifications/cancelled", json!({ "requestId": wrong }));
    }
    client.is_awake();
    lock.release();
    assert_eq!(client.server.answer(id)["result"]["isError"], false, "cancelled by another id");
}

#[test]
fn a_call_that_was_cancelled_before_its_turn_does_nothing() {
    /// Maximum number of running calls; one more is queued.
    const RUNNING: usize = 64;
    let program = Program::new();
    let mut client = Client::start(&program, NEWEST);
    client.create("there before");
    let lock = WriteLock::hold(&program);
    for call in 0..RUNNING {
        client.request_create(&format!("task {call}"), Some(&format!("t{call}")));
        client.server.notification(PROGRESS);
    }
    let id = client.request_create("never made", Some("t"));
    assert!(client.server.is_silent_for(Duration::from_millis(100)), "it is not its turn");
    client.server.notify("notifications/cancelled", json!({ "requestId": id }));
    client.is_awake();
    lock.release();
    for _ in 0..RUNNING {
        let answer = client.server.next().expect("an answer");
        assert!(answer["id"] != id && answer["result"]["isError"] == false, "{answer}");
    }
    assert!(client.server.is_silent_for(Duration::from_millis(200)));
    let tasks = client.tasks();
    assert!(tasks.starts_with("65 tasks,"), "the cancelled call was made: {tasks}");
}
