//! Tests of the revisions with a handshake: sessions, their streams, and state that outlives the process.

#[cfg(unix)]
use std::time::{Duration, Instant};

use scorpiox_tests::Program;
#[cfg(unix)]
use scorpiox_tests::http::{Connection, HttpServer};
use scorpiox_tests::http::{NEWEST, Request};
use serde_json::{Value, json};

#[cfg(target_os = "linux")] // requires memory figures
use crate::faults::support::{mebibytes, memory};

const REVISIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

fn create(name: &str) -> Value {
    json!({ "name": "TaskManager", "arguments": { "action": "create", "query": "", "text": name } })
}

fn list() -> Value {
    json!({ "name": "TaskManager", "arguments": { "action": "list", "query": "" } })
}

#[test]
fn a_session_begins_lives_over_a_restart_and_ends() {
    for revision in REVISIONS {
        let program = Program::new();
        let server = program.serve_http(0);
        let session = server.session(revision, json!({ "elicitation": {} }));
        assert!(session.len() < 512, "{}", session.len());
        let answered = server.ask(&server.in_session(&session, 7, "tools/call", &create("kept")));
        assert_eq!((answered.status, &answered.json()["id"]), (200, &json!(7)));
        drop(server);
        let server = program.serve_http(0);
        let answered = server.ask(&server.in_session(&session, 7, "tools/call", &list()));
        assert!(answered.body.contains("kept"), "{answered:?}");
        let end = server.listen(&session).method("DELETE");
        assert_eq!(server.ask(&end).status, 204);
        assert_eq!(server.ask(&end).status, 404);
        let gone = server.ask(&server.in_session(&session, 8, "ping", &json!({})));
        assert_eq!((gone.status, &gone.json()["id"]), (404, &json!(8)));
        drop(server);
        let server = program.serve_http(0);
        assert_eq!(server.ask(&server.in_session(&session, 9, "ping", &json!({}))).status, 404);
    }
}

#[test]
fn an_id_that_nobody_gave_is_none() {
    let program = Program::new();
    let server = program.serve_http(0);
    let session = server.session("2025-11-25", json!({}));
    let changed =
        format!("{}{}", &session[..session.len() - 1], if session.ends_with('A') { "B" } else { "A" });
    for id in [changed.as_str(), "", "x", &session[1..], &"A".repeat(5000)] {
        let refused = server.ask(&server.in_session(id, 1, "ping", &json!({})));
        assert_eq!(refused.status, 404, "{id}");
    }
    let other = Program::new().serve_http(0);
    assert_eq!(other.ask(&other.in_session(&session, 1, "ping", &json!({}))).status, 404, "another server's");
    let twice = server.in_session(&session, 1, "ping", &json!({})).and("Mcp-Session-Id", &session);
    assert_eq!(server.ask(&twice).status, 400);
}

#[test]
fn versions_that_are_not_known_are_refused_and_known_ones_taken() {
    let program = Program::new();
    let server = program.serve_http(0);
    let session = server.session("2025-11-25", json!({}));
    let ping = server.in_session(&session, 1, "ping", &json!({}));
    for version in REVISIONS.into_iter().chain(["2024-11-05"]) {
        assert_eq!(server.ask(&ping.clone().with("MCP-Protocol-Version", version)).status, 200, "{version}");
    }
    for version in ["1.0", "", "2025-11-26"] {
        let refused = server.ask(&ping.clone().with("MCP-Protocol-Version", version));
        assert_eq!((refused.status, refused.code()), (400, -32022), "{version}");
    }
}

#[test]
fn batches_are_part_of_one_revision() {
    let program = Program::new();
    let server = program.serve_http(0);
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "ping" },
        { "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } },
        { "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": list() },
    ]);
    for revision in REVISIONS {
        let session = server.session(revision, json!({}));
        let answered = server.ask(&server.post(&batch).with("Mcp-Session-Id", &session));
        if revision == "2025-03-26" {
            let ids: Vec<_> =
                answered.json().as_array().expect("an array").iter().map(|one| one["id"].clone()).collect();
            assert_eq!((answered.status, ids), (200, vec![json!(1), json!(2)]));
        } else {
            assert_eq!(answered.status, 400, "{revision}");
        }
    }
}

