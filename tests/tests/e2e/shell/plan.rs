//! Tests of plan mode, in which commands cannot change anything.

use std::fs;
use std::time::Duration;

use scorpiox_tests::{Program, Started};
use serde_json::json;

use super::support::{Ran, background, bash, comes_true, in_each_tier, read_until, start, with_policy};

#[test]
fn commands_read_and_change_nothing_while_a_plan_is_made() {
    in_each_tier(|program, server| {
        let kept = program.put("workspace/sub/file", "kept");
        server.text("PlanMode", json!({ "action": "enter", "goal": "find the fault" }));
        let ran = bash(
            server,
            "cat sub/file; echo changed > sub/file; rm sub/file; touch sub/new; mkdir sub/more; mv sub/file sub/x",
        );
        assert!(ran.output().starts_with("kept"), "{}", ran.text);
        assert!(ran.is_error);
        assert_eq!(ran.data["profile"], "readonly");
        assert!(ran.text.contains("Plan mode is active (\"find the fault\")"), "{}", ran.text);
        assert!(ran.text.contains("PlanMode"), "it says how to leave: {}", ran.text);
        let task = background(
            server,
            "echo changed > sub/file; echo changed > sub/new; cat sub/file; echo; echo end",
        );
        assert!(read_until(server, task, "end").contains("kept\nend"));
        assert_eq!(fs::read_to_string(&kept).expect("a file"), "kept");
        assert_eq!(fs::read_dir(program.workspace().join("sub")).expect("a folder").count(), 1);
        // Temporary space remains available.
        assert_eq!(bash(server, "echo x > $TMPDIR/x && cat $TMPDIR/x").succeeded(), "x\n");
        server.text("PlanMode", json!({ "action": "exit" }));
        let ran = bash(server, "echo changed > sub/file");
        assert_eq!((ran.is_error, &ran.data["profile"]), (false, &json!("workspace")), "{}", ran.text);
        assert_eq!(fs::read_to_string(&kept).expect("a file"), "changed\n");
    });
}

#[test]
fn a_plan_takes_the_network_away_and_what_is_denied_stays_denied() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    listener.set_nonblocking(true).expect("a mode");
    let port = listener.local_addr().expect("an address").port();
    let program = with_policy(
        Program::new(),
        "[shell.profile.workspace]\nnetwork = { mode = \"open\" }\ndeny = [\"**/*.key\"]\n",
    );
    program.put("workspace/private.key", "SECRET");
    let mut server = start(&program);
    let command = format!("(echo > /dev/tcp/127.0.0.1/{port}) 2>&1; cat private.key; true");
    assert!(!bash(&mut server, &command).text.contains("SECRET"));
    listener.accept().expect("outside of a plan it connects");
    server.text("PlanMode", json!({ "action": "enter", "goal": "look" }));
    let ran = bash(&mut server, &command);
    assert!(!ran.text.contains("SECRET"), "{}", ran.text);
    assert!(listener.accept().is_err(), "{}", ran.text);
}

#[test]
fn without_a_sandbox_a_plan_refuses_commands() {
    let program =
        with_policy(super::support::in_tier("T2"), "[shell]\nmin_tier = \"T1\"\nallow_unsandboxed = true\n");
    let mut server = start(&program);
    let ran = bash(&mut server, "echo ran");
    assert_eq!((ran.succeeded(), &ran.data["tier"]), ("ran\n", &json!("none")));
    server.text("PlanMode", json!({ "action": "enter", "goal": "look" }));
    for tool in ["Bash", "BackgroundBash"] {
        let result = server.call(tool, json!({ "command": "touch changed" }));
        assert!(Ran::of(&result).refused().contains("no sandbox"), "{result}");
    }
    assert!(!program.workspace().join("changed").exists());
}

#[test]
fn another_server_of_the_workspace_keeps_to_the_plan() {
    let program = Program::new();
    let (mut one, mut other) = (start(&program), start(&program));
    bash(&mut other, "true");
    one.text("PlanMode", json!({ "action": "enter", "goal": "look" }));
    assert_eq!(bash(&mut other, "touch changed").data["profile"], "readonly");
    assert!(!program.workspace().join("changed").exists());
}

#[test]
fn commands_that_began_before_a_plan_are_named_with_how_to_end_them() {
    let program = Program::new();
    let mut server = start(&program);
    let task = background(&mut server, "while :; do date >> file; sleep 0.05; done");
    let ended = background(&mut server, "true");
    read_until(&mut server, ended, "nothing is printed");
    let entered = server.text("PlanMode", json!({ "action": "enter", "goal": "look" }));
    for piece in
        [format!("task {task}, running for "), "while :; do date".to_owned(), "KillBgTask".to_owned()]
    {
        assert!(entered.contains(&piece), "{piece}: {entered}");
    }
    assert!(!entered.contains(&format!("task {ended},")), "{entered}");
    let result = server.call("PlanMode", json!({ "action": "status" }));
    assert!(
        result["content"][0]["text"].as_str().expect("a text").contains(&format!("task {task},")),
        "{result}"
    );
    let data = server.text("PlanMode", json!({ "action": "json" }));
    assert!(serde_json::from_str::<serde_json::Value>(&data).is_ok(), "{data}");
    // A command that starts during plan mode cannot change anything.
    background(&mut server, "sleep 30");
    server.call("KillBgTask", json!({ "task_id": task }));
    let status = server.text("PlanMode", json!({ "action": "status" }));
    assert!(!status.contains("KillBgTask"), "{status}");
}

#[test]
fn commands_of_the_foreground_and_of_other_servers_are_named_while_they_run() {
    let program = Program::new();
    let (mut one, mut other) = (start(&program), start(&program));
    let running = |server: &mut Started, name: &str| {
        let command = format!("touch {name}; sleep 300");
        let id = server.request("tools/call", json!({ "name": "Bash", "arguments": { "command": command } }));
        let made = program.workspace().join(name);
        assert!(comes_true(Duration::from_secs(20), || made.exists()), "{name} does not run");
        id
    };
    let own = running(&mut one, "own");
    running(&mut other, "others");
    background(&mut other, "sleep 301");
    let entered = one.text("PlanMode", json!({ "action": "enter", "goal": "look" }));
    let lines: Vec<_> = entered.lines().filter(|line| line.starts_with("- ")).collect();
    let of_other = format!("- of the server with process {}, running for ", other.child.id());
    let named = |begin: &str, command: &str| {
        let line = lines.iter().find(|line| line.starts_with(begin) && line.ends_with(command));
        assert!(line.is_some(), "{begin} … {command}: {entered}");
    };
    named("- in the foreground, running for ", ": touch own; sleep 300");
    named(&of_other, ": touch others; sleep 300");
    named(&of_other, ": sleep 301");
    assert_eq!(lines.len(), 3, "{entered}");
    // A command that has ended is not listed, regardless of how it ended.
    one.notify("notifications/cancelled", json!({ "requestId": own }));
    other.kill();
    let nothing_runs = comes_true(Duration::from_secs(20), || {
        !one.text("PlanMode", json!({ "action": "status" })).contains("may still change")
    });
    assert!(nothing_runs);
}
