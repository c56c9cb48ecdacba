//! Tests of asynchronous functions: their limits on time, memory and output, and the tasks that they leave
//! behind.

use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use serde_json::json;

use super::{newer, try_to};

/// Bound of a call that is stopped after a second of its own work. A busy machine gives it a fraction of a
/// processor.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn calls_that_wait_and_work_too_long_are_stopped() {
    let (_program, mut server) = newer(Program::new(), "[limits]\nwait_seconds = 1\n");
    let late = try_to(&mut server, "wait-for-ever", json!({})).expect_err("it is stopped");
    assert!(late.contains("waited for more than 1 s"), "{late}");
    let (_program, mut server) = newer(Program::new(), "[limits]\ncpu_seconds = 1\n");
    let busy = try_to(&mut server, "spin", json!({})).expect_err("it is stopped");
    assert!(busy.contains("used up its 1 s of processor time"), "{busy}");
    let hoard = try_to(&mut server, "hoard", json!({})).expect_err("it is stopped");
    assert!(hoard.contains("failed internally"), "{hoard}");
    assert_eq!(try_to(&mut server, "sleep", json!({"milliseconds": 1})), Ok(json!(1)));
}

#[test]
fn a_call_that_waits_can_be_cancelled() {
    let (_program, mut server) = newer(Program::new(), "[limits]\nwait_seconds = 600\n");
    let id = server.request("tools/call", json!({"name": "newer.wait-for-ever", "arguments": {}}));
    // Answered while the other call waits.
    assert_eq!(try_to(&mut server, "folders", json!({})), Ok(json!(["/"])));
    server.notify("notifications/cancelled", json!({ "requestId": id }));
    assert_eq!(try_to(&mut server, "folders", json!({})), Ok(json!(["/"])));
    let begun = Instant::now();
    server.close_input();
    let (status, _) = server.wait();
    assert!(status.success() && begun.elapsed() < Duration::from_secs(2), "{status} {:?}", begun.elapsed());
}

#[test]
fn a_call_that_a_changed_policy_ends_says_so() {
    let (program, mut server) = newer(Program::new(), "[limits]\nwait_seconds = 600\n");
    let id = server.request("tools/call", json!({"name": "newer.wait-for-ever", "arguments": {}}));
    // Answered while the other call waits.
    assert_eq!(try_to(&mut server, "folders", json!({})), Ok(json!(["/"])));
    program.put("home/.scorpiox/policy.toml", "version = 1\n[tools]\ndeny = [\"WebSearch\"]\n");
    server.request("tools/call", json!({"name": "newer.folders", "arguments": {}}));
    let ended = server.answer(id).to_string();
    assert!(ended.contains("the policy was changed while it ran"), "{ended}");
}

#[test]
fn a_stream_that_the_host_pipes_by_itself_has_the_calls_limits() {
    let limits = "[capabilities.files]\nwhy = \"writes\"\nwrite = [\"workspace\"]\n\
                  [limits]\ncpu_seconds = 1\n";
    let (_program, mut server) = newer(Program::new(), limits);
    let begun = Instant::now();
    let flood = json!({"path": "zeros", "bytes": 1_u64 << 40});
    let busy = try_to(&mut server, "flood", flood).expect_err("it is stopped");
    assert!(busy.contains("used up its 1 s of processor time"), "{busy}");
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    assert_eq!(try_to(&mut server, "flood", json!({"path": "few", "bytes": 10})), Ok(json!(null)));
}

#[test]
fn a_result_stays_whatever_goes_on_after_it_and_nothing_outlives_the_call() {
    let limits = "[limits]\nwait_seconds = 600\ncpu_seconds = 1\n";
    let (_program, mut server) = newer(Program::new(), limits);
    for how in ["waits", "sleeps", "prints", "traps", "spins", "nothing"] {
        let begun = Instant::now();
        assert_eq!(try_to(&mut server, "linger", json!({ "how": how })), Ok(json!(how)));
        assert!(begun.elapsed() < PATIENCE, "{how}: {:?}", begun.elapsed());
    }
    let begun = Instant::now();
    server.close_input();
    let (status, _) = server.wait();
    assert!(status.success() && begun.elapsed() < Duration::from_secs(2), "{status} {:?}", begun.elapsed());
}

#[test]
fn what_is_printed_is_for_the_operator() {
    let (program, _server) = newer(Program::new().with("SCORPIOX_LOG", "info"), "");
    let arguments = json!({"text": "a line\nanother"}).to_string();
    let (status, out, said) = program.run(&["call", "newer.print", &arguments]);
    assert!(status.success() && !out.contains("a line"), "{out}{said}");
    assert!(said.contains(" INFO plugin/newer: a line") && said.contains("plugin/newer: another"), "{said}");
    let (_, _, said) = program.run(&["call", "newer.linger", &json!({"how": "prints"}).to_string()]);
    assert!(said.contains("plugin/newer: printed after its result"), "{said}");
    let (status, out, _) = program.run(&["call", "newer.leave", &json!({"code": 3}).to_string()]);
    assert!(!status.success() && out.contains("the tool ended itself with exit code 3"), "{out}");
}

#[test]
fn bytes_that_come_as_a_stream_are_a_result_up_to_its_limit() {
    let (_program, mut server) = newer(Program::new(), "[limits]\noutput_kib = 64\n");
    let mut go = |function: &str, arguments| try_to(&mut server, function, arguments);
    assert_eq!(go("bytes", json!({"count": 3})), Ok(json!("YWFh")));
    assert_eq!(go("bytes", json!({"count": 0})), Ok(json!("")));
    assert_eq!(go("bytes-or", json!({"count": 3})), Ok(json!("YWFh")));
    assert_eq!(go("bytes-or", json!({})), Err("no bytes today".to_owned()));
    let many = go("bytes", json!({"count": 1_000_000_000_u64})).expect_err("too many");
    assert!(many.contains("bytes gave a stream of more than 65536 bytes"), "{many}");
    assert_eq!(go("bytes", json!({"count": 1})), Ok(json!("YQ==")));
}
