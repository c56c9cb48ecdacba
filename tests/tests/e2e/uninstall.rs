//! Tests of `uninstall`: removed files, kept files, and the confirmation.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use scorpiox_tests::Program;
use serde_json::json;

/// Returns a program with stored data and with a client that starts it.
fn used() -> Program {
    let program = Program::new();
    program.put("home/.scorpiox/skills/x/SKILL.md", "---\nname: x\ndescription: y\n---\n");
    program.put("home/.scorpiox/policy.toml", "version = 1\n");
    let mut server = program.start();
    server.initialize("2025-11-25");
    server.call("Bash", json!({ "command": "true" }));
    server.call("TaskManager", json!({ "action": "create", "text": "kept" }));
    drop(server);
    let (wrote, out, err) = program.run(&["config", "cursor", "--write"]);
    assert!(wrote.success(), "{out}{err}");
    // Left by a server that was killed together with its helper.
    let left = program.home().join(".scorpiox/tmp/old/inside");
    fs::create_dir_all(&left).expect("folders");
    fs::set_permissions(&left, fs::Permissions::from_mode(0o000)).expect("a mode");
    program
}

#[test]
fn nothing_goes_without_a_yes() {
    let program = used();
    let (ran, out, err) = program.run(&["uninstall"]);
    assert!(!ran.success() && err.contains("nothing was removed"), "{out}{err}");
    for words in [
        "Will remove:",
        ".scorpiox/tmp",
        "the entry in ",
        ".cursor/mcp.json",
        "Will keep (--purge",
        "(the policy)",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert!(program.home().join(".scorpiox/tmp/old").exists());
}

#[test]
fn what_was_decided_and_stored_stays_unless_it_is_asked_for() {
    let program = used();
    let own = program.home().join(".scorpiox");
    let (ran, out, err) = program.run(&["uninstall", "--yes"]);
    assert!(ran.success(), "{out}{err}");
    assert!(out.contains(&format!("\nRemoved {}.", own.join("tmp").display())), "{out}");
    assert!(!own.join("tmp").exists() && !own.join("cache").exists() && !own.join("run").exists(), "{out}");
    for name in ["policy.toml", "audit", "state", "skills"] {
        assert!(own.join(name).exists(), "{name}: {out}");
    }
    assert!(!program.home().join(".cursor/mcp.json").exists(), "an empty file is left: {out}");
    let (ran, out, err) = program.run(&["uninstall", "--purge", "--yes"]);
    assert!(ran.success() && !own.exists(), "{out}{err}");
    assert!(program.run(&["uninstall", "--purge", "--yes"]).1.contains("There is nothing to remove"));
}

#[test]
fn every_entry_is_found_from_any_folder_and_no_empty_file_is_left() {
    let program = Program::new();
    let projects = ["one", "two"].map(|name| {
        let file = program.put(&format!("home/{name}/README.md"), "");
        file.parent().expect("a folder").to_owned()
    });
    program.put("home/two/.vscode/mcp.json", "{\n  // mine\n  \"servers\": {}\n}\n");
    program.put("home/.cursor/mcp.json", r#"{"mcpServers": {"other": {"command": "x"}}}"#);
    let run = |arguments: &[&str]| {
        let (ran, out, err) = program.run(arguments);
        assert!(ran.success(), "{arguments:?}: {out}{err}");
        out
    };
    let [one, two] = projects.each_ref().map(|folder| folder.to_str().expect("Unicode"));
    run(&["--workspace", one, "config", "claude-code", "--write"]);
    run(&["--workspace", two, "config", "vscode", "--write"]);
    run(&["setup", "--client", "cursor", "--client", "codex", "--yes"]);
    let record = fs::read_to_string(program.home().join(".scorpiox/entries.json")).expect("a record");
    assert!(record.contains("one/.mcp.json") && record.contains(".codex/config.toml"), "{record}");
    // A file that the user deleted in the meantime is no problem.
    fs::remove_file(program.home().join(".codex/config.toml")).expect("removed");
    let out = run(&["uninstall", "--yes"]);
    assert!(!projects[0].join(".mcp.json").exists(), "an empty file is left: {out}");
    let kept = fs::read_to_string(projects[1].join(".vscode/mcp.json")).expect("the project's file");
    assert!(kept.contains("// mine") && !kept.contains("scorpiox"), "{kept}");
    let kept = fs::read_to_string(program.home().join(".cursor/mcp.json")).expect("the client's file");
    assert!(kept.contains("\"other\"") && !kept.contains("scorpiox"), "{kept}");
    assert!(!program.home().join(".scorpiox/entries.json").exists(), "{out}");
}
