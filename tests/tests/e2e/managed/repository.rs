//! Tests of a repository's own `.scorpiox/policy.toml`.

use std::fs;
use std::os::unix::fs::symlink;
use std::thread;
use std::time::Duration;

use scorpiox_tests::program::unwrapped;
use scorpiox_tests::{Program, Started};
use serde_json::json;

use super::told;
use crate::audit::lines;

const FILE: &str = "workspace/.scorpiox/policy.toml";
const NO_TASKS: &str = "version = 1\n[tools]\ndeny = [\"TaskManager\"]\n";

/// Replaces the repository's file as a checkout does.
fn put(program: &Program, text: &str) {
    program.put("workspace/.scorpiox/.keep", "");
    let new = program.put("workspace/policy.new", text);
    fs::rename(new, program.workspace().join(".scorpiox/policy.toml")).expect("renamed");
}

fn started(program: &Program) -> Started {
    let mut server = program.start();
    server.initialize("2025-11-25");
    server.notify("notifications/initialized", json!({}));
    server
}

fn list(server: &mut Started) -> String {
    told(server, "TaskManager", json!({ "action": "list" }))
}

fn bash(server: &mut Started, command: &str) -> String {
    told(server, "Bash", json!({ "command": command }))
}

#[test]
fn a_repository_narrows_from_the_next_call_on() {
    let program = Program::new();
    program.put("workspace/finance/a", "secret");
    let mut server = started(&program);
    assert!(list(&mut server).contains("There are no tasks"));
    put(&program, &format!("{NO_TASKS}[shell.profile.workspace]\ndeny = [\"finance/\"]\n"));
    let refused = list(&mut server);
    assert!(
        refused.contains("`deny` of [tools] (the repository's .scorpiox/policy.toml line 3)"),
        "{refused}"
    );
    let shown = bash(&mut server, "cat finance/a; echo \"exit $?\"");
    assert!(!shown.contains("secret") && shown.contains("exit 1"), "{shown}");
    // Its own file is protected: a command neither changes nor moves it.
    for command in [
        "echo version = 1 > .scorpiox/policy.toml",
        "rm .scorpiox/policy.toml",
        "mv .scorpiox other",
        "mv finance/../.scorpiox/policy.toml x",
        "rm -rf .scorpiox",
    ] {
        bash(&mut server, command);
        assert!(list(&mut server).contains("repository's"), "{command}");
    }
    fs::remove_file(program.workspace().join(".scorpiox/policy.toml")).expect("removed");
    assert!(list(&mut server).contains("There are no tasks"));
    let lines = lines(&program, 3);
    let hash = |index: usize| lines[index]["policy"].as_str().expect("a hash").to_owned();
    assert_eq!(hash(0), "built-in");
    assert!(lines[1]["tool"] == "changed policy" && hash(1).len() == 64, "{lines:?}");
}

#[test]
fn a_command_cannot_make_the_file() {
    let program = Program::new();
    let mut server = started(&program);
    for command in [
        "mkdir .scorpiox",
        "mkdir a && touch a/policy.toml && mv a .scorpiox",
        "ln -s a .scorpiox",
        "git init -q b 2>/dev/null; mv b .scorpiox",
    ] {
        bash(&mut server, command);
        assert!(program.workspace().join(".scorpiox").symlink_metadata().is_err(), "{command}");
    }
}

