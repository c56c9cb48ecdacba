//! Tests of a database that does not respond: requests that need it wait for a bounded time, and other
//! requests are not delayed.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_test_support::postgres::Postgres;
use scorpiox_test_support::postgres::proxy::Proxy;
use scorpiox_tests::Program;
use scorpiox_tests::http::{HttpServer, Request};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::database::{serve, store};

const ANN: &str = "token-of-ann-0123456789";
const BOB: &str = "token-of-bob-0123456789";
/// Maximum time for a response that needs no database. It leaves room for parallel tests.
const AT_ONCE: Duration = Duration::from_secs(3);
/// Timeout of a lookup, plus a margin.
const IN_TIME: Duration = Duration::from_secs(20);

fn sha256(token: &str) -> String {
    Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Starts a server with two principals and a proxy in front of its database.
fn served(address: &str) -> (Program, HttpServer, SocketAddr) {
    let program = Program::new();
    let policy = format!(
        "version = 1\n{}[http.admin]\nprincipals = [\"ann\"]\n[http.observe]\nlisten = \"127.0.0.1:0\"\n[http.auth]\n\
         kind = \"token\"\n[http.auth.tokens.ann]\nsha256 = \"{}\"\n[http.auth.tokens.bob]\nsha256 = \"{}\"\n",
        store(address),
        sha256(ANN),
        sha256(BOB)
    );
    program.put("home/.scorpiox/policy.toml", policy);
    let mut server = serve(&program);
    BOB.clone_into(&mut server.token);
    let watched = server.watched_at();
    (program, server, watched)
}

/// Sends a request to an address and returns the status and the elapsed time.
fn timed(address: SocketAddr, bytes: &[u8]) -> (u16, Duration) {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    stream.write_all(bytes).expect("written");
    let mut first = [0; 12];
    stream.read_exact(&mut first).expect("an answer");
    let status = std::str::from_utf8(&first[9..]).ok().and_then(|status| status.parse().ok());
    (status.expect("a status"), begun.elapsed())
}

fn as_ann(request: Request) -> Request {
    request.with("Authorization", &format!("Bearer {ANN}"))
}

#[test]
fn a_silent_database_keeps_nobody_who_needs_none() {
    let database = Postgres::start();
    let proxy = Proxy::before(database.port());
    let (program, server, watched) = served(&proxy.address(&database.database(), database.port()));
    let sessions: Vec<_> = (0..20).map(|_| server.session("2025-11-25", json!({}))).collect();
    let command = "echo begun; until [ -e go ]; do sleep 0.05; done; echo done";
    let params =
        json!({ "_meta": { "progressToken": 1 }, "name": "Bash", "arguments": { "command": command } });
    let mut running = server.connect();
    running.send(&as_ann(server.modern("tools/call", params)).bytes());
    assert_eq!(running.head().status, 200);
    assert_eq!(running.message().expect("progress")["params"]["progressToken"], 1);
    let login = server.post(&json!({})).path("/admin/login").body(format!("token={ANN}"));
    let login = login.without("Authorization").with("Content-Type", "application/x-www-form-urlencoded");
    let let_in = server.ask(&login.with("Origin", &format!("http://{}", server.address)));
    let cookie = let_in.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    proxy.hang();
    // Requests of one session share their lookups; lookups of many sessions are bounded.
    let ping = |number: usize| {
        let session = if number < 200 { &sessions[0] } else { &sessions[number % sessions.len()] };
        let mut connection = server.connect();
        connection.send(&server.in_session(session, 7, "ping", &json!({})).bytes());
        connection
    };
    let waiting: Vec<_> = (0..300).map(ping).collect();
    let begun = Instant::now();
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes();
    let unknown = server.post(&json!({})).without("Authorization").bytes();
    let discover = as_ann(server.modern("server/discover", json!({}))).bytes();
    while begun.elapsed() < Duration::from_secs(5) {
        for (what, address, bytes, expected) in [
            ("the log-in", server.address, &get("/admin/login"), 200),
            ("nobody", server.address, &unknown, 401),
            ("a request of no session", server.address, &discover, 200),
            ("the probe", watched, &get("/livez"), 200),
        ] {
            let (status, took) = timed(address, bytes);
            assert!(status == expected && took < AT_ONCE, "{what}: {status} after {took:?}");
        }
    }
    let told = Instant::now();
    fs::write(program.workspace().join("go"), "").expect("a file");
    let answer = std::iter::from_fn(|| running.message()).last().expect("an answer");
    assert!(answer.to_string().contains("done"), "{answer}");
    // The call waits up to two seconds for callbacks that it could deliver.
    assert!(told.elapsed() < 2 * AT_ONCE, "a call that runs: {:?}", told.elapsed());
    for mut connection in waiting {
        let refused = connection.response();
        assert_eq!((refused.status, refused.code(), refused.header("retry-after")), (503, -31001, Some("2")));
    }
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    // A login whose state is unknown cannot read pages, and is not reported as ended.
    let page = server.listen("").path("/admin").without("Authorization").without("Mcp-Session-Id");
    let page = server.ask(&page.with("Accept", "text/html").with("Cookie", cookie));
    assert_eq!((page.status, page.header("retry-after")), (503, Some("2")), "{page:?}");
    // The first session whose lookup succeeds unblocks all of them.
    proxy.recover();
    let recovers = Instant::now();
    while server.ask(&server.in_session(&sessions[1], 8, "ping", &json!({}))).status != 200 {
        assert!(recovers.elapsed() < Duration::from_secs(60), "no session is found again");
        thread::sleep(Duration::from_millis(50));
    }
}
