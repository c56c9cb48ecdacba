//! Tests of a policy for all users of the machine.

mod allowed;
mod allowed_outside;
mod always;
mod approvals;
mod asked;
mod broken;
mod changed;
mod checked;
mod connections;
mod elsewhere;
mod last_good;
mod long_arguments;
mod narrowed;
mod read_before;
mod replayed;
mod repository;
mod restrictions;
mod rule_conditions;
mod rules;
mod settled;
mod suggested;
mod unknown_hosts;
mod weaken;
mod wishes;

use scorpiox_tests::{Program, Started};
use serde_json::json;

/// Policy that denies files and tools, and records each use.
const CLOSED: &str = "version = 1\n\
    [shell.profile.workspace]\nread = [\"@system\"]\ndeny = [\"**/.env*\", \"**/secret\"]\n\
    [web]\nenabled = false\n[files]\ndeny = [\"**/.env*\", \"**/secret\"]\n\
    [tools]\ndeny = [\"WebSearch\"]\n[plugins]\nallow = []\n[audit]\nrequired = true\n";

/// Returns the policy, restricted to the program's workspace.
fn closed(program: &Program) -> String {
    format!("{CLOSED}[workspaces]\nallow = [\"{}\"]\n", program.workspace().display())
}

const SECRET: &str = "the-secret-itself";

/// Returns a program with files to protect inside and outside of its workspace.
fn program() -> Program {
    let program = Program::new();
    program.put("workspace/secret", SECRET);
    program.put("outside/secret", SECRET);
    program.put("outside/notes", SECRET);
    let own = program.home().join(".scorpiox").display().to_string();
    program.put("home/.scorpiox/note", "");
    program.with("SCORPIOX_HOME", &own)
}

/// Returns the text of a call's result or of its error.
fn told(server: &mut Started, tool: &str, arguments: serde_json::Value) -> String {
    let answer = server.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
    match answer["error"]["message"].as_str() {
        Some(message) => message.to_owned(),
        None => answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
    }
}
