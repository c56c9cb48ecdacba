//! Tests of notes about differences between the sandbox and the machine.

use std::fs;
use std::path::Path;
use std::time::Duration;

use scorpiox_tests::{Canonical as _, Program};
use serde_json::json;

use super::support::{Ran, bash, comes_true, in_tier, start, with_policy};

#[test]
fn an_argument_that_would_change_a_command_keeps_it_from_running() {
    let program = Program::new();
    let mut server = start(&program);
    for (arguments, instead) in [
        (json!({ "cwd": "sub" }), "no argument `cwd` (begin the command with `cd sub &&`)"),
        (json!({ "run_in_background": true }), "(BackgroundBash runs a command in the background)"),
        (json!({ "env": { "A": "1" } }), "no argument `env`"),
        (json!({ "timeout_ms": 5 }), "did you mean `timeout`, in milliseconds?"),
        (json!({ "stdin": "x" }), "no argument `stdin`"),
    ] {
        let mut call = arguments.clone();
        call["command"] = json!("touch ran");
        let ran = Ran::of(&server.call("Bash", call));
        assert!(ran.refused().starts_with("The command was not run: Bash has no argument"), "{}", ran.text);
        assert!(ran.text.contains(instead), "{arguments}: {}", ran.text);
        assert!(!program.workspace().join("ran").exists(), "{arguments}");
    }
    let begun = server.call("BackgroundBash", json!({ "command": "touch ran", "cwd": "sub" }));
    let begun = Ran::of(&begun);
    assert!(begun.refused().contains("BackgroundBash has no argument `cwd`"), "{}", begun.text);
    // These say what the tool does anyhow.
    let workspace = program.workspace().canonical();
    let usual = json!({ "command": "touch ran", "cwd": workspace, "run_in_background": false, "env": {} });
    let ran = Ran::of(&server.call("Bash", usual));
    assert!(!ran.is_marked && program.workspace().join("ran").exists(), "{}", ran.text);
}

#[test]
fn a_rule_that_asks_is_not_reached_by_a_command_that_never_runs() {
    let rule = "[[rules]]\nname = \"ask\"\ntools = [\"Bash\"]\nthen = \"ask\"\n";
    let program = with_policy(Program::new(), rule);
    let mut server = start(&program);
    let ran = Ran::of(&server.call("Bash", json!({ "command": "true", "cwd": "sub" })));
    assert!(ran.refused().starts_with("The command was not run"), "{}", ran.text);
}

#[test]
fn a_program_in_a_closed_folder_of_the_path_is_named_and_found_once_that_is_open() {
    use std::os::unix::fs::PermissionsExt as _;
    let program = Program::new();
    let tool = program.put("tools/bin/frobnicate", "#!/bin/sh\necho done\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a mode");
    let folder = tool.parent().expect("a folder").canonical();
    let path = std::env::var("PATH").expect("a path");
    let program = program.with("PATH", &format!("{}:{path}", folder.display()));
    let mut server = start(&program);
    let open = format!("policy allow read {}", folder.display());
    for command in ["frobnicate", "env frobnicate"] {
        let ran = bash(&mut server, command);
        assert!(
            ran.text.contains("[not found: frobnicate is in ") && ran.text.contains(&open),
            "{}",
            ran.text
        );
    }
    assert!(!bash(&mut server, "frobnicat").text.contains("[not found: "));
    let (allowed, out, err) = program.run(&open.split(' ').collect::<Vec<_>>());
    assert!(allowed.success(), "{out}{err}");
    assert_eq!(bash(&mut start(&program), "frobnicate").succeeded(), "done\n");
}

#[test]
fn what_commands_cannot_do_to_the_machine_is_said() {
    let program = Program::new();
    let mut server = start(&program);
    for (command, said) in [
        (
            "echo 'Cannot connect to unix:///var/run/docker.sock' >&2; false",
            "[containers: commands do not reach",
        ),
        (
            "echo 'Could not open lock file /var/lib/dpkg/lock-frontend' >&2; false",
            "[system: commands do not change",
        ),
        (
            "echo 'listen tcp :80: bind: permission denied' >&2; false",
            "[port: commands listen at ports from 1024",
        ),
        ("git config --global user.name x", "[home: the home folder of commands is theirs alone"),
    ] {
        let ran = bash(&mut server, command);
        assert!(ran.text.contains(said), "{command}: {}", ran.text);
    }
}

#[test]
fn a_folder_that_is_forgotten_is_noted() {
    let program = Program::new();
    let mut server = start(&program);
    fs::create_dir(program.workspace().join("sub")).expect("a folder");
    let ran = bash(&mut server, "cd sub");
    let workspace = program.workspace().canonical();
    let note = format!("[`cd` lasts for one command: the next one starts in {} again]", workspace.display());
    assert!(ran.text.contains(&note), "{}", ran.text);
    for command in ["cd sub && pwd", "cd none"] {
        let ran = bash(&mut server, command);
        assert!(!ran.text.contains("lasts for one command"), "{}", ran.text);
    }
}

