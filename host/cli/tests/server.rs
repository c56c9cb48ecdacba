//! The server over an in-memory connection, with tools that the test controls.

mod common;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use common::{Connected, misbehave};
use parking_lot::{Condvar, Mutex};
use scorpiox_capabilities::Capability::{Log, Store};
use scorpiox_runtime::Limits;
use scorpiox_tools::{
    Call, Definition, Failure, Hints, Kind, Marks, NativeTool, Output, OutputContent, Tool, builtin,
};
use scorpiox_transport_stdio::End;
use serde_json::{Value, json, value::RawValue};

/// Maximum time to wait for an expected event.
const PATIENCE: Duration = Duration::from_mins(1);

/// A tool implemented by a closure.
struct Native<F>(&'static str, F);

impl<F: Fn(&Call<'_>) -> Result<Output, Failure> + Send + Sync> NativeTool for Native<F> {
    fn definition(&self) -> Definition {
        Definition {
            name: self.0.into(),
            title: self.0.into(),
            description: "for tests".to_owned(),
            input_schema: RawValue::from_string(r#"{"type":"object"}"#.to_owned()).expect("JSON"),
            output_schema: None,
            hints: Hints { read_only: true, destructive: false, idempotent: true, open_world: false },
        }
    }

    fn may(&self) -> &'static str {
        "do what a test does"
    }

    fn call(&self, call: &Call<'_>) -> Result<Output, Failure> {
        (self.1)(call)
    }
}

fn tool(
    name: &'static str,
    run: impl Fn(&Call<'_>) -> Result<Output, Failure> + Send + Sync + 'static,
) -> Tool {
    Tool { name: name.into(), kind: Kind::Native(Arc::new(Native(name, run))), marks: Marks::default() }
}

fn echo() -> Tool {
    tool("Echo", |call| Ok(Output::text(call.arguments)))
}

/// Returns a tool that reports its start, and then waits for the gate or its cancellation.
fn gated() -> (Tool, Receiver<String>, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let (started, starts) = channel();
    let started: Sender<String> = started;
    let gated = tool("Gated", {
        let gate = Arc::clone(&gate);
        move |call| {
            started.send(call.arguments.to_owned()).expect("the test listens");
            gate.pass(call)
        }
    });
    (gated, starts, gate)
}

#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn pass(&self, call: &Call<'_>) -> Result<Output, Failure> {
        let mut open = self.open.lock();
        while !*open {
            if call.cancel.is_set() {
                return Err(Failure::Cancelled);
            }
            self.opened.wait_for(&mut open, Duration::from_millis(1));
        }
        Ok(Output::text("passed"))
    }

    fn open(&self) {
        *self.open.lock() = true;
        self.opened.notify_all();
    }
}

