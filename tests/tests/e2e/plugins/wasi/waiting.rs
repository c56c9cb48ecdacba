//! Tests that waiting is bounded and can be cancelled.

use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use serde_json::json;

use super::{outsider, try_to};

#[test]
fn sleep_is_real_and_not_of_the_processor_time() {
    let (_program, mut server) = outsider(Program::new(), "[limits]\ncpu_seconds = 1\n");
    let begun = Instant::now();
    assert_eq!(try_to(&mut server, "sleep", json!({"milliseconds": 1500})), Ok(json!(null)));
    assert!(begun.elapsed() >= Duration::from_millis(1500));
}

#[test]
fn nobody_waits_for_longer_than_approved() {
    let (_program, mut server) = outsider(Program::new(), "[limits]\nwait_seconds = 1\n");
    let late = try_to(&mut server, "wait-for-ever", json!({})).expect_err("it is stopped");
    assert!(late.contains("waited for more than 1 s"), "{late}");
}

#[test]
fn a_call_that_waits_can_be_cancelled() {
    let (_program, mut server) = outsider(Program::new(), "[limits]\nwait_seconds = 600\n");
    let id = server.request("tools/call", json!({"name": "outsider.wait-for-ever", "arguments": {}}));
    // Answered while the other call waits.
    assert_eq!(try_to(&mut server, "folders", json!({})), Ok(json!(["/"])));
    server.notify("notifications/cancelled", json!({ "requestId": id }));
    assert_eq!(try_to(&mut server, "folders", json!({})), Ok(json!(["/"])));
    let begun = Instant::now();
    server.close_input();
    let (status, _) = server.wait();
    assert!(status.success() && begun.elapsed() < Duration::from_secs(1), "{status} {:?}", begun.elapsed());
}

#[test]
fn the_server_ends_although_a_call_waits() {
    let (_program, mut server) = outsider(Program::new(), "[limits]\nwait_seconds = 600\n");
    server.request("tools/call", json!({"name": "outsider.wait-for-ever", "arguments": {}}));
    assert_eq!(try_to(&mut server, "folders", json!({})), Ok(json!(["/"])));
    let begun = Instant::now();
    server.close_input();
    let (status, _) = server.wait();
    assert!(status.success() && begun.elapsed() < Duration::from_secs(2), "{status} {:?}", begun.elapsed());
}