/// 202 says that a message was taken.
#[test]
fn a_batch_of_responses_that_nobody_asked_for_is_refused() {
    let program = Program::new();
    let server = program.serve_http(0);
    let stray = json!({ "jsonrpc": "2.0", "id": 7, "result": {} });
    let cancels =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } });
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let session = server.session("2025-03-26", json!({}));
    for (batch, status) in [
        (json!([stray]), 400),
        (json!([cancels, stray]), 400),
        (json!([cancels]), 202),
        (json!([stray, ping]), 200),
        (json!([]), 400),
    ] {
        let answered = server.ask(&server.post(&batch).with("Mcp-Session-Id", &session));
        assert_eq!(answered.status, status, "{batch}: {answered:?}");
    }
    // Without a session it says what is wrong, and not that a session is missing.
    let batch = server.post(&json!([ping])).with("MCP-Protocol-Version", NEWEST);
    let refused = server.ask(&batch);
    assert!(
        refused.status == 400 && refused.body.contains("batches are part of 2025-03-26 alone"),
        "{refused:?}"
    );
    // A server of the newest revision sends no requests.
    let response = server.post(&stray).with("MCP-Protocol-Version", NEWEST);
    let refused = server.ask(&response);
    assert!(
        refused.status == 400 && refused.body.contains("this revision has no requests of the server"),
        "{refused:?}"
    );
}

#[test]
fn a_stream_that_cannot_be_resumed_says_why() {
    let program = Program::new();
    let server = program.serve_http(0);
    let session = server.session("2025-11-25", json!({}));
    let begins = |request: &Request| {
        let mut connection = server.connect();
        connection.send(&request.bytes());
        assert_eq!(connection.head().status, 200);
        connection.text()
    };
    // The unsolicited messages of another server, or from before a restart.
    let said = begins(&server.listen(&session).with("Last-Event-ID", "abc.4"));
    assert!(said.contains(": events before this may be missing: the server was started again"), "{said}");
    let refused = server.ask(&server.listen(&session).with("Last-Event-ID", "abc..4"));
    let why =
        "the answers of the batch are no longer here: the server was started again, or another server has it";
    assert!(refused.status == 400 && refused.body.contains(why), "{refused:?}");
    let twice = server.listen(&session).and("Last-Event-ID", "abc.4").and("Last-Event-ID", "abc.5");
    let refused = server.ask(&twice);
    assert!(refused.status == 400 && refused.body.contains("send it once"), "{refused:?}");
}

