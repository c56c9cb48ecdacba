//! Tests of standard error: silent in a normal session, limited under errors, and never blocking.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use scorpiox_tests::Program;
use serde_json::json;

use super::support::{Bare, WriteLock, call, create, database_of, handshake, request, session, settled};

/// Maximum number of bytes that a flood may write to standard error within the ten seconds of a window.
const MOST_BYTES: usize = 64 * 1024;

#[test]
fn a_normal_session_writes_nothing_to_standard_error() {
    let program = Program::new();
    let mut input = handshake() + &request(1, "ping", json!({})) + &request(2, "tools/list", json!({}));
    input += &create(3, "a task");
    input += &call(4, "TaskManager", json!({ "action": "add", "text": "a step" }));
    input += &call(5, "TaskManager", json!({ "action": "complete", "step_id": 1 }));
    input += &call(6, "TaskManager", json!({ "action": "list", "query": "task" }));
    input += &call(7, "PlanMode", json!({ "action": "enter", "goal": "a goal" }));
    input += &call(8, "PlanMode", json!({ "action": "reset" }));
    let callback = json!({ "action": "set", "message": "later", "delay_seconds": 3600 });
    input += &call(9, "SetCallback", callback);
    input += &call(10, "SetCallback", json!({ "action": "cancel" }));
    // Mistakes of a model are not logged either.
    input += &call(11, "TaskManager", json!({ "action": "nonsense" }));
    input += &call(12, "TaskManager", json!({ "action": "complete", "task_id": 999 }));
    input += &call(13, "InvokeSkill", json!({ "skill_name": "none" }));
    input += &call(14, "NoSuchTool", json!({}));
    input += &request(15, "no/such/method", json!({}));
    input += "not JSON\n";
    let (messages, errors, status) = session(&program, &input);
    assert_eq!(messages.len(), 17);
    assert_eq!(errors, "");
    assert!(status.success());
}

/// Returns a program whose tool calls all produce a warning.
fn with_a_damaged_database() -> Program {
    let program = Program::new();
    let (_, _, status) = session(&program, &(handshake() + &create(1, "a task")));
    assert!(status.success());
    let file = database_of(&program);
    settled(&file, |_| {});
    std::fs::write(file, "no database ".repeat(1000)).expect("it is overwritten");
    program
}

#[test]
fn a_flood_of_warnings_is_limited() {
    let program = with_a_damaged_database();
    let calls: String = (0..2000).map(|id| create(id, "x")).collect();
    let (messages, errors, status) = session(&program, &(handshake() + &calls));
    assert_eq!(messages.len(), 2001);
    assert!(status.success());
    assert!(errors.contains("is damaged"), "one warning at least: {errors}");
    assert!(errors.lines().count() <= 101, "{} lines", errors.lines().count());
    assert!(errors.len() <= MOST_BYTES, "{} bytes", errors.len());
}

#[test]
fn a_flood_in_the_debug_log_is_limited() {
    let program = Program::new().with("SCORPIOX_LOG", "debug");
    let line = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\"}\n";
    let (messages, errors, status) = session(&program, &(handshake() + &line.repeat(5000)));
    assert_eq!(messages.len(), 1);
    assert!(status.success());
    assert!(errors.contains("is ignored"), "the log says something: {errors}");
    assert!(errors.lines().count() <= 101, "{} lines", errors.lines().count());
}

#[test]
fn a_cancelled_call_writes_nothing_to_standard_error() {
    let program = Program::new();
    let (_, _, status) = session(&program, &(handshake() + &create(1, "first")));
    assert!(status.success());
    let lock = WriteLock::hold(&database_of(&program));
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    let (messages, errors, status) =
        session(&program, &format!("{}{}{cancel}\n", handshake(), create(2, "second")));
    lock.release();
    assert_eq!(messages.len(), 1, "the handshake only: {messages:?}");
    assert_eq!(errors, "");
    assert!(status.success());
}

#[test]
fn a_client_that_never_reads_standard_error_gets_its_answers() {
    let program = with_a_damaged_database();
    let mut command = program.command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let errors = child.stderr.take().expect("a pipe");
    // A pipe holds 64 KiB by default. A smaller one is full after a few dozen warnings.
    rustix::pipe::fcntl_setpipe_size(&errors, 4096).expect("a smaller pipe");
    let input = child.stdin.take();
    let output = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    let mut server = Bare { child, input, output };
    let calls: String = (0..100).map(|id| create(id, "x")).collect();
    let mut pipe = server.input.take().expect("open");
    let input = handshake() + &calls;
    pipe.write_all(input.as_bytes()).expect("the calls fit in the pipe, and their answers in the other");
    drop(pipe);
    let end = server.end_within(Duration::from_secs(5));
    assert!(end.is_some(), "the server waits for a reader of its standard error");
    assert_eq!(server.rest().len(), 101);
    drop(errors);
}
