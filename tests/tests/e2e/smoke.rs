//! Tests that the program starts, answers and exits.

use scorpiox_tests::Program;
use serde_json::json;

/// Maximum memory of a server before the first call. Loading one component exceeds it, and compiling one
/// exceeds it by far.
const MAX_IDLE_KIB: u64 = 16 * 1024;

#[test]
fn nothing_is_loaded_before_it_is_used() {
    let program = Program::new();
    let mut server = program.start();
    server.initialize("2025-11-25");
    server.ask("tools/list", json!({}));
    if let Some(kib) = server.peak_kib() {
        assert!(kib < MAX_IDLE_KIB, "{kib} KiB");
    }
    let home = program.home().join(".scorpiox");
    assert!(!home.exists(), "nothing is stored before it is used");
}

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