#[cfg(unix)] // a database
#[test]
fn a_session_ends_later_if_its_store_is_away() {
    let mut database = scorpiox_test_support::postgres::Postgres::start();
    let program = Program::new();
    let policy = format!(
        "version = 1\n[http.auth]\nkind = \"none\"\n{}",
        super::database::store(&database.database())
    );
    program.put("home/.scorpiox/policy.toml", policy);
    let server = super::database::serve(&program);
    let session = server.session("2025-11-25", json!({}));
    let end = server.post(&json!({})).method("DELETE").body("").with("Mcp-Session-Id", &session);
    database.kill();
    let begun = Instant::now();
    let refused = server.ask(&end);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("2")), "{refused:?}");
    assert!(!refused.body.contains("postgres"), "{refused:?}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    database.begin();
    let begun = Instant::now();
    while server.ask(&end).status != 204 {
        assert!(begun.elapsed() < Duration::from_secs(30), "it never ends");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(server.ask(&server.in_session(&session, 1, "ping", &json!({}))).status, 404);
}

#[cfg(unix)] // commands
#[test]
fn a_stream_that_breaks_is_read_to_its_end_by_another_connection() {
    let program = Program::new();
    let server = program.serve_http(0);
    let session = server.session("2025-11-25", json!({}));
    let command = "for n in 1 2 3; do echo line $n; sleep 1; done; echo all > all; echo end";
    let params =
        json!({ "_meta": { "progressToken": 5 }, "name": "Bash", "arguments": { "command": command } });
    let mut connection = server.connect();
    connection.send(&server.in_session(&session, 3, "tools/call", &params).bytes());
    assert_eq!(connection.head().header("content-type"), Some("text/event-stream"));
    let (id, data) = connection.event().expect("an event");
    assert_eq!(data, "", "it only gives an id");
    let id = id.expect("an id");
    let first = connection.message().expect("progress");
    assert_eq!(first["params"]["progressToken"], 5);
    drop(connection);
    // The call continues without its client, and messages sent meanwhile are replayed.
    let mut connection = server.connect();
    connection.send(&server.listen(&session).with("Last-Event-ID", &id).bytes());
    assert_eq!(connection.head().status, 200);
    let mut messages = Vec::new();
    while let Some(message) = connection.message() {
        messages.push(message);
    }
    assert_eq!(messages.first(), Some(&first), "from the event that was named on");
    let last = messages.last().expect("an answer");
    assert!(last["id"] == 3 && last["result"]["content"][0]["text"].as_str().expect("text").contains("end"));
    assert!(program.workspace().join("all").exists());
    let other = server.session("2025-11-25", json!({}));
    assert_eq!(gone(&server, &other, &id), 3, "streams are a session's own");
    assert_eq!(server.ask(&server.listen(&session).with("Last-Event-ID", "x")).status, 400);
}

/// Returns the ID of the request whose stream is lost, from the error sent in its place.
#[cfg(unix)]
fn gone(server: &HttpServer, session: &str, id: &str) -> Value {
    let mut reader = again(server, session, id);
    let error = reader.message().expect("an error");
    assert!(
        error["error"]["message"].as_str().expect("text").starts_with("the answer is no longer here"),
        "{error}"
    );
    assert!(reader.message().is_none(), "nothing follows");
    error["id"].clone()
}

/// Covers both a restarted server and a second server on the same home: stream numbers of one mean nothing to
/// the other.
#[cfg(unix)] // commands
#[test]
fn a_stream_that_a_server_does_not_have_is_answered_with_an_error() {
    let program = Program::new();
    let server = program.serve_http(0);
    for (revision, request) in [("2025-11-25", json!("r-1 \u{1f514}")), ("2025-06-18", json!(7))] {
        let session = server.session(revision, json!({}));
        let call = |server: &HttpServer, request: &Value| {
            let arguments = json!({ "command": "echo begun; sleep 60" });
            let params = json!({ "_meta": { "progressToken": 5 }, "name": "Bash", "arguments": arguments });
            let message =
                json!({ "jsonrpc": "2.0", "id": request, "method": "tools/call", "params": params });
            let mut connection = server.connect();
            connection.send(&server.post(&message).with("Mcp-Session-Id", &session).bytes());
            assert_eq!(connection.head().status, 200);
            (connection.event().expect("an event").0.expect("an id"), connection)
        };
        let id = { call(&server, &request) }.0;
        let next = program.serve_http(0);
        let (of_another, _reads) = call(&next, &json!("another"));
        assert_eq!(gone(&next, &session, &id), request, "and not what the other stream says");
        let batch = id.replace(id.split('.').nth(1).expect("a request"), "");
        let refused = next.ask(&next.listen(&session).with("Last-Event-ID", &batch));
        assert_eq!(refused.status, 400, "a batch has no single answer: {refused:?}");
        assert_ne!(id.split('.').next(), of_another.split('.').next());
    }
}

#[test]
fn a_question_goes_to_the_client_on_the_stream_of_its_call() {
    let program = Program::new();
    let server = program.serve_http(0);
    let session = server.session("2025-06-18", json!({ "elicitation": {} }));
    let questions = r#"{"questions":[{"text":"Which?","options":["A","B"]}]}"#;
    let params = json!({ "name": "AskUserQuestion", "arguments": { "questions_json": questions } });
    let mut connection = server.connect();
    connection.send(&server.in_session(&session, 3, "tools/call", &params).bytes());
    assert_eq!(connection.head().header("content-type"), Some("text/event-stream"));
    let asked = connection.message().expect("a question");
    assert_eq!(asked["method"], "elicitation/create");
    let form = &asked["params"]["requestedSchema"]["properties"];
    let name = form.as_object().and_then(|form| form.keys().next()).expect("a field").clone();
    let result = json!({ "action": "accept", "content": { name: "A" } });
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
    let status = |answer: &Value| server.ask(&server.post(answer).with("Mcp-Session-Id", &session)).status;
    // No server asked with these IDs.
    for id in [json!(1), json!("1"), Value::Null] {
        assert_eq!(status(&json!({ "jsonrpc": "2.0", "id": id, "result": result })), 400, "{id}");
    }
    assert_eq!(status(&answer), 202);
    // The question is over, and another server may have asked another one.
    assert_eq!(status(&answer), 202);
    let answered = connection.message().expect("an answer");
    assert!(answered["id"] == 3 && answered["result"]["isError"] == json!(false), "{answered}");
    assert!(connection.message().is_none(), "the answer is the last");
}

/// Even if the maximum number of running calls all wait for the user, answers and a cancellation reach them.
#[test]
fn answers_do_not_wait_for_the_calls_that_wait_for_them() {
    const RUNNING: usize = 64;
    let program = Program::new();
    let server = program.serve_http(0);
    let session = server.session("2025-11-25", json!({ "elicitation": {} }));
    let questions = r#"{"questions":[{"text":"Which?","options":["A","B"]}]}"#;
    let params = json!({ "name": "AskUserQuestion", "arguments": { "questions_json": questions } });
    let mut calls = Vec::new();
    for id in 1..=RUNNING as u64 {
        let mut connection = server.connect();
        connection.send(&server.in_session(&session, id, "tools/call", &params).bytes());
        connection.head();
        let asked = connection.message().expect("a question");
        assert_eq!(asked["method"], "elicitation/create");
        calls.push((connection, asked["id"].clone()));
    }
    let mut waiting = server.connect();
    waiting.send(&server.in_session(&session, 1000, "tools/call", &list()).bytes());
    let result = json!({ "action": "decline" });
    let answer = json!({ "jsonrpc": "2.0", "id": calls[0].1, "result": result });
    assert_eq!(server.ask(&server.post(&answer).with("Mcp-Session-Id", &session)).status, 202);
    assert_eq!(calls[0].0.message().expect("an answer")["id"], 1);
    assert!(waiting.response().body.contains("\"id\":1000"), "a place is free");
    for id in 2..=RUNNING {
        let params = json!({ "requestId": id });
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        assert_eq!(server.ask(&server.post(&cancel).with("Mcp-Session-Id", &session)).status, 202);
    }
    for (connection, _) in &mut calls[1..] {
        while let Some(message) = connection.message() {
            assert_eq!(message["method"], "notifications/cancelled", "nothing answers a cancelled call");
        }
    }
}

#[test]
fn what_nobody_asked_for_comes_on_a_stream_of_its_own() {
    let program = Program::new();
    let server = program.serve_http(0);
    let session = server.session("2025-11-25", json!({}));
    let mut first = server.connect();
    first.send(&server.listen(&session).bytes());
    assert_eq!(first.head().header("content-type"), Some("text/event-stream"));
    let timer = json!({ "name": "SetCallback", "arguments": { "action": "set", "message": "tea", "delay_seconds": 1, "repeat_count": 1 } });
    let set = server.ask(&server.in_session(&session, 1, "tools/call", &timer));
    assert_eq!(set.json()["result"]["isError"], json!(false), "{set:?}");
    let told = first.message().expect("a message");
    assert!(told.to_string().contains("tea"), "{told}");
    // The client reconnects, which ends its previous stream.
    let mut second = server.connect();
    second.send(&server.listen(&session).bytes());
    assert_eq!(second.head().status, 200);
    while first.message().is_some() {}
    assert_eq!(server.ask(&server.listen(&session).with("Accept", "text/html")).status, 406);
}

/// A listening client that reconnects after a restart receives new messages.
#[test]
fn a_client_that_comes_again_after_a_restart_hears_what_is_new() {
    let program = Program::new();
    let mut server = program.serve_http(0);
    let session = server.session("2025-11-25", json!({}));
    let mut last = None;
    for round in 0..2 {
        let listen = server.listen(&session);
        let mut connection = server.connect();
        connection
            .send(&last.iter().fold(listen, |listen, id: &String| listen.with("Last-Event-ID", id)).bytes());
        assert_eq!(connection.head().status, 200);
        for told in 0..3 {
            let message = format!("round {round}, message {told}");
            let timer = json!({ "name": "SetCallback", "arguments": { "action": "set", "message": message, "delay_seconds": 1, "repeat_count": 1 } });
            let set = server.ask(&server.in_session(&session, 1, "tools/call", &timer));
            assert!(set.body.contains("\"isError\":false"), "{set:?}");
            let (id, data) = connection.event().expect("a message");
            assert!(data.contains(&message), "{data}");
            last = id;
        }
        drop((connection, server));
        server = program.serve_http(0);
    }
}

/// Reconnects and resumes after an event.
#[cfg(unix)]
fn again(server: &HttpServer, session: &str, id: &str) -> Connection {
    let mut reader = server.connect();
    reader.send(&server.listen(session).with("Last-Event-ID", id).bytes());
    assert_eq!(reader.head().status, 200);
    reader
}

/// Returns the ID in the first event of a stream.
#[cfg(unix)]
fn begun(connection: &mut Connection) -> String {
    assert_eq!(connection.head().status, 200);
    let (id, data) = connection.event().expect("an event");
    assert_eq!(data, "");
    id.expect("an id")
}

/// A client that reconnects while its first connection is open or closing receives the response immediately.
#[cfg(unix)] // commands
#[test]
fn a_stream_that_is_read_twice_is_said_at_once_to_the_later_reader() {
    let program = Program::new();
    let server = program.serve_http(0);
    for is_there in [true, false] {
        let session = server.session("2025-11-25", json!({}));
        let command = format!("until [ -e go-{is_there} ]; do sleep 0.01; done");
        let params = json!({ "name": "Bash", "arguments": { "command": command } });
        let mut first = server.connect();
        first.send(&server.in_session(&session, 1, "tools/call", &params).bytes());
        let id = begun(&mut first);
        let first = is_there.then_some(first);
        let mut second = again(&server, &session, &id);
        // Gives the server time to detect the disconnect.
        for id in 2..50 {
            assert_eq!(server.ask(&server.in_session(&session, id, "ping", &json!({}))).status, 200);
        }
        let told = Instant::now();
        std::fs::write(program.workspace().join(format!("go-{is_there}")), "").expect("a file");
        assert_eq!(second.message().expect("the answer")["id"], 1, "{is_there}");
        assert!(told.elapsed() < Duration::from_secs(5), "{:?}", told.elapsed());
        assert!(first.is_none_or(|mut first| first.message().is_none()), "only one of them is told");
    }
}

/// A notification for many sessions that do not listen is stored only once.
#[cfg(target_os = "linux")]
#[test]
fn what_many_sessions_are_told_is_kept_once() {
    const SESSIONS: usize = 400;
    const SLOTS: usize = 8;
    let program = Program::new();
    let server = program.serve_http(0);
    let _idle: Vec<_> = (0..SESSIONS).map(|_| server.session("2025-11-25", json!({}))).collect();
    let session = server.session("2025-11-25", json!({}));
    let mut connection = server.connect();
    connection.send(&server.listen(&session).bytes());
    assert_eq!(connection.head().status, 200);
    let call = |id: usize, arguments: Value| {
        let params = json!({ "name": "SetCallback", "arguments": arguments });
        let id = u64::try_from(id).expect("small");
        let answer = server.ask(&server.in_session(&session, id, "tools/call", &params));
        assert!(answer.body.contains("\"isError\":false"), "{answer:?}");
    };
    // The first call of a tool allocates memory permanently.
    call(SLOTS, json!({ "action": "list" }));
    let memory = || memory(rustix::process::Pid::from_child(&server.child)).0;
    let before = memory();
    let message = "\u{1f514}".repeat(2048);
    for id in 0..SLOTS {
        call(id, json!({ "action": "set", "message": message, "delay_seconds": 1, "repeat_count": 2 }));
    }
    let mut bytes = 0;
    for _ in 0..2 * SLOTS {
        let told = connection.message().expect("a message").to_string();
        assert!(told.contains("\u{1f514}"), "{told}");
        bytes += told.len();
    }
    let (more, copies) = (memory().saturating_sub(before), (SESSIONS * bytes) as u64);
    assert!(more < copies / 4, "{} more, where copies take {}", mebibytes(more), mebibytes(copies));
}

/// Responses for disconnected clients are stored within a limit, and the oldest are dropped first.
#[cfg(unix)] // commands
#[test]
fn answers_stay_as_far_as_there_is_room() {
    const ROOM: usize = 64 << 20;
    const EACH: u64 = 16;
    let program = Program::new();
    let server = program.serve_http(0);
    let (mut answered, mut bytes) = (Vec::new(), 0);
    while bytes < ROOM + ROOM / 16 {
        // The command prints nothing until each client has disconnected and reconnected.
        let go = format!("go{bytes}");
        let command =
            format!("until [ -e {go} ]; do sleep 0.5; done; yes \u{1f514} | head -n 19000 | tr -d '\\n'");
        let params = json!({ "name": "Bash", "arguments": { "command": command, "timeout": 120_000 } });
        let mut asked = Vec::new();
        for session in (0..8).map(|_| server.session("2025-11-25", json!({}))) {
            for id in 1..=EACH {
                let mut connection = server.connect();
                connection.send(&server.in_session(&session, id, "tools/call", &params).bytes());
                asked.push((session.clone(), connection));
            }
        }
        let come_again = |(session, mut left): (String, Connection)| {
            let id = begun(&mut left);
            drop(left);
            (again(&server, &session, &id), session, id)
        };
        let readers: Vec<_> = asked.into_iter().map(come_again).collect();
        std::fs::write(program.workspace().join(go), "").expect("a file");
        for (mut reader, session, id) in readers {
            let message = reader.message().expect("the answer");
            assert_eq!(message["result"]["isError"], false, "{message}");
            bytes += message.to_string().len();
            answered.push((session, id));
        }
    }
    let (session, id) = &answered[0];
    assert_eq!(gone(&server, session, id), 1, "it had to make room");
    let (session, id) = answered.last().expect("some");
    assert_eq!({ again(&server, session, id) }.message().expect("the answer")["id"], EACH);
}
