//! Tests of clients that disconnect and of calls beyond the limit: abandoned calls do not run, and a waiting
//! call uses no thread.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use scorpiox_tests::http::{Connection, HttpServer, Request};
use serde_json::{Value, json};

use crate::shell::support::{comes_true, mark, processes_with};

const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum numbers of running and of queued calls.
const RUN: usize = 64;
const WAIT: usize = 192;
/// Maximum number of threads besides those of calls: 32 for requests that are not calls, 8 for connections,
/// and some for timers, the audit and the metrics endpoint.
const BESIDE: usize = 32 + 8 + 12;

fn served() -> (Program, HttpServer, SocketAddr) {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", "version = 1\n[http.observe]\nlisten = \"127.0.0.1:0\"\n");
    let mut server = program.serve_http(0);
    let watched = server.watched_at();
    (program, server, watched)
}

fn bash(server: &HttpServer, command: &str, progress: bool) -> Request {
    let mut params = json!({ "name": "Bash", "arguments": { "command": command, "timeout": 120_000 } });
    if progress {
        params["_meta"]["progressToken"] = json!(1);
    }
    server.modern("tools/call", params)
}

/// Returns a metric of the server that has no labels.
fn figure(watched: SocketAddr, name: &str) -> usize {
    let mut stream = TcpStream::connect(watched).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {watched}\r\nConnection: close\r\n\r\n").expect("written");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name}: {text}"))
}

fn becomes(watched: SocketAddr, name: &str, expected: usize) {
    let begun = Instant::now();
    while figure(watched, name) != expected {
        assert!(begun.elapsed() < PATIENCE, "{name} is {}, not {expected}", figure(watched, name));
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Returns a number from `/proc/PID/status` of the server.
fn of_process(server: &HttpServer, name: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", server.child.id())).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
    line.trim_start_matches(':')
        .split_whitespace()
        .next()
        .and_then(|number| number.parse().ok())
        .expect("a number")
}

fn audited(program: &Program, tool: &str) -> Vec<Value> {
    let text = fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["tool"] == tool).collect()
}

/// Disconnects right after sending the request: with a half-close, with a reset, or with a plain close.
fn leave(server: &HttpServer, request: &Request, how: usize) {
    let mut stream = TcpStream::connect(server.address).expect("a connection");
    stream.write_all(&request.bytes()).expect("sent");
    match how % 3 {
        0 => {}
        1 => stream.shutdown(Shutdown::Write).expect("shut down"),
        _ => rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).expect("an option"),
    }
}

/// Returns the command of client `number`, which creates a file when it completes.
fn ending(folder: &Path, mark: &str, number: usize) -> String {
    format!("MARK={mark} sleep 5; touch {}/ended-{number}", folder.display())
}

fn ended(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    entries
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with("ended-"))
        .collect()
}

#[test]
fn calls_of_clients_that_leave_at_once_do_not_come_to_their_end() {
    let (program, server, watched) = served();
    let (folder, mark) = (program.workspace(), mark());
    // The first command creates the directories that the later commands use.
    assert_eq!(server.ask(&bash(&server, "true", false)).status, 200);
    for number in 0..40 {
        leave(&server, &bash(&server, &ending(&folder, &mark, number), number % 2 == 0), number);
    }
    // A request with an incomplete body does not run either.
    let whole = bash(&server, &ending(&folder, &mark, 99), false).bytes();
    let mut half = TcpStream::connect(server.address).expect("a connection");
    half.write_all(&whole[..whole.len() - 20]).expect("sent");
    drop(half);
    becomes(watched, "scorpiox_calls_running", 0);
    assert!(comes_true(PATIENCE, || processes_with(&mark).is_empty()), "commands run on");
    // A call that outlasts each of the abandoned ones is answered.
    assert_eq!(server.ask(&bash(&server, "sleep 6", true)).status, 200);
    let ended = ended(&folder);
    assert!(ended.is_empty(), "{ended:?}");
    // Each call that reached the server has an audit line, and none reports success.
    let lines = audited(&program, "Bash");
    let theirs: Vec<_> = lines[1..lines.len() - 1].iter().map(|line| line["outcome"].clone()).collect();
    assert!(theirs.iter().all(|outcome| *outcome == "cancelled"), "{theirs:?}");
    assert!(theirs.len() <= 40, "{theirs:?}");
}

