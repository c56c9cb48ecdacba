//! Tests of `config --write`: files of a project, and the location of the program that clients would start.

use std::fs;
use std::process::Stdio;

use scorpiox_tests::program::{binary, unwrapped};
use scorpiox_tests::{Canonical as _, Program};
use serde_json::{Value, json};

/// Returns the entry in a project's file.
fn entry(program: &Program) -> Value {
    let text = fs::read_to_string(program.workspace().join(".mcp.json")).expect("the file");
    serde_json::from_str::<Value>(&text).expect("JSON")["mcpServers"]["scorpiox"].clone()
}

#[test]
fn what_a_repository_says_of_this_program_is_not_adopted() {
    let program = Program::new();
    let brought = json!({"mcpServers": {"scorpiox": {
        "command": binary(), "args": ["--workspace", "/"],
        "env": {"LD_PRELOAD": ".x/e.so", "SCORPIOX_HOME": ".x/home", "A\u{1b}[2J\n": "1"},
    }}});
    program.put("workspace/.mcp.json", brought.to_string());
    let (status, out, err) = program.run(&["config", "claude-code", "--write"]);
    assert!(!status.success() && out.is_empty(), "{out}{err}");
    for part in ["args: [\"--workspace\",\"/\"]", "LD_PRELOAD", ".x/home", "--existing replace"] {
        assert!(err.contains(part), "{part}: {err}");
    }
    assert!(!err.contains('\u{1b}'), "{err}");
    assert_eq!(entry(&program), brought["mcpServers"]["scorpiox"]);

    let (status, _, err) = program.run(&["config", "claude-code", "--write", "--existing", "keep"]);
    assert!(!status.success() && err.contains("env LD_PRELOAD, env SCORPIOX_HOME"), "{err}");
    assert_eq!(entry(&program), brought["mcpServers"]["scorpiox"]);

    let (status, out, err) = program.run(&["config", "claude-code", "--write", "--existing", "replace"]);
    assert!(status.success() && out.starts_with("updated ") && out.contains("(before: "), "{out}{err}");
    assert_eq!(entry(&program), json!({"command": binary(), "args": [], "alwaysLoad": true}));
}

#[test]
fn what_a_person_set_for_this_program_stays_and_is_said() {
    let program = Program::new();
    let own = json!({"mcpServers": {"scorpiox": {"command": "/old", "env": {"TOOL_BASH": "0"}}}});
    let path = program.put("home/.cursor/mcp.json", own.to_string());
    let (status, out, err) = program.run(&["config", "cursor", "--write"]);
    assert!(status.success() && out.contains("\n  env: {\"TOOL_BASH\":\"0\"}\n"), "{out}{err}");
    let written: Value = serde_json::from_str(&fs::read_to_string(path).expect("the file")).expect("JSON");
    assert_eq!(written["mcpServers"]["scorpiox"]["env"], json!({"TOOL_BASH": "0"}));
}

#[test]
fn no_client_is_told_to_start_a_program_that_commands_can_exchange() {
    let program = Program::new().with_own_binary();
    let folder = program.home().join("../bin").canonical();
    let workspace = folder.to_str().expect("Unicode");
    let (status, out, err) = program.run(&["--workspace", workspace, "config", "cursor", "--write"]);
    assert!(!status.success() && out.is_empty(), "{out}{err}");
    assert!(err.contains("can be changed by commands") && err.contains("make install"), "{err}");
    assert!(!program.home().join(".cursor").exists());
    // From another project, the program's location is acceptable.
    let (status, out, err) = program.run(&["config", "cursor", "--write"]);
    assert!(status.success(), "{out}{err}");
    let (status, out, _) = program.run(&["--workspace", workspace, "doctor"]);
    assert!(!status.success() && out.contains("FAIL  clients must not start this program"), "{out}");
    // Unless commands could already have written there: `doctor` ran one.
    let (status, _, err) = program.run(&["config", "codex", "--write"]);
    assert!(!status.success() && err.contains("can be changed by commands"), "{err}");
}

#[test]
fn where_no_project_is_no_file_of_one_is_written() {
    let program = Program::new();
    let run = |arguments: &[&str]| {
        let mut command = program.command();
        let output = command.args(arguments).current_dir(program.home()).stdin(Stdio::null()).output();
        let output = output.expect("the program runs");
        let text = |bytes: Vec<u8>| unwrapped(&String::from_utf8(bytes).expect("UTF-8"));
        (output.status.success(), text(output.stdout), text(output.stderr))
    };
    let (succeeds, _, err) = run(&["config", "claude-code", "--write"]);
    assert!(!succeeds && err.contains("is no project, and this client reads .mcp.json"), "{err}");
    assert!(!program.home().join(".scorpiox/workspace/.mcp.json").exists());
    // A file of the person is none of a project.
    assert!(run(&["config", "cursor", "--write"]).0);
    let (succeeds, out, err) = run(&["call", "PlanMode", "action=status"]);
    assert!(succeeds && out.contains("not active"), "{out}");
    assert!(
        err.contains("is no project; the call works in ") && err.contains(".scorpiox/workspace."),
        "{err}"
    );
}

#[test]
fn a_call_says_how_it_is_written_and_starts_no_task_that_ends_with_it() {
    let program = Program::new();
    let (_, out, err) = program.run(&["call", "Bash"]);
    assert!(out.contains("command is missing") && err.contains("call Bash command='echo hi'"), "{out}{err}");
    let (_, _, err) = program.run(&["call", "Bash", "echo hi"]);
    assert!(err.contains("write the arguments like command='echo hi'"), "{err}");
    let (status, out, err) = program.run(&["call", "BackgroundBash", "command=true"]);
    assert!(!status.success() && out.is_empty() && err.contains("ends with its server"), "{out}{err}");
}
