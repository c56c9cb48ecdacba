//! Tests of lines at the limit of 16 MiB and far beyond it.

use std::time::{Duration, Instant};

use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::support::{MAX_RSS, create, mebibytes, memory, refusal};

/// Maximum length of a line without its terminator.
const LIMIT: usize = 16 * 1024 * 1024;

fn started(program: &Program) -> Started {
    let mut server = program.start();
    server.initialize("2025-11-25");
    server
}

fn peak(server: &Started) -> u64 {
    memory(rustix::process::Pid::from_child(&server.child)).1
}

/// Returns a request of exactly `length` bytes without its terminator, which is too long for its tool.
fn request_of(length: usize) -> Vec<u8> {
    let around = create("long", "").trim_end().len();
    let line = create("long", &"x".repeat(length - around)).trim_end().as_bytes().to_vec();
    assert_eq!(line.len(), length);
    line
}

fn assert_refused(answer: &Value) {
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)), "{answer}");
}

/// Asserts that the line after a long one is processed normally.
fn assert_goes_on(server: &mut Started) {
    assert_eq!(server.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn a_line_of_a_gigabyte_is_discarded_as_it_streams_in_and_answered_once() {
    const CHUNKS: usize = 1024;
    let program = Program::new();
    let mut server = started(&program);
    let chunk = vec![b'x'; 1024 * 1024];
    let start = Instant::now();
    for _ in 0..CHUNKS {
        server.send_raw(&chunk);
    }
    server.send_raw(b"\n");
    assert_refused(&server.next().expect("an answer"));
    let time = start.elapsed();
    assert_goes_on(&mut server);
    let peak = peak(&server);
    eprintln!("a line of 1 GiB: answered after {time:?}, memory at most {}", mebibytes(peak));
    assert!(peak < MAX_RSS, "{}", mebibytes(peak));
    assert!(time < Duration::from_secs(10), "took {time:?}");
    server.text("TaskManager", json!({ "action": "create", "text": "afterwards" }));
    server.close_input();
    assert!(server.next().is_none(), "answered once");
    assert!(server.wait().0.success());
}

#[test]
fn a_line_of_64_mib_that_the_end_cuts_off_is_answered_once() {
    let program = Program::new();
    let mut server = started(&program);
    let chunk = vec![b'{'; 1024 * 1024];
    for _ in 0..64 {
        server.send_raw(&chunk);
    }
    server.close_input();
    assert_refused(&server.next().expect("an answer"));
    assert!(server.next().is_none(), "answered once");
    assert!(server.wait().0.success());
}

/// Sends lines at the limit and one byte beyond it, each with this terminator.
fn assert_the_limit_is_16_mib(end: &str) {
    let program = Program::new();
    let mut server = started(&program);
    let mut line = request_of(LIMIT);
    line.extend_from_slice(end.as_bytes());
    server.send_raw(&line);
    let answer = server.next().expect("an answer");
    assert_eq!(answer["id"], "long", "{answer}");
    let text = refusal(&answer);
    assert!(
        text.contains("at most 500") || text.contains("64 MiB of memory"),
        "says what is too much: {text}"
    );
    assert_goes_on(&mut server);
    let mut line = request_of(LIMIT + 1);
    line.extend_from_slice(end.as_bytes());
    server.send_raw(&line);
    assert_refused(&server.next().expect("an answer"));
    assert_goes_on(&mut server);
    eprintln!("lines of 16 MiB with the end {end:?}: memory at most {}", mebibytes(peak(&server)));
    server.text("TaskManager", json!({ "action": "create", "text": "afterwards" }));
    server.close_input();
    assert!(server.next().is_none(), "each was answered once");
}

#[test]
fn a_line_of_16_mib_is_read_and_one_byte_more_is_not() {
    assert_the_limit_is_16_mib("\n");
}

#[test]
fn a_carriage_return_at_the_end_does_not_count_as_part_of_a_line_of_16_mib() {
    assert_the_limit_is_16_mib("\r\n");
}

#[test]
fn many_long_lines_leave_no_memory_behind() {
    let program = Program::new();
    let mut server = started(&program);
    let mut line = request_of(4 * 1024 * 1024);
    line.push(b'\n');
    for _ in 0..60 {
        server.send_raw(&line);
        refusal(&server.next().expect("an answer"));
    }
    let (now, most) = memory(rustix::process::Pid::from_child(&server.child));
    eprintln!("60 lines of 4 MiB: memory at most {}, {} now", mebibytes(most), mebibytes(now));
    assert!(most < 2 * MAX_RSS, "{}", mebibytes(most));
}