#[test]
fn a_slow_call_delays_nobody() {
    let (gated, starts, gate) = gated();
    let mut client = Connected::initialized(vec![gated, echo()]);
    client.call(1, "Gated", &json!({}));
    starts.recv().expect("started");
    let start = Instant::now();
    client.call(2, "Echo", &json!({ "a": 1 }));
    assert_eq!(client.receive()["result"]["content"][0]["text"], r#"{"a":1}"#);
    client.send(&json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" }));
    assert_eq!(client.receive()["id"], 3);
    assert!(start.elapsed() < Duration::from_millis(200), "took {:?}", start.elapsed());
    gate.open();
    assert_eq!(client.receive()["id"], 1);
}

#[test]
fn a_cancelled_call_stops_and_is_not_answered() {
    let (gated, starts, _gate) = gated();
    let mut client = Connected::initialized(vec![gated, echo()]);
    client.call(1, "Gated", &json!({}));
    starts.recv().expect("started");
    client.cancel(1);
    client.cancel(99);
    client.call(2, "Echo", &json!({}));
    assert_eq!(client.receive()["id"], 2);
    assert_eq!(client.finish(End::Input), Vec::<Value>::new());
}

#[test]
fn an_id_that_is_in_flight_is_refused_and_free_again_later() {
    let (gated, starts, gate) = gated();
    let mut client = Connected::initialized(vec![gated, echo()]);
    client.call(1, "Gated", &json!({}));
    starts.recv().expect("started");
    client.call(1, "Echo", &json!({}));
    assert_eq!(client.receive()["error"]["code"], -32600);
    gate.open();
    assert_eq!(client.receive()["result"]["content"][0]["text"], "passed");
    client.call(1, "Echo", &json!({}));
    assert_eq!(client.receive()["result"]["isError"], false);
}

#[test]
fn a_panic_answers_its_own_request_with_an_error() {
    let mut client = Connected::initialized(vec![tool("Panics", |_| panic!("on purpose")), echo()]);
    client.call(1, "Panics", &json!({}));
    let answer = client.receive();
    assert_eq!(answer["error"]["code"], -32603);
    assert!(!answer.to_string().contains("on purpose"), "details stay on standard error");
    client.call(2, "Echo", &json!({}));
    assert_eq!(client.receive()["result"]["isError"], false);
}

#[test]
fn requests_beyond_the_bounds_are_refused_at_once_and_the_others_answered() {
    let (gated, starts, gate) = gated();
    let mut client = Connected::initialized(vec![gated]);
    for id in 1..=300 {
        client.call(id, "Gated", &json!({ "id": id }));
    }
    for _ in 0..64 {
        starts.recv().expect("started");
    }
    let refused: Vec<_> = (0..300 - 64 - 192).map(|_| client.receive()).collect();
    assert!(refused.iter().all(|answer| answer["error"]["code"] == -31001), "{refused:?}");
    assert_eq!(refused[0]["id"], 64 + 192 + 1);
    gate.open();
    let mut answered: Vec<_> =
        (0..64 + 192).map(|_| client.receive()["id"].as_u64().expect("an id")).collect();
    answered.sort_unstable();
    assert_eq!(answered, (1..=256).collect::<Vec<_>>());
}

#[test]
fn a_call_that_waits_can_be_cancelled() {
    let (gated, starts, gate) = gated();
    let mut client = Connected::initialized(vec![gated]);
    for id in 1..=66 {
        client.call(id, "Gated", &json!({}));
    }
    for _ in 0..64 {
        starts.recv().expect("started");
    }
    client.cancel(65);
    client.send(&json!({ "jsonrpc": "2.0", "id": 100, "method": "ping" }));
    assert_eq!(client.receive()["id"], 100);
    gate.open();
    let mut answered: Vec<_> = (0..65).map(|_| client.receive()["id"].as_u64().expect("an id")).collect();
    answered.sort_unstable();
    let expected: Vec<_> = (1..=66).filter(|id| *id != 65).collect();
    assert_eq!(answered, expected);
    assert_eq!(client.finish(End::Input), Vec::<Value>::new());
}

#[test]
fn progress_comes_before_the_answer_and_only_when_asked_for() {
    let reporting = tool("Reports", |call| {
        call.host.report("half way");
        Ok(Output::text("done"))
    });
    let mut client = Connected::initialized(vec![reporting]);
    client.call(1, "Reports", &json!({}));
    assert_eq!(client.receive()["id"], 1);
    let params = json!({ "name": "Reports", "_meta": { "progressToken": "p" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }));
    let progress = client.receive();
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(progress["params"], json!({ "progressToken": "p", "progress": 1, "message": "half way" }));
    assert_eq!(client.receive()["id"], 2);
}

#[test]
fn the_end_of_the_input_lets_calls_finish() {
    let (gated, starts, gate) = gated();
    let mut client = Connected::initialized(vec![gated]);
    client.call(1, "Gated", &json!({}));
    starts.recv().expect("started");
    gate.open();
    let rest = client.finish(End::Input);
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["result"]["content"][0]["text"], "passed");
}

#[test]
fn a_call_that_does_not_finish_is_stopped_at_the_end_and_answered() {
    let (gated, starts, _gate) = gated();
    let mut client = Connected::initialized(vec![gated]);
    client.call(1, "Gated", &json!({}));
    starts.recv().expect("started");
    let start = Instant::now();
    let rest = client.finish(End::Signal);
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["result"]["isError"], true);
    assert!(start.elapsed() < Duration::from_millis(500), "took {:?}", start.elapsed());
}

