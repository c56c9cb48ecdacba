//! Tests of malformed and hostile requests: the server stays available to other clients and still stops on
//! request.

use std::time::{Duration, Instant};

use scorpiox_tests::Program;
#[cfg(unix)]
use scorpiox_tests::http::Connection;
use scorpiox_tests::http::HttpServer;
use serde_json::json;

fn is_well(server: &HttpServer) {
    let begun = Instant::now();
    assert_eq!(server.ask(&server.modern("server/discover", json!({}))).status, 200);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

/// Calls of tools that take no time run on threads that drive connections. These took a minute of such a thread, also
/// after their clients had left.
#[test]
fn long_calls_with_many_rules_hold_up_nobody() {
    let program = Program::new();
    let rule = |at: usize| {
        let argument = format!("arguments = {{ \"/text\" = \"*secret{at}*\" }}");
        format!("[[rules]]\nname = \"r{at}\"\ntools = [\"TaskManager\"]\n{argument}\nthen = \"deny\"\n")
    };
    let rules: String = (0..10).map(rule).collect();
    program.put("home/.scorpiox/policy.toml", format!("version = 1\n{rules}"));
    let server = program.serve_http(0);
    let text = format!(" http://h/{}?{}#x", "/\u{7f}".repeat(3 << 20), "\u{7f}%41".repeat(1 << 20));
    let call = json!({ "name": "TaskManager", "arguments": { "action": "create", "text": text } });
    let call = server.modern("tools/call", call).bytes();
    for _ in 0..8 {
        server.connect().send(&call);
    }
    let begun = Instant::now();
    for _ in 0..8 {
        assert_eq!(server.ask(&server.modern("server/discover", json!({}))).status, 200);
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

/// Requests that two HTTP implementations could split differently (request smuggling) are refused.
#[test]
fn requests_that_can_be_read_in_two_ways_are_refused() {
    let program = Program::new();
    let server = program.serve_http(0);
    let good = server.modern("server/discover", json!({}));
    let body = String::from_utf8(good.bytes()).expect("UTF-8");
    let (head, body) = body.split_once("\r\n\r\n").expect("a head");
    let head = head.split("\r\nContent-Length").next().expect("a head");
    let hidden = "POST /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let length = body.len();
    for (what, bytes) in [
        ("two lengths", format!("{head}\r\nContent-Length: {length}\r\nContent-Length: 0\r\n\r\n{body}")),
        (
            "chunks and a length",
            format!("{head}\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{hidden}"),
        ),
        (
            "a length and chunks",
            format!("{head}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
        ),
        (
            "chunks that are not last",
            format!("{head}\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
        ),
        ("a length with a sign", format!("{head}\r\nContent-Length: +{length}\r\n\r\n{body}")),
        ("a length in words", format!("{head}\r\nContent-Length: {length}, {length}x\r\n\r\n{body}")),
        ("a space before the colon", format!("{head}\r\nContent-Length : {length}\r\n\r\n{body}")),
        ("a folded line", format!("{head}\r\nX: a\r\n b\r\nContent-Length: {length}\r\n\r\n{body}")),
        (
            "a bare line feed in a chunk",
            format!("{head}\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\n{body}\r\n0\r\n\r\n"),
        ),
        ("a null", format!("{head}\r\nX: a\0b\r\nContent-Length: {length}\r\n\r\n{body}")),
        ("no HTTP", "hello\r\n\r\n".to_owned()),
        ("TLS", "\u{16}\u{3}\u{1}\0\u{5}hello".to_owned() + &"\0".repeat(400)),
    ] {
        let mut connection = server.connect();
        connection.send(bytes.as_bytes());
        let answered = connection.head();
        let rest = if answered.status == 200 { String::new() } else { connection.rest() };
        assert!((400..500).contains(&answered.status) || answered.status == 0, "{what}: {answered:?}");
        assert!(!rest.contains("HTTP/1.1"), "{what}: a second answer: {rest}");
    }
    // The server does not decode compressed transfer encodings.
    let packed = good.clone().with("Transfer-Encoding", "gzip, chunked").body("");
    assert_eq!(server.ask(&packed).status, 501);
    is_well(&server);
}

/// An idle connection is closed in time, even after a successful request.
#[test]
fn a_connection_that_rests_is_closed() {
    let program = Program::new();
    let server = program.serve_http(0);
    let good = server.modern("server/discover", json!({})).bytes();
    let mut connection = server.connect();
    connection.send(&good);
    assert_eq!(connection.head().status, 200);
    let begun = Instant::now();
    assert!(connection.is_closed_within(Duration::from_mins(2)));
    assert!(begun.elapsed() > Duration::from_secs(60), "{:?}", begun.elapsed());
}

#[test]
fn heads_and_bodies_have_bounds() {
    let program = Program::new();
    let server = program.serve_http(0);
    let good = server.modern("server/discover", json!({}));
    let many = (0..2000).fold(good.clone(), |request, n| request.and(&format!("X-{n}"), "x"));
    let long = good.clone().with("X-Long", &"x".repeat(200_000));
    for request in [many, long, good.clone().path(&format!("/{}", "x".repeat(100_000)))] {
        let mut connection = server.connect();
        connection.send(&request.bytes());
        let status = connection.head().status;
        assert!([0, 404, 414, 431].contains(&status), "{status}");
    }
    let large = good.clone().with("Content-Length", "999999999999").body("");
    let mut connection = server.connect();
    connection.send(&large.bytes());
    assert_eq!(connection.head().status, 413, "before any of it has come");
    // A body of unknown length that grows beyond the limit.
    let mut connection = server.connect();
    connection.send(&good.with("Transfer-Encoding", "chunked").body("").bytes());
    let chunk = format!("100000\r\n{}\r\n", "x".repeat(0x10_0000));
    let taken = (0..40).take_while(|_| connection.send(chunk.as_bytes())).count();
    assert!(taken < 40, "40 MiB were taken");
    is_well(&server);
}

#[test]
fn clients_that_say_nothing_delay_nobody() {
    let program = Program::new();
    let server = program.serve_http(0);
    let half = server.modern("server/discover", json!({})).bytes();
    let mut silent: Vec<_> = (0..200).map(|_| server.connect()).collect();
    for (index, connection) in silent.iter_mut().enumerate() {
        // Nothing at all, a partial head, or a partial body.
        let end = [0, 40, half.len() - 5][index % 3];
        connection.send(&half[..end]);
    }
    is_well(&server);
    let begun = Instant::now();
    // A connection without a complete head is closed in time.
    assert!(!silent[1].rest().contains("200"));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    is_well(&server);
}

/// Starts a command and waits for its first output.
#[cfg(unix)]
fn begun(server: &HttpServer, session: &str, command: &str) -> Connection {
    let arguments = json!({ "command": command });
    let params = json!({ "_meta": { "progressToken": 1 }, "name": "Bash", "arguments": arguments });
    let mut call = server.connect();
    call.send(&server.in_session(session, 1, "tools/call", &params).bytes());
    assert_eq!(call.head().status, 200);
    assert_eq!(call.message().expect("progress")["params"]["message"], "begun");
    call
}

#[cfg(unix)] // signals and commands
#[test]
fn the_end_waits_for_calls_and_not_for_listeners() {
    let program = Program::new();
    let mut server = program.serve_http(0);
    let session = server.session("2025-11-25", json!({}));
    let mut listener = server.connect();
    listener.send(&server.listen(&session).bytes());
    assert_eq!(listener.head().status, 200);
    let _idle = server.connect();
    let mut call = begun(&server, &session, "echo begun; sleep 1; echo done");
    let took = server.end();
    assert!(took < Duration::from_secs(4), "{took:?}");
    let last = std::iter::from_fn(|| call.message()).last().expect("an answer");
    assert!(last["id"] == 1 && last.to_string().contains("done"), "{last}");
    assert!(listener.message().is_none());
}

#[cfg(unix)] // signals and commands
#[test]
fn the_end_does_not_wait_for_ever() {
    let program = Program::new();
    let mut server = program.serve_http(0);
    let session = server.session("2025-11-25", json!({}));
    let _call = begun(&server, &session, "echo begun; sleep 60");
    let took = server.end();
    assert!(took < Duration::from_secs(8), "{took:?}");
}

/// Connections that the system accepted before the signal are served, and the place of each is free.
#[cfg(unix)] // signals and commands
#[test]
fn requests_that_arrive_with_the_signal_to_end_are_answered() {
    use rustix::process::{Pid, Signal, kill_process};
    let program = Program::new();
    for round in 0..4 {
        let mut server = program.serve_http(0);
        let session = server.session("2025-11-25", json!({}));
        let mut call = begun(&server, &session, "echo begun; sleep 1; echo done");
        let process = Pid::from_child(&server.child);
        // All connections and the signal are there when the process goes on.
        kill_process(process, Signal::STOP).expect("a signal");
        let request = server.modern("server/discover", json!({}));
        let mut late: Vec<_> = std::iter::repeat_with(|| server.connect()).take(20).collect();
        assert!(late.iter_mut().all(|connection| connection.send(&request.bytes())));
        kill_process(process, Signal::TERM).expect("a signal");
        kill_process(process, Signal::CONT).expect("a signal");
        for (number, connection) in late.iter_mut().enumerate() {
            assert_eq!(connection.response().status, 200, "round {round}, connection {number}");
        }
        let last = std::iter::from_fn(|| call.message()).last().expect("an answer");
        assert!(last.to_string().contains("done"), "{last}");
        assert!(server.child.wait().expect("an end").success());
    }
}

/// The rest of a body is not read as the next request: the connection closes, and the answer says so, also to a client
/// that sends all of its body first.
#[test]
fn an_answer_before_the_end_of_a_body_closes_the_connection() {
    let program = Program::new();
    let server = program.serve_http(0);
    let good = server.modern("server/discover", json!({}));
    let hidden = good.clone().bytes();
    for (what, request, status) in [
        ("no token", good.clone().without("Authorization"), 401),
        ("a wrong token", good.clone().with("Authorization", "Bearer x"), 401),
        ("another host", good.clone().with("Host", "evil.example.com"), 403),
        ("another origin", good.clone().with("Origin", "https://evil.example.com"), 403),
        ("another type", good.clone().with("Content-Type", "text/plain"), 415),
        ("another method", good.clone().method("PUT"), 405),
        ("another path", good.clone().path("/none"), 404),
        ("too long", good.clone().with("Content-Length", "999999999999"), 413),
        ("a body where none belongs", good.clone().method("DELETE"), 405),
    ] {
        let has_length = what == "too long";
        let request = if has_length { request } else { request.with("Content-Length", "100000") };
        let mut connection = server.connect();
        connection.send(&request.body(hidden.clone()).bytes());
        let answered = connection.response();
        assert_eq!((answered.status, answered.header("connection")), (status, Some("close")), "{what}");
        assert_eq!(connection.rest(), "", "{what}: nothing else is answered");
    }
    // The whole body is sent before the answer is read.
    let large = good.clone().with("Host", "evil.example.com").body(vec![b'x'; 1024 * 1024]);
    let mut connection = server.connect();
    connection.send(&large.bytes());
    assert_eq!(connection.response().status, 403, "the answer is not lost");
    // A body that was read leaves the connection open.
    let mut connection = server.connect();
    for _ in 0..2 {
        connection.send(&good.bytes());
        let answered = connection.response();
        assert_eq!((answered.status, answered.header("connection")), (200, None));
    }
    is_well(&server);
}
