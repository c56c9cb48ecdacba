//! Tests of new protected names from commands whose results are never read.

use std::path::Path;
use std::time::Duration;

use scorpiox_tests::Started;
use serde_json::json;

use super::support::{background, bash, comes_true, in_each_tier, in_tier, read_until, start};

/// Returns a command that creates a repository that starts a program.
fn repository(name: &str) -> String {
    format!(
        "mkdir -p {name}/.git/objects {name}/.git/refs && printf '[core]\\n\\tfsmonitor = x\\n' > {name}/.git/config && \
         echo 'ref: refs/heads/x' > {name}/.git/HEAD"
    )
}

fn wait_for(path: &Path) {
    assert!(comes_true(Duration::from_secs(20), || path.exists()), "{} does not come", path.display());
}

/// Waits for a command whose result reports a path, and asserts that it is reported only once.
fn is_told_once(server: &mut Started, path: &str) {
    let mut told = String::new();
    let is_told = (0..100).any(|_| {
        told = bash(server, "sleep 0.1").text;
        told.contains("by an earlier command, new: ") && told.contains(path)
    });
    assert!(is_told, "{path}: {told}");
    let next = bash(server, "true");
    assert!(!next.text.contains("new: "), "{path}: {}", next.text);
}

#[test]
fn a_task_that_ends_with_its_server_is_no_lost_command() {
    for tier in ["T1", "T1b", "T2"] {
        let program = in_tier(tier);
        let mut server = start(&program);
        background(&mut server, "sleep 300");
        background(&mut server, &format!("{}; echo > made; sleep 300", repository("left")));
        wait_for(&program.workspace().join("made"));
        server.close_input();
        server.wait();
        let mut server = start(&program);
        let told = bash(&mut server, "true").text;
        assert!(!told.contains("nobody looked"), "{tier}: {told}");
        assert!(told.contains("by an earlier command, new: \"left/.git\""), "{tier}: {told}");
    }
}

#[test]
fn a_cancelled_call_is_told_with_the_next_command() {
    in_each_tier(|program, server| {
        let command = format!("{}; echo > made; sleep 300", repository("cancelled"));
        let id = server.request("tools/call", json!({ "name": "Bash", "arguments": { "command": command } }));
        wait_for(&program.workspace().join("made"));
        server.notify("notifications/cancelled", json!({ "requestId": id }));
        is_told_once(server, "cancelled/.git");
    });
}

#[test]
fn a_task_that_nobody_reads_is_told_with_the_next_command_and_one_that_is_read_is_not() {
    in_each_tier(|program, server| {
        background(server, &repository("unread"));
        wait_for(&program.workspace().join("unread/.git/HEAD"));
        is_told_once(server, "unread/.git");

        let task = background(server, &format!("{}; echo > killed/made; sleep 300", repository("killed")));
        wait_for(&program.workspace().join("killed/made"));
        let killed = server.text("KillBgTask", json!({ "task_id": task }));
        assert!(killed.contains("new: ") && killed.contains("killed/.git"), "{killed}");
        let next = bash(server, "true");
        assert!(!next.text.contains("new: "), "{}", next.text);
    });
}

/// The user's `core.hooksPath = .githooks` applies to each repository.
#[test]
fn a_new_repository_into_which_the_persons_configuration_leads_is_told() {
    in_each_tier(|program, server| {
        program.put("home/.gitconfig", "[core]\n\thooksPath = .githooks\n");
        let harmless =
            "mkdir -p NAME/.git/objects NAME/.git/refs && echo 'ref: refs/heads/x' > NAME/.git/HEAD";
        let ran = bash(server, &harmless.replace("NAME", "plain"));
        assert!(!ran.text.contains("new: "), "{}", ran.text);
        let hooks = format!(
            "{} && mkdir led/.githooks && echo x > led/.githooks/pre-commit",
            harmless.replace("NAME", "led")
        );
        let ran = bash(server, &hooks);
        assert!(ran.text.contains("new: ") && ran.text.contains("led/.git"), "{}", ran.text);
    });
}

/// The user runs `git init --bare` in an empty directory that a running command created.
#[test]
fn a_repository_that_the_person_makes_in_a_folder_of_the_commands_is_theirs() {
    in_each_tier(|program, server| {
        let command = "mkdir theirs && until [ -e theirs/config ]; do sleep 0.05; done
            echo evil >> theirs/config; mkdir -p theirs/hooks; echo evil > theirs/hooks/post-update
            rm -f theirs/config; echo evil > theirs/config; echo over > end";
        let task = background(server, command);
        let theirs = program.workspace().join("theirs");
        wait_for(&theirs);
        for (name, content) in [("HEAD", "ref: refs/heads/x\n"), ("refs/x", ""), ("objects/x", "")] {
            program.put(&format!("workspace/theirs/{name}"), content);
        }
        program.put("workspace/theirs/config", "[core]\n\tbare = true\n");
        wait_for(&program.workspace().join("end"));
        let config = std::fs::read_to_string(theirs.join("config")).unwrap_or_default();
        assert!(!config.contains("evil"), "task {task}: {config}");
        assert!(!theirs.join("hooks/post-update").exists());
    });
}

/// Another command keeps renaming the directory of a new repository, even while it is checked.
#[test]
fn a_new_repository_that_another_command_renames_is_told() {
    in_each_tier(|program, server| {
        let rename = "import os
pairs = [('lib%d' % at, 'lob%d' % at) for at in range(5)]
while not os.path.exists('stop'):
    for a, b in pairs + [(b, a) for a, b in pairs]:
        try:
            os.rename(a, b)
            open('renamed', 'w').close()
        except OSError:
            pass";
        let task = background(server, &format!("python3 -c \"{rename}\""));
        for round in 0..5 {
            let ran =
                bash(server, &format!("{} && mv w{round} lib{round}", repository(&format!("w{round}"))));
            let is_named =
                ["lib", "lob"].iter().any(|name| ran.text.contains(&format!("\"{name}{round}/.git\"")));
            assert!(ran.text.contains("new: ") && is_named, "{round}: {}", ran.text);
        }
        wait_for(&program.workspace().join("renamed"));
        program.put("workspace/stop", "");
        read_until(server, task, "exited");
    });
}