#[test]
fn a_call_that_does_not_react_to_the_end_of_the_server_leaves_one_line() {
    let (gated, starts, _gate) = gated();
    let (started, deaf_starts) = channel();
    let (leave, stay) = channel::<()>();
    let (left, lefts) = channel();
    let stay = Mutex::new(stay);
    let deaf = tool("Deaf", move |_| {
        started.send(()).expect("the test listens");
        let _ = stay.lock().recv();
        left.send(()).expect("the test listens");
        Ok(Output::text("done"))
    });
    let mut client = Connected::initialized(vec![gated, deaf]);
    client.call(1, "Deaf", &json!({}));
    client.call(2, "Gated", &json!({}));
    deaf_starts.recv().expect("started");
    starts.recv().expect("started");
    client.server.shut_down(End::Signal);
    client.workspace.close();
    let outcomes = |client: &Connected| {
        let mut outcomes: Vec<_> = client
            .audit_lines()
            .iter()
            .map(|line| format!("{} {} {}", line["tool"], line["outcome"], line["fault"]))
            .collect();
        outcomes.sort();
        outcomes
    };
    let expected = [r#""Deaf" "fault" "ended""#, r#""Gated" "cancelled" null"#];
    assert_eq!(outcomes(&client), expected);
    // Its thread writes no other line.
    leave.send(()).expect("it waits");
    lefts.recv_timeout(PATIENCE).expect("it ends");
    // Waits until no call runs.
    client.server.shut_down(End::Signal);
    client.workspace.close();
    assert_eq!(outcomes(&client), expected);
}

#[test]
fn output_of_tools_is_cleaned_and_stays_on_one_line() {
    let dirty = tool("Dirty", |_| {
        Ok(Output { structured: Some("{\n \"a\": 1\r\n}".to_owned()), ..Output::text("\x1b[31mred\x07\nx") })
    });
    let mut client = Connected::initialized(vec![dirty]);
    client.call(1, "Dirty", &json!({}));
    let answer = client.receive();
    assert_eq!(answer["result"]["content"], json!([{ "type": "text", "text": "red\nx" }]));
    assert!(answer["result"].get("structuredContent").is_none(), "no setting asks for it: {answer}");
}

#[test]
fn texts_and_documents_become_one_text_with_images_behind_it() {
    let several = tool("Several", |_| {
        let text = |text: &str| OutputContent::Text(text.to_owned());
        let document = OutputContent::Document {
            uri: "file:///notes".to_owned(),
            mime_type: Some("text/plain".to_owned()),
            text: "Of a document.".to_owned(),
        };
        let image = OutputContent::Image { data: vec![1, 2, 3], mime_type: "image/png".to_owned() };
        let content = vec![image, text("One.\n"), text(""), document, text("Two.")];
        Ok(Output { content, ..Output::text("") })
    });
    let mut client = Connected::initialized(vec![several]);
    client.call(1, "Several", &json!({}));
    let expected = json!([
        { "type": "text", "text": "One.\n\n[document file:///notes (text/plain)]\nOf a document.\n\nTwo." },
        { "type": "image", "data": "AQID", "mimeType": "image/png" },
    ]);
    assert_eq!(client.receive()["result"]["content"], expected);
}

#[test]
fn both_eras_are_served_side_by_side() {
    let mut client = Connected::initialized(vec![echo()]);
    let modern = json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    client.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": modern }));
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
    let (new, old) = (client.receive(), client.receive());
    assert_eq!(new["result"]["resultType"], "complete");
    assert!(old["result"].get("resultType").is_none());
    client.send(&json!({ "jsonrpc": "2.0", "id": 3, "method": "ping", "params": modern }));
    assert_eq!(client.receive()["error"]["code"], -32601);
}

#[test]
fn requests_before_the_handshake_are_refused_except_ping() {
    let mut client = Connected::new(vec![echo()]);
    client.call(1, "Echo", &json!({}));
    assert_eq!(client.receive()["error"]["code"], -32600);
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }));
    assert_eq!(client.receive()["result"], json!({}));
    client.send_line("not JSON");
    assert_eq!(client.receive()["error"]["code"], -32700);
}

