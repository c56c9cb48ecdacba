//! Tests of tokens and workspaces that are taken away while the server runs.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use scorpiox_tests::http::{Connection, HttpServer, Request};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const ANN: &str = "token-of-ann-0123456789";
const BOB: &str = "token-of-bob-0123456789";
const PATIENCE: Duration = Duration::from_secs(20);

fn token(name: &str, token: &str) -> String {
    let sha256: String = Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("[http.auth.tokens.{name}]\nsha256 = \"{sha256}\"\n")
}

fn policy(more: &str) -> String {
    format!("version = 1\n[http.auth]\nkind = \"token\"\n{}{more}", token("ann", ANN))
}

/// Replaces the policy as editors do.
fn put(program: &Program, text: &str) {
    let new = program.put("home/.scorpiox/policy.new", text);
    fs::rename(&new, new.with_file_name("policy.toml")).expect("renamed");
}

fn served(policy: &str) -> (Program, HttpServer) {
    let program = Program::new();
    put(&program, policy);
    let mut server = program.serve_http(0);
    server.token = BOB.to_owned();
    (program, server)
}

/// Returns requests of each kind of the server's token, without those for its session.
fn requests(server: &HttpServer, path: &str) -> Vec<(&'static str, Request)> {
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } } });
    let mut all = vec![("initialize", server.post(&initialize))];
    for method in ["server/discover", "tools/list", "prompts/list", "resources/templates/list"] {
        all.push((method, server.modern(method, json!({}))));
    }
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    all.push(("subscriptions/listen", server.modern("subscriptions/listen", listen)));
    let call = json!({ "name": "TaskManager", "arguments": { "action": "list" } });
    all.push(("tools/call", server.modern("tools/call", call)));
    all.into_iter().map(|(what, request)| (what, request.path(path))).collect()
}

fn of_session(server: &HttpServer, session: &str) -> Vec<(&'static str, Request)> {
    let word = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
    vec![
        ("ping", server.in_session(session, 1, "ping", &json!({}))),
        ("tools/list in a session", server.in_session(session, 2, "tools/list", &json!({}))),
        ("logging/setLevel", server.in_session(session, 3, "logging/setLevel", &json!({ "level": "debug" }))),
        ("a notification", server.post(&word).with("Mcp-Session-Id", session)),
        ("a stream", server.listen(session)),
        ("the end", server.listen(session).method("DELETE")),
    ]
}

fn listening(server: &HttpServer, request: &Request) -> Connection {
    let mut connection = server.connect();
    connection.send(&request.bytes());
    assert_eq!(connection.head().status, 200);
    connection
}

/// Returns the texts of the messages of a stream until its end.
fn until_its_end(mut connection: Connection) -> Vec<Value> {
    std::iter::from_fn(|| connection.message()).collect()
}

fn lines(program: &Program) -> Vec<Value> {
    let text = fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a whole line")).collect()
}

#[test]
fn a_token_that_was_removed_gets_nothing_and_its_streams_end() {
    let all = policy(&token("bob", BOB));
    let (program, mut server) = served(&all);
    let session = server.session("2025-11-25", json!({}));
    let stream = listening(&server, &server.listen(&session));
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let mut subscription = listening(&server, &server.modern("subscriptions/listen", listen));
    assert!(subscription.message().is_some(), "it is acknowledged");
    put(&program, &policy(""));
    for (what, request) in requests(&server, "/mcp").into_iter().chain(of_session(&server, &session)) {
        let answer = server.ask(&request);
        assert_eq!(answer.status, 503, "{what}: {answer:?}");
        assert!(!answer.body.contains("tokens") && answer.body.contains("operator"), "{what}: {answer:?}");
    }
    assert_eq!(server.shown(ANN).modern("tools/list", json!({})).status, 503);
    assert_eq!(server.shown("no-token-of-ours-0123").modern("tools/list", json!({})).status, 401);
    let told = until_its_end(stream);
    assert!(told.iter().all(|message| message["method"] != "notifications/message"), "{told:?}");
    until_its_end(subscription);
    // The session is still there if the change is undone.
    put(&program, &all);
    let begun = Instant::now();
    while server.ask(&server.in_session(&session, 9, "tools/list", &json!({}))).status != 200 {
        assert!(begun.elapsed() < PATIENCE, "the change is not undone");
        thread::sleep(Duration::from_millis(20));
    }
    drop(listening(&server, &server.listen(&session)));
    server.end();
    let is_refused = |line: &&Value| line["tool"] == "http request" && line["principal"] == "bob";
    let refused: Vec<_> = lines(&program).into_iter().filter(|line| is_refused(&line)).collect();
    assert!(refused.len() >= 13, "{refused:?}");
    for line in refused {
        assert_eq!((&line["outcome"], &line["fault"]), (&json!("refused"), &json!("policy")), "{line}");
        assert!(line["uses"][0]["why"].as_str().expect("a reason").contains("[http.auth.tokens."), "{line}");
    }
}

/// Nobody sends a request after the change.
#[test]
fn a_token_that_was_removed_hears_no_callback_of_another_principal() {
    let (program, server) = served(&policy(&token("bob", BOB)));
    let session = server.session("2025-11-25", json!({}));
    let mut stream = listening(&server, &server.listen(&session));
    let set = |message: &str, delay: u32| {
        let timer = json!({ "action": "set", "message": message, "delay_seconds": delay, "repeat_count": 1 });
        server.shown(ANN).text("SetCallback", timer);
    };
    set("heard", 1);
    let heard =
        std::iter::from_fn(|| stream.message()).find(|told| told["method"] == "notifications/message");
    assert!(heard.expect("a message").to_string().contains("heard"));
    set("unheard", 2);
    put(&program, &policy(""));
    let rest = until_its_end(stream);
    assert!(!rest.iter().any(|told| told.to_string().contains("unheard")), "{rest:?}");
}

#[test]
fn a_change_of_one_workspace_closes_that_one_and_leaves_calls_their_own_answer() {
    let program = Program::new();
    let folder = |name: &str| {
        let kept = program.put(&format!("{name}/.keep"), "");
        json!(dunce::canonicalize(kept.parent().expect("a folder")).expect("a folder"))
    };
    let (web, docs) = (folder("web"), folder("docs"));
    let with = |principals: &str| {
        policy(&format!(
            "{}[workspace.web]\npath = {web}\n[workspace.docs]\npath = {docs}\nprincipals = [{principals}]\n",
            token("bob", BOB)
        ))
    };
    put(&program, &with("\"ann\", \"bob\""));
    let mut server = program.serve_http(0);
    server.token = BOB.to_owned();
    let session = server.session("2025-11-25", json!({}));
    let mut stream = listening(&server, &server.listen(&session));
    put(&program, &with("\"ann\""));
    for (what, request) in requests(&server, "/w/docs/mcp") {
        assert_eq!(server.ask(&request).status, 503, "{what}");
    }
    for (what, request) in requests(&server, "/w/web/mcp") {
        if what == "subscriptions/listen" {
            continue;
        }
        let answer = server.ask(&request);
        let is_unserved = ["tools/call", "prompts/list", "resources/templates/list"].contains(&what);
        assert_eq!(answer.status, if is_unserved { 503 } else { 200 }, "{what}: {answer:?}");
        assert_eq!(answer.body.contains("All tools are refused"), is_unserved, "{what}: {answer:?}");
    }
    assert_eq!(server.ask(&server.in_session(&session, 1, "ping", &json!({}))).status, 200);
    server.end();
    while stream.event().is_some() {}
}
