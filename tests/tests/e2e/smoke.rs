//! The program starts, answers and ends.

use scorpiox_tests::Program;
use serde_json::json;

#[test]
fn a_session_from_handshake_to_end() {
    let program = Program::new();
    let mut server = program.start();
    let hello = server.initialize("2025-11-25");
    assert_eq!(hello["serverInfo"]["name"], "scorpiox-code");
    let text = server.text("PlanMode", json!({ "action": "status" }));
    assert_eq!(text, "Plan mode is not active.");
    server.close_input();
    let (status, time) = server.wait();
    assert!(status.success());
    assert!(time.as_millis() < 500, "took {time:?}");
}
