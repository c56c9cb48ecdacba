//! Shared support for the web tests.

use scorpiox_tests::{Program, Served, Started};
use serde_json::Value;

/// Returns a program whose policy allows the local test site, followed by `policy`.
pub fn program(policy: &str) -> Program {
    let program = Program::new();
    let text = format!("version = 1\n[web]\nallow_private = [\"127.0.0.1/32\"]\n{policy}");
    program.put("home/.scorpiox/policy.toml", text);
    program
}

/// Returns a server after its handshake.
pub fn start(program: &Program) -> Started {
    let mut server = program.start();
    server.initialize("2025-11-25");
    server
}

/// Returns a server that keeps its directories alive, after its handshake.
pub fn serve(program: Program) -> Served {
    let mut server = program.serve();
    server.initialize("2025-11-25");
    server
}

/// Returns the text of a call that must have failed.
#[track_caller]
pub fn failure(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().expect("a text")
}

/// Returns the text of a call that must have succeeded.
#[track_caller]
pub fn success(result: &Value) -> &str {
    assert_eq!(result["isError"], false, "{result}");
    result["content"][0]["text"].as_str().expect("a text")
}
