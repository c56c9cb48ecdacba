//! What the tests of the web share.

use scorpiox_tests::{Program, Served, Started};
use serde_json::Value;

/// The policy that lets a test's own site be reached, and more of it.
pub fn program(policy: &str) -> Program {
    let program = Program::new();
    let text = format!("version = 1\n[web]\nallow_private = [\"127.0.0.1/32\"]\n{policy}");
    program.put("home/.scorpiox/policy.toml", text);
    program
}

/// A server after its handshake.
pub fn start(program: &Program) -> Started {
    let mut server = program.start();
    server.initialize("2025-11-25");
    server
}

/// A server that keeps its folders, after its handshake.
pub fn serve(program: Program) -> Served {
    let mut server = program.serve();
    server.initialize("2025-11-25");
    server
}

/// The text of a call that must have failed.
#[track_caller]
pub fn failure(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().expect("a text")
}

/// The text of a call that must have succeeded.
#[track_caller]
pub fn success(result: &Value) -> &str {
    assert_eq!(result["isError"], false, "{result}");
    result["content"][0]["text"].as_str().expect("a text")
}