/// Starts the maximum number of running calls, each of which waits for a file.
fn fill(server: &HttpServer, watched: SocketAddr, release: &Path) -> Vec<Connection> {
    let command = format!("while [ ! -e {} ]; do sleep 0.2; done", release.display());
    let calls: Vec<_> = (0..RUN)
        .map(|_| {
            let mut call = server.connect();
            assert!(call.send(&bash(server, &command, true).bytes()));
            call
        })
        .collect();
    becomes(watched, "scorpiox_calls_running", RUN);
    calls
}

#[test]
fn a_call_that_waits_for_a_place_leaves_the_queue_with_its_client() {
    let (program, server, watched) = served();
    let (folder, mark, release) = (program.workspace(), mark(), program.workspace().join("release"));
    let calls = fill(&server, watched, &release);
    let mut waiting: Vec<_> = (0..40)
        .map(|number| {
            let mut connection = server.connect();
            assert!(
                connection.send(&bash(&server, &ending(&folder, &mark, number), number % 2 == 0).bytes())
            );
            connection
        })
        .collect();
    becomes(watched, "scorpiox_calls_waiting", 40);
    waiting.truncate(1);
    becomes(watched, "scorpiox_calls_waiting", 1);
    // In a session, the client cancels with a notification and may disconnect.
    let session = server.session("2025-11-25", json!({}));
    let params = json!({ "name": "Bash", "arguments": { "command": ending(&folder, &mark, 50) } });
    let mut queued = server.connect();
    assert!(queued.send(&server.in_session(&session, 7, "tools/call", &params).bytes()));
    becomes(watched, "scorpiox_calls_waiting", 2);
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    assert_eq!(server.ask(&server.post(&cancel).with("Mcp-Session-Id", &session)).status, 202);
    becomes(watched, "scorpiox_calls_waiting", 1);
    fs::write(&release, "").expect("written");
    assert_eq!(waiting[0].response().status, 200);
    becomes(watched, "scorpiox_calls_running", 0);
    assert_eq!(ended(&folder), ["ended-0"]);
    drop(calls);
    // The audit line of a call may be written shortly after the running count drops.
    assert!(comes_true(PATIENCE, || audited(&program, "Bash").len() >= RUN + 41), "lines are missing");
    let lines = audited(&program, "Bash");
    let cancelled = lines.iter().filter(|line| line["outcome"] == "cancelled").count();
    assert_eq!((cancelled, lines.len()), (40, RUN + 41), "{lines:?}");
}

#[test]
fn calls_that_wait_or_are_refused_cost_no_thread() {
    let (program, server, watched) = served();
    let release = program.workspace().join("release");
    assert_eq!(server.ask(&bash(&server, "true", false)).status, 200);
    let before = of_process(&server, "VmRSS");
    let calls = fill(&server, watched, &release);
    let waiting: Vec<_> = (0..WAIT)
        .map(|_| {
            let mut connection = server.connect();
            assert!(connection.send(&bash(&server, "true", true).bytes()));
            connection
        })
        .collect();
    becomes(watched, "scorpiox_calls_waiting", WAIT);
    let mut most = of_process(&server, "Threads");
    for _ in 0..300 {
        let refused = server.ask(&bash(&server, "true", false));
        assert_eq!(refused.status, 503, "{refused:?}");
        most = most.max(of_process(&server, "Threads"));
    }
    // Requests that are not calls are still answered.
    assert_eq!(server.ask(&server.modern("server/discover", json!({}))).status, 200);
    assert!(most <= RUN + BESIDE, "{most} threads");
    fs::write(&release, "").expect("written");
    for mut connection in waiting {
        assert_eq!(connection.response().status, 200);
        most = most.max(of_process(&server, "Threads"));
    }
    drop(calls);
    assert!(most <= RUN + BESIDE, "{most} threads");
    becomes(watched, "scorpiox_calls_running", 0);
    // Idle threads exit after ten seconds.
    let begun = Instant::now();
    while of_process(&server, "Threads") > 40 {
        assert!(begun.elapsed() < PATIENCE, "{} threads", of_process(&server, "Threads"));
        std::thread::park_timeout(Duration::from_millis(100));
    }
    let after = of_process(&server, "VmRSS");
    println!("threads: at most {most}; memory: {before} KiB before, {after} KiB after");
    assert!(after < before + 48 * 1024, "{before} KiB before, {after} KiB after");
}