#[test]
fn a_broken_file_refuses_every_tool_in_its_workspace_with_the_line() {
    let program = Program::new();
    let mut server = started(&program);
    assert!(bash(&mut server, "echo yes").starts_with("yes"));
    for (text, says) in [
        ("version = 1\n[tools]\ndeny = 3\n", "policy.toml line 3: `deny` in [tools] is the integer 3"),
        ("version = 1\n[audit]\nenabled = false\n", "line 2: key `audit` cannot be in a repository's file"),
        (
            "version = 1\n[[rules]]\nname = \"a\\u202eb\"\n",
            "line 3: \"a\\u{202e}b\" has the character U+202E",
        ),
        (&"#".repeat((64 << 10) + 1), "is larger than 64 KiB"),
    ] {
        put(&program, text);
        for refused in [bash(&mut server, "echo no"), list(&mut server)] {
            let begin =
                "All tools are refused in this workspace until its policy is corrected: the repository's ";
            assert!(refused.contains(begin) && refused.contains(says), "{refused}");
        }
        let (status, _, err) = program.run(&["policy", "check"]);
        assert!(status.code() == Some(2) && err.contains(says), "{err}");
        let (status, out, _) = program.run(&["policy", "why", "tool", "Bash"]);
        assert!(status.code() == Some(1) && out.contains(says), "{out}");
        let report = unwrapped(&program.run(&["doctor"]).1);
        assert!(report.contains(says), "{report}");
    }
    fs::remove_dir_all(program.workspace().join(".scorpiox")).expect("removed");
    program.put("workspace/elsewhere/policy.toml", "version = 1\n");
    symlink("elsewhere", program.workspace().join(".scorpiox")).expect("linked");
    // A link is no file in the repository. It is found when the policy is read.
    let mut server = started(&program);
    let refused = bash(&mut server, "echo no");
    assert!(refused.contains("cannot be read") && refused.contains("symbolic link"), "{refused}");
    fs::remove_file(program.workspace().join(".scorpiox")).expect("removed");
    let mut server = started(&program);
    assert!(bash(&mut server, "echo yes").starts_with("yes"));
}

#[test]
fn a_change_of_the_repository_ends_nothing_that_runs() {
    let program = Program::new();
    let mut server = started(&program);
    let wait = "touch begun; until test -e go; do sleep 0.05; done; echo went on";
    let id = server.request("tools/call", json!({ "name": "Bash", "arguments": { "command": wait } }));
    for _ in 0..600 {
        if program.workspace().join("begun").exists() {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert!(program.workspace().join("begun").exists(), "the command runs");
    let read_only = "[shell.profile.workspace]\nread = [\"@system\", \"@workspace\"]\nwrite = [\"@tmp\"]\n";
    put(&program, &format!("{NO_TASKS}{read_only}"));
    assert!(list(&mut server).contains("the repository's"));
    let refused = bash(&mut server, "touch new");
    assert!(refused.contains("ead-only") || refused.contains("denied"), "{refused}");
    program.put("workspace/go", "");
    let answer = server.answer(id);
    let text = answer["result"]["content"][0]["text"].as_str().expect("text");
    assert!(text.starts_with("went on"), "{text}");
}

#[test]
fn the_commands_show_and_explain_the_file() {
    let program = Program::new();
    program.put(
        "home/.scorpiox/policy.toml",
        "version = 1\n[web]\nallow = [\"docs.example.com\"]\n[tools]\ndeny = [\"WebSearch\"]\n",
    );
    program.put(
        FILE,
        "version = 1\n[web]\nallow = [\"*\"]\n[tools]\ndeny = [\"WebSearch\", \"TaskManager\"]\n\
         [shell.profile.workspace.network]\nmode = \"off\"\n",
    );
    let (status, out, err) = program.run(&["policy", "check"]);
    assert!(status.success(), "{out}{err}");
    for note in [
        "workspace/.scorpiox/policy.toml is valid.",
        "note: `allow` in [web] changes nothing (the repository's .scorpiox/policy.toml line 3)",
        "note: \"WebSearch\" of `deny` in [tools] changes nothing (the repository's",
    ] {
        assert!(out.contains(note), "{note}: {out}");
    }
    assert_eq!(program.run(&["policy", "check", "--strict"]).0.code(), Some(1));
    let shown = program.run(&["policy", "show"]).1;
    assert!(shown.contains("# the repository's .scorpiox/policy.toml line 7"), "{shown}");
    let (status, out, _) = program.run(&["policy", "why", "tool", "TaskManager"]);
    assert!(
        status.code() == Some(1) && out.contains("the repository's .scorpiox/policy.toml line 5: deny = ["),
        "{out}"
    );
    let (status, out, _) = program.run(&["policy", "why", "host", "docs.example.com"]);
    assert!(
        status.code() == Some(1) && out.contains("(the repository's .scorpiox/policy.toml line 7)"),
        "{out}"
    );
    let said = program.run(&["policy", "allow", "host", "docs.example.com"]).2;
    assert!(said.contains("only an edit of the repository's .scorpiox/policy.toml can allow it"), "{said}");
    let said = program.run(&["policy", "allow", "tool", "TaskManager"]).2;
    assert!(said.contains("a change of your policy.toml cannot allow it"), "{said}");
    let out = program.run(&["policy", "diff"]).1;
    assert!(out.contains("+ deny: \"TaskManager\""), "{out}");
}