#[test]
fn an_answer_does_not_wait_behind_a_blank_line() {
    let mut client = Connected::initialized(vec![echo()]);
    client.send_line("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n\r\n \t");
    assert_eq!(client.receive()["id"], 1);
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "Echo" } });
    client.send_line(&format!("{call}\n\n"));
    assert_eq!(client.receive()["id"], 2);
}

#[test]
fn a_member_of_a_batch_that_waits_can_be_cancelled() {
    let (gated, starts, gate) = gated();
    let mut client = Connected::new(vec![gated]);
    let hello = json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }));
    assert_eq!(client.receive()["result"]["protocolVersion"], "2025-03-26");
    let call = |id: u64| {
        let params = json!({ "name": "Gated", "arguments": { "id": id } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    client.send(&json!([call(1), call(2), call(3)]));
    assert_eq!(starts.recv().expect("started"), "{\"id\":1}");
    client.cancel(2);
    client.send(&json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" }));
    assert_eq!(client.receive()["id"], 9);
    gate.open();
    let answer = client.receive();
    let ids: Vec<_> =
        answer.as_array().expect("an array").iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!(3)]);
    assert_eq!(starts.recv().expect("started"), "{\"id\":3}", "the cancelled one never started");
}

#[test]
fn a_guest_that_fails_gives_an_error_result_and_the_next_call_works() {
    let component =
        Arc::new(misbehave(&[Store, Log], Limits { cpu: Duration::from_millis(50), ..Limits::default() }));
    let faulty = |name: &'static str| Tool {
        name: name.into(),
        kind: Kind::Wasm { component: Arc::clone(&component), definitions: "[]", conditional: false },
        marks: Marks::default(),
    };
    let mut client = Connected::initialized(["trap", "loop", "allocate", "echo"].map(faulty).into());
    for (id, fault) in [(1, "trap"), (3, "loop"), (5, "allocate")] {
        client.call(id, fault, &json!({}));
        let result = client.receive()["result"].take();
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().expect("text");
        assert!(text.starts_with(&format!("{fault} has no result: ")), "{text}");
        client.call(id + 1, "echo", &json!({ "still": "works" }));
        assert_eq!(client.receive()["result"]["content"][0]["text"], r#"{"still":"works"}"#);
    }
}

#[test]
fn the_host_can_ask_whether_a_plan_is_active() {
    let mut client = Connected::initialized(builtin());
    let goal = |client: &Connected| client.workspace.active_plan().expect("known");
    assert_eq!(goal(&client), None, "nothing was ever stored");
    client.call(1, "PlanMode", &json!({ "action": "enter", "goal": "Ship" }));
    assert_eq!(client.receive()["result"]["isError"], false);
    assert_eq!(goal(&client).as_deref(), Some("Ship"));
    client.call(2, "PlanMode", &json!({ "action": "exit" }));
    assert_eq!(client.receive()["result"]["isError"], false);
    assert_eq!(goal(&client), None);
}

fn question() -> Value {
    let questions = json!({ "questions": [{ "text": "Which?", "options": ["A", "B"] }] });
    json!({ "questions_json": questions.to_string() })
}

/// Two clients of an app, with equal request IDs, tools and requests.
#[test]
fn two_sessions_with_equal_ids_cannot_meet() {
    let folder = tempfile::tempdir().expect("a folder");
    let (gated, starts, gate) = gated();
    let mut tools = builtin();
    tools.extend([gated, echo()]);
    let app = common::app(tools);
    let (one, other) =
        (common::workspace(&app, folder.path(), "one"), common::workspace(&app, folder.path(), "other"));
    let (mut old, mut new) = (Connected::to(&one), Connected::to(&other));
    let elicits = json!({ "elicitation": {} });
    old.shake_hands("2025-06-18", &elicits);
    new.shake_hands("2025-11-25", &elicits);

    // Both run a call with ID 7. Canceling one must not affect the other.
    for client in [&mut old, &mut new] {
        client.call(7, "Gated", &json!({}));
        starts.recv_timeout(PATIENCE).expect("started");
    }
    old.cancel(7);
    old.call(8, "Echo", &json!({ "who": "old" }));
    assert_eq!(old.receive()["id"], 8, "the cancelled call is not answered");
    gate.open();
    let passed = new.receive();
    assert_eq!((&passed["id"], &passed["result"]["content"][0]["text"]), (&json!(7), &json!("passed")));

    // Both clients get the same question. An answer must only reach the call of its own client, despite equal
    // IDs.
    let [asks_old, asks_new] = [&mut old, &mut new].map(|client| {
        client.call(9, "AskUserQuestion", &question());
        let asks = client.receive();
        assert_eq!(asks["method"], "elicitation/create", "{asks}");
        asks
    });
    assert_ne!(asks_old["id"], asks_new["id"]);
    let answer = |asks: &Value, chosen: &str| {
        let form = asks["params"]["requestedSchema"]["properties"].as_object().expect("a form");
        let name = form.keys().next().expect("a question");
        let answer = json!({ "action": "accept", "content": { name: chosen } });
        json!({ "jsonrpc": "2.0", "id": asks["id"], "result": answer })
    };
    new.send(&answer(&asks_old, "B"));
    old.send(&answer(&asks_new, "A"));
    for (client, asks, chosen) in [(&mut new, asks_new, "B"), (&mut old, asks_old, "A")] {
        client.send(&answer(&asks, chosen));
        let text = client.receive()["result"]["content"][0]["text"].take();
        assert!(text.as_str().expect("text").contains(chosen), "{text}");
    }

    // Data stored in a workspace is invisible in the other, and notifications only reach clients of their own
    // workspace.
    old.call(10, "TaskManager", &json!({ "action": "create", "query": "", "text": "only here" }));
    assert_eq!(old.receive()["result"]["isError"], false);
    new.call(10, "TaskManager", &json!({ "action": "list", "query": "" }));
    let listed = new.receive().to_string();
    assert!(!listed.contains("only here"), "{listed}");
    old.call(11, "SetCallback", &json!({ "action": "set", "message": "wake up", "delay_seconds": 1 }));
    let set = old.receive();
    assert_eq!(set["result"]["isError"], false, "{set}");
    let told = old.receive();
    assert_eq!(told["method"], "notifications/message", "{told}");
    assert!(told.to_string().contains("wake up"), "{told}");
    new.call(12, "Echo", &json!({}));
    let answer = new.receive();
    assert_eq!(answer["id"], 12);
    assert!(!answer.to_string().contains("wake up"), "{answer}");
    old.call(12, "Echo", &json!({}));
    let answer = old.receive();
    assert!(answer.to_string().contains("wake up"), "the next result brings it along: {answer}");

    // The end of a session does not end the other.
    assert_eq!(old.finish(End::Input), Vec::<Value>::new());
    new.call(13, "TaskManager", &json!({ "action": "list", "query": "" }));
    assert_eq!(new.receive()["id"], 13);
}

/// Two clients of the same directory share a workspace, including each other's changes.
#[test]
fn two_sessions_of_a_workspace_share_what_belongs_to_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let app = common::app(builtin());
    let workspace = common::workspace(&app, folder.path(), "shared");
    let (mut first, mut second) = (Connected::to(&workspace), Connected::to(&workspace));
    first.shake_hands("2024-11-05", &json!({}));
    second.shake_hands("2025-11-25", &json!({}));
    first.call(1, "TaskManager", &json!({ "action": "create", "query": "", "text": "for both" }));
    assert_eq!(first.receive()["result"]["isError"], false);
    second.call(1, "TaskManager", &json!({ "action": "list", "query": "" }));
    let listed = second.receive();
    assert!(listed.to_string().contains("for both"), "{listed}");
    first.call(2, "SetCallback", &json!({ "action": "set", "message": "both hear it", "delay_seconds": 1 }));
    assert_eq!(first.receive()["result"]["isError"], false);
    for client in [&mut first, &mut second] {
        let told = client.receive();
        assert_eq!(told["method"], "notifications/message", "{told}");
    }
}