#[test]
fn a_limit_that_was_met_is_named() {
    let limits = "[shell.profile.workspace.limits]\ntmp = \"8MiB\"\nmemory = \"256MiB\"\nprocesses = 60\n";
    for tier in ["T1", "T1b"] {
        let program = with_policy(in_tier(tier), limits);
        let mut server = start(&program);
        let full = bash(&mut server, "head -c 20000000 /dev/zero > $HOME/big");
        assert!(full.text.contains("/home/user is full, and holds at most 8MiB"), "{tier}: {}", full.text);
        assert!(
            full.text.contains("(`limits.tmp` of profile workspace, policy.toml line 3)"),
            "{}",
            full.text
        );
        // The folder in memory is not full any more.
        let ran = bash(&mut server, "rm $HOME/big; echo 'No space left on device'; false");
        assert!(!ran.text.contains("[limit:"), "{tier}: {}", ran.text);
        let memory = bash(&mut server, "python3 -c 'bytearray(1 << 30)'");
        let named = "[limit: a command has at most 256MiB of memory (`limits.memory` of profile workspace, policy.toml line 4)]";
        assert!(memory.text.contains(named), "{tier}: {}", memory.text);
        let many = bash(&mut server, "for i in $(seq 200); do sleep 20 & done; wait");
        assert!(
            many.text.contains("[limit: a command has at most 60 processes and threads ("),
            "{tier}: {}",
            many.text
        );
        // Processes of a command that was ended were not meant to stay.
        let is_ended = many.text.contains("[stopped because");
        assert!(!is_ended || !many.text.contains("BackgroundBash"), "{tier}: {}", many.text);
    }
}

#[test]
fn a_path_that_commands_do_not_see_is_explained_whether_it_exists_or_not() {
    for tier in super::support::TIERS {
        let program = in_tier(tier);
        let mut server = start(&program);
        let there = Path::new(env!("CARGO_MANIFEST_DIR"));
        let note = |path: &str| format!("can open it: `scorpiox-code policy allow read {path}`]");
        for name in ["Cargo.toml", "none"] {
            let path = there.join(name);
            let path = path.to_str().expect("text");
            let ran = bash(&mut server, &format!("cat {path}"));
            assert!(!ran.text.contains("[package]"), "{tier}: {}", ran.text);
            // In T2, the kernel says that a file may not be read.
            if ran.text.contains("No such file") {
                assert!(
                    ran.text.contains("[outside: ") && ran.text.contains(&note(path)),
                    "{tier}: {}",
                    ran.text
                );
            }
        }
        // The output alone chooses no path.
        let ran = bash(&mut server, "p=/srv; echo \"$p/x: No such file or directory\"; false");
        assert!(ran.text.contains(&note("FOLDER")), "{tier}: {}", ran.text);
        for command in ["cat none", "cat /usr/none", "cat /tmp/none", "cat /srv/none || true"] {
            let ran = bash(&mut server, command);
            assert!(!ran.text.contains("[outside:"), "{tier}: {}", ran.text);
        }
    }
}

#[test]
fn a_refused_connection_names_the_entry_that_opens_the_port() {
    for tier in ["T1", "T1b"] {
        let program = in_tier(tier);
        let mut server = start(&program);
        let connect = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 5432))' 2>&1 | sed s/$/:\\ 127.0.0.1:5432/; false";
        let ran = bash(&mut server, connect);
        let entry = "`local = [\"127.0.0.1:5432\"]` in [shell.profile.workspace] of policy.toml]";
        assert!(
            ran.text.contains("[localhost: commands have one of their own") && ran.text.contains(entry),
            "{}",
            ran.text
        );
        // No entry opens Docker.
        let ran = bash(&mut server, "echo localhost:2375: Connection refused; false");
        assert!(!ran.text.contains("2375\"]"), "{}", ran.text);
    }
    let open = with_policy(Program::new(), "[shell.profile.workspace]\nnetwork = { mode = \"open\" }\n");
    let mut server = start(&open);
    let ran = bash(&mut server, "echo localhost:5432: Connection refused; false");
    assert!(!ran.text.contains("[localhost:"), "{}", ran.text);
    let (_, said, _) = open.run(&["policy", "why", "host", "localhost:5432"]);
    assert!(said.contains("is open"), "{said}");
    let closed = Program::new();
    let (_, said, errors) = closed.run(&["policy", "allow", "host", "localhost:5432"]);
    assert!(
        errors.contains("nothing was written") && errors.contains("`local = [\"127.0.0.1:5432\"]`"),
        "{said}{errors}"
    );
    let (_, said, _) = closed.run(&["policy", "why", "host", "localhost:5432"]);
    assert!(said.contains("add `local = [\"127.0.0.1:5432\"]` to [shell.profile.workspace]"), "{said}");
}

#[test]
fn a_server_of_commands_is_told_how_to_reach_the_machine() {
    let program = Program::new();
    let mut server = start(&program);
    server.call(
        "BackgroundBash",
        json!({ "command": "echo 'Listening on http://localhost:3456/'; sleep 1000" }),
    );
    let note = "`publish = [3456]` in [shell.profile.workspace] of policy.toml";
    let mut all = String::new();
    let is_told = comes_true(Duration::from_secs(20), || {
        let read = server.call("ReadBgOutput", json!({ "task_id": 1 }));
        all.push_str(read["content"][0]["text"].as_str().expect("a text"));
        all.contains(note)
    });
    assert!(is_told, "{all}");
}

#[test]
fn the_end_of_a_background_task_is_told_once() {
    let program = Program::new();
    let mut server = start(&program);
    server.call("BackgroundBash", json!({ "command": "exit 4" }));
    let note = "[background task 1: exit code 4 after ";
    let is_told = comes_true(Duration::from_secs(20), || bash(&mut server, "true").text.contains(note));
    assert!(is_told);
    assert!(!bash(&mut server, "true").text.contains(note));
    server.call("BackgroundBash", json!({ "command": "sleep 1000" }));
    server.call("KillBgTask", json!({ "task_id": 2 }));
    assert!(!bash(&mut server, "true").text.contains("background task 2"));
}
