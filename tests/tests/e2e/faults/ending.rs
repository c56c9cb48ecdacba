//! Tests of the shutdown: at the end of the input, on a signal, and after the client stops listening.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use scorpiox_tests::program::ends_within;
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::support::{Bare, WriteLock, call, create, database_of, handshake, request, stored};

const SIGNALS: [Signal; 2] = [Signal::TERM, Signal::INT];

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Starts a server with stored data, so that its store can be locked.
fn with_a_store(program: &Program, revision: &str) -> Started {
    let mut server = program.start();
    server.initialize(revision);
    server.text("TaskManager", json!({ "action": "create", "text": "first" }));
    server
}

/// Reads the messages up to the end, and asserts that they answer each of `ids` once and contain nothing
/// else.
fn answers(server: &mut Started, ids: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut rest = Vec::new();
    while let Some(message) = server.next() {
        rest.push(message);
    }
    let mut counted: HashMap<String, i32> = ids.map(|id| (id.to_string(), 0)).collect();
    for answer in &rest {
        let count = counted.get_mut(&answer["id"].to_string());
        *count.unwrap_or_else(|| panic!("nobody asked for {answer}")) += 1;
    }
    let wrong: Vec<_> = counted.iter().filter(|(_, count)| **count != 1).collect();
    assert!(wrong.is_empty(), "ids with other than one answer: {wrong:?}");
    rest
}

/// `true` if a call reports that its work was not done: with a tool error, or with a protocol error if it
/// never started.
fn has_failed(answer: &Value) -> bool {
    let succeeded = answer["result"]["isError"] == false;
    assert!(succeeded || answer["result"]["isError"] == true || answer["error"]["code"].is_i64(), "{answer}");
    !succeeded
}

#[test]
fn fifty_requests_in_the_pipe_are_answered_after_the_input_ended() {
    for _ in 0..10 {
        let program = Program::new();
        let mut server = program.start();
        server.initialize("2025-11-25");
        let line = |n: usize| match n % 5 {
            0 => request(n, "ping", json!({})),
            1 => create(n, "a task"),
            2 => request(n, "tools/list", json!({})),
            3 => call(n, "InvokeSkill", json!({ "skill_name": "none" })),
            _ => call(n, "TaskManager", json!({ "action": "list", "query": "" })),
        };
        let lines: String = (100..150).map(line).collect();
        // The last line has no newline: the end of the input terminates it.
        server.send_raw(lines.trim_end().as_bytes());
        server.close_input();
        let rest = answers(&mut server, (100..150).map(|n| json!(n)));
        assert!(rest.iter().all(|answer| answer.get("result").is_some()), "{rest:?}");
        assert!(server.wait().0.success());
        assert_eq!(stored(&database_of(&program)).tasks.len(), 10);
    }
}

#[test]
fn calls_in_flight_finish_when_they_can_soon_after_the_input_ended() {
    let program = Program::new();
    let mut server = with_a_store(&program, "2025-11-25");
    let lock = WriteLock::hold(&database_of(&program));
    let lines: String = (100..150).map(|n| create(n, "a task")).collect();
    server.send_raw(lines.as_bytes());
    server.close_input();
    lock.release();
    let rest = answers(&mut server, (100..150).map(|n| json!(n)));
    let failed: Vec<_> = rest.iter().filter(|answer| answer["result"]["isError"] != false).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert!(server.wait().0.success());
    assert_eq!(stored(&database_of(&program)).tasks.len(), 51);
}

