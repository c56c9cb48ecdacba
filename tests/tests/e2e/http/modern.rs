//! Tests of the revision without a handshake: each request is self-contained.

use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use scorpiox_tests::http::HttpServer;
use serde_json::{Value, json};

#[cfg(unix)]
use crate::shell::support::{comes_true, mark, processes_with};

/// Maximum time for a command to start or to terminate.
#[cfg(unix)]
const PATIENCE: Duration = Duration::from_secs(20);
const LIST: &str = "tools/list";

fn list_tasks() -> Value {
    json!({ "name": "TaskManager", "arguments": { "action": "list", "query": "" } })
}

#[test]
fn headers_say_what_the_body_says() {
    let program = Program::new();
    let server = program.serve_http(0);
    let call = server.modern("tools/call", list_tasks());
    let listed = server.modern(LIST, json!({}));
    let answered = server.ask(&call);
    assert_eq!((answered.status, answered.header("content-type")), (200, Some("application/json")));
    assert_eq!(answered.json()["result"]["resultType"], "complete", "{answered:?}");
    assert!(answered.header("mcp-session-id").is_none());
    let encoded = "=?base64?VGFza01hbmFnZXI=?=";
    assert_eq!(server.ask(&call.clone().with("Mcp-Name", encoded)).status, 200);
    assert_eq!(server.ask(&call.clone().with("mcp-name", " TaskManager ")).status, 200);
    for (request, code) in [
        (call.clone().without("Mcp-Name"), -32020),
        (call.clone().with("Mcp-Name", "taskmanager"), -32020),
        (call.clone().with("Mcp-Name", "=?base64?!?="), -32020),
        (call.clone().and("Mcp-Name", "TaskManager"), -32020),
        (call.clone().without("Mcp-Method"), -32020),
        (call.clone().with("Mcp-Method", "Tools/Call"), -32020),
        (call.clone().without("MCP-Protocol-Version"), -32020),
        (call.with("MCP-Protocol-Version", "2025-11-25"), -32020),
        (listed.clone().body(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#), -32602),
    ] {
        let refused = server.ask(&request);
        assert_eq!((refused.status, refused.code()), (400, code), "{request:?}");
        assert_eq!(refused.json()["id"], 1);
    }
    let mut other = json!({ "io.modelcontextprotocol/protocolVersion": "v999" });
    other["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let body = json!({ "jsonrpc": "2.0", "id": "a", "method": LIST, "params": { "_meta": other } });
    let refused = server.ask(&listed.with("MCP-Protocol-Version", "v999").body(body.to_string()));
    assert_eq!((refused.status, refused.code(), &refused.json()["id"]), (400, -32022, &json!("a")));
    assert_eq!(refused.json()["error"]["data"]["requested"], "v999");
}

#[test]
fn what_the_revision_does_not_have_is_not_found() {
    let program = Program::new();
    let server = program.serve_http(0);
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "no/such"] {
        let refused = server.ask(&server.modern(method, json!({})));
        assert_eq!((refused.status, refused.code()), (404, -32601), "{method}");
    }
    for method in ["GET", "DELETE"] {
        let request = server.listen("x").method(method).with("MCP-Protocol-Version", "2026-07-28");
        assert_eq!(server.ask(&request).status, 405, "{method}");
    }
    let notification =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    let request = server.post(&notification).with("MCP-Protocol-Version", "2026-07-28");
    assert_eq!(server.ask(&request).status, 202);
}

#[cfg(unix)] // commands
#[test]
fn a_client_that_goes_away_cancels_its_call() {
    let program = Program::new();
    let server = program.serve_http(0);
    for progress in [false, true] {
        let mark = mark();
        let command = format!("echo begun; MARK={mark} sleep 60");
        let mut params = json!({ "name": "Bash", "arguments": { "command": command } });
        if progress {
            params["_meta"]["progressToken"] = json!(1);
        }
        let mut connection = server.connect();
        connection.send(&server.modern("tools/call", params).bytes());
        assert!(comes_true(PATIENCE, || !processes_with(&mark).is_empty()), "the command begins");
        drop(connection);
        assert!(comes_true(PATIENCE, || processes_with(&mark).is_empty()), "it ends with its client");
    }
}

#[test]
fn a_subscription_stays_until_the_server_ends() {
    let program = Program::new();
    let mut server = program.serve_http(0);
    let params = json!({ "notifications": { "toolsListChanged": true, "promptsListChanged": true } });
    let mut connection = server.connect();
    connection.send(&server.modern("subscriptions/listen", params).bytes());
    assert_eq!(connection.head().header("content-type"), Some("text/event-stream"));
    let first = connection.message().expect("an acknowledgement");
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        first["params"]["notifications"],
        json!({ "toolsListChanged": true, "promptsListChanged": true })
    );
    // A request of another client with the same ID is independent.
    assert_eq!(server.ask(&server.modern(LIST, json!({}))).status, 200);
    if cfg!(unix) {
        let took = end(&mut server);
        assert!(took < Duration::from_secs(2), "{took:?}");
        let last = connection.message().expect("an answer");
        assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!(1), &json!("complete")));
        assert!(connection.message().is_none());
    }
}

#[cfg(unix)]
fn end(server: &mut HttpServer) -> Duration {
    server.end()
}

#[cfg(windows)]
fn end(_: &mut HttpServer) -> Duration {
    Duration::ZERO
}

/// The user's answer arrives with a repeated request, which another process may receive.
#[test]
fn a_question_is_answered_after_a_restart() {
    let program = Program::new();
    let server = program.serve_http(0);
    let questions = r#"{"questions":[{"text":"Which?","options":["A","B"]}]}"#;
    let arguments = json!({ "questions_json": questions });
    let mut params = json!({ "name": "AskUserQuestion", "arguments": arguments });
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": {} });
    let asked = server.ask(&server.modern("tools/call", params.clone())).json();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    drop(server);
    let server = program.serve_http(0);
    let form = &asked["result"]["inputRequests"]["form"]["params"]["requestedSchema"]["properties"];
    let name = form.as_object().and_then(|form| form.keys().next()).expect("a field").clone();
    params["requestState"] = asked["result"]["requestState"].clone();
    params["inputResponses"] = json!({ "form": { "action": "accept", "content": { name: "B" } } });
    let answered = server.ask(&server.modern("tools/call", params.clone())).json();
    assert!(
        answered["result"]["content"][0]["text"].as_str().is_some_and(|text| text.contains('B')),
        "{answered}"
    );
    params["requestState"] = json!(format!("{}A", params["requestState"].as_str().expect("a state")));
    let refused = server.ask(&server.modern("tools/call", params));
    assert_eq!((refused.status, refused.code()), (400, -32602));
}

#[test]
fn a_callback_fires_while_a_client_listens() {
    let program = Program::new();
    let server = program.serve_http(0);
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let mut listening = server.connect();
    listening.send(&server.modern("subscriptions/listen", listen).bytes());
    assert_eq!(listening.head().status, 200);
    assert!(listening.message().is_some(), "it is acknowledged");
    let call = |name: &str, arguments: Value| {
        server.ask(&server.modern("tools/call", json!({ "name": name, "arguments": arguments }))).body
    };
    call("SetCallback", json!({ "action": "set", "message": "tea", "delay_seconds": 1, "repeat_count": 1 }));
    let begun = Instant::now();
    while !call("PlanMode", json!({ "action": "status" })).contains("tea") {
        assert!(begun.elapsed() < Duration::from_secs(20), "nothing fires");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}