#[test]
fn calls_that_cannot_finish_are_answered_with_an_error_within_a_second_of_the_inputs_end() {
    let program = Program::new();
    let mut server = with_a_store(&program, "2025-11-25");
    let lock = WriteLock::hold(&database_of(&program));
    // More calls than run at once, so some wait in the queue.
    let lines: String = (100..250).map(|n| create(n, "a task")).collect();
    server.send_raw(lines.as_bytes());
    // All calls have been read when the ping is answered.
    server.ask("ping", json!({}));
    server.close_input();
    let start = Instant::now();
    let rest = answers(&mut server, (100..250).map(|n| json!(n)));
    let (status, _) = server.wait();
    let time = start.elapsed();
    eprintln!("150 blocked calls, input closed: ended after {time:?}");
    let wrong: Vec<_> = rest.iter().filter(|answer| !has_failed(answer)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(status.success());
    assert!(time < Duration::from_millis(1100), "took {time:?}");
    lock.release();
    assert_eq!(stored(&database_of(&program)).tasks.len(), 1, "they said that nothing was changed");
}

/// Returns a server that executes a batch of five blocked writes, with its input closed.
fn with_a_blocked_batch(program: &Program) -> (Started, WriteLock) {
    let mut server = with_a_store(program, "2025-03-26");
    let lock = WriteLock::hold(&database_of(program));
    let members: Vec<_> = (0..5).map(|n| create(format!("b{n}"), "a task").trim_end().to_owned()).collect();
    server.send_raw(format!("[{}]\n", members.join(",")).as_bytes());
    // The batch is running when the ping is answered.
    server.ask("ping", json!({}));
    server.close_input();
    (server, lock)
}

/// Reads the last message, which must be an array, and returns for each of the five calls whether it failed.
fn batch_errors(server: &mut Started) -> Vec<bool> {
    let batch = server.next().expect("the batch was not answered");
    let answers = batch.as_array().expect("an array");
    assert!(server.next().is_none(), "one array and nothing else");
    answers.iter().map(has_failed).collect()
}

#[test]
fn a_batch_in_flight_finishes_when_it_can_soon_after_the_input_ended() {
    let program = Program::new();
    let (mut server, lock) = with_a_blocked_batch(&program);
    // Running calls get a grace period, and this is a fraction of it.
    let ended = ends_within(&mut server.child, Duration::from_millis(100));
    assert!(ended.is_none(), "it ended without an answer to the batch");
    lock.release();
    assert_eq!(batch_errors(&mut server), [false; 5]);
    assert!(server.wait().0.success());
}

#[test]
fn a_batch_that_cannot_finish_is_answered_with_errors_within_a_second_of_the_inputs_end() {
    let program = Program::new();
    let (mut server, lock) = with_a_blocked_batch(&program);
    let start = Instant::now();
    assert_eq!(batch_errors(&mut server), [true; 5]);
    assert!(server.wait().0.success());
    assert!(start.elapsed() < Duration::from_millis(1100), "took {:?}", start.elapsed());
    lock.release();
    assert_eq!(stored(&database_of(&program)).tasks.len(), 1, "they said that nothing was changed");
}

#[test]
fn an_idle_server_ends_within_20_ms_of_the_inputs_end() {
    let mut times = Vec::new();
    for _ in 0..20 {
        let program = Program::new();
        let mut server = with_a_store(&program, "2025-11-25");
        server.close_input();
        let (status, time) = server.wait();
        assert!(status.success());
        times.push(time);
    }
    eprintln!("end of an idle server: median {:?} of {times:?}", median(times.clone()));
    assert!(median(times.clone()) <= Duration::from_millis(20), "{times:?}");
}

#[test]
fn a_server_that_was_told_nothing_ends_with_its_input() {
    let program = Program::new();
    let mut server = program.start();
    server.close_input();
    assert!(server.next().is_none(), "nothing to say");
    assert!(server.wait().0.success());
    assert!(!program.home().join(".scorpiox").exists(), "starting has no side effects");
}

#[test]
fn a_signal_ends_an_idle_server_with_success_within_100_ms() {
    for signal in SIGNALS {
        let mut times = Vec::new();
        for _ in 0..10 {
            let program = Program::new();
            let mut server = with_a_store(&program, "2025-11-25");
            server.signal(signal);
            let (status, time) = server.wait();
            assert_eq!(status.code(), Some(0), "{signal:?}: {status}");
            times.push(time);
        }
        eprintln!("{signal:?} to an idle server: median {:?} of {times:?}", median(times.clone()));
        assert!(median(times.clone()) <= Duration::from_millis(100), "{signal:?}: {times:?}");
    }
}

#[test]
fn a_signal_ends_a_server_with_blocked_calls_with_success_within_100_ms() {
    for signal in SIGNALS {
        for blocked in [1, 64, 256] {
            let mut times = Vec::new();
            for _ in 0..3 {
                let program = Program::new();
                let mut server = with_a_store(&program, "2025-11-25");
                let lock = WriteLock::hold(&database_of(&program));
                let lines: String = (0..blocked).map(|n| create(format!("c{n}"), "a task")).collect();
                server.send_raw(lines.as_bytes());
                server.ask("ping", json!({}));
                server.signal(signal);
                let (status, time) = server.wait();
                assert_eq!(status.code(), Some(0), "{signal:?} with {blocked}: {status}");
                times.push(time);
                answers(&mut server, (0..blocked).map(|n| json!(format!("c{n}"))));
                lock.release();
            }
            eprintln!("{signal:?} with {blocked} blocked calls: {times:?}");
            assert!(median(times.clone()) <= Duration::from_millis(100), "{signal:?}, {blocked}: {times:?}");
        }
    }
}

#[test]
fn a_server_ends_when_its_client_closes_the_output() {
    // A process that another test is spawning may briefly inherit the output.
    let ended = (0..3).any(|_| {
        let program = Program::new();
        let mut server = Bare::start(&program);
        server.send(&handshake()).expect("the server reads");
        server.line().expect("an answer");
        drop(std::mem::replace(&mut server.output, closed_output()));
        // The input stays open. The server notices the closed output when it cannot write the answer.
        server.send(&request(1, "ping", json!({}))).expect("the server reads");
        server.end_within(Duration::from_secs(2)).is_some_and(|(status, _)| status.success())
    });
    assert!(ended, "nobody hears it, but it stays");
}

/// Returns the output of a process that has exited.
fn closed_output() -> std::io::BufReader<std::process::ChildStdout> {
    let mut command = std::process::Command::new("true");
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().expect("it starts");
    let output = child.stdout.take().expect("a pipe");
    child.wait().expect("a child of ours");
    std::io::BufReader::new(output)
}
