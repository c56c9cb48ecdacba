//! Tests of `[[narrow]]`: restrictions for some workspaces, accounts, clients and callers.

use std::thread;
use std::time::Duration;

use scorpiox_tests::{Program, Started};
use serde_json::json;

use super::told;

const NARROW: &str = "version = 1\n[[narrow]]\nname = \"visitors\"\nclients = [\"visitor\"]\n\
    [narrow.tools]\ndeny = [\"TaskManager\"]\n\
    [narrow.shell.profile.workspace]\ndeny = [\"finance/\"]\n[narrow.web]\nenabled = false\n";

fn program(policy: &str) -> Program {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", policy);
    program.put("workspace/finance/a", "the-secret");
    program
}

fn introduced(program: &Program, client: &str) -> Started {
    let mut server = program.start();
    server.introduce(client, "2025-11-25", json!({}));
    server.notify("notifications/initialized", json!({}));
    server
}

fn tools(server: &mut Started) -> String {
    server.ask("tools/list", json!({})).to_string()
}

#[test]
fn a_restriction_holds_for_the_client_that_it_names() {
    let program = program(NARROW);
    let mut visitor = introduced(&program, "visitor");
    assert!(!tools(&mut visitor).contains("\"TaskManager\""), "a closed tool is not offered");
    let refused = told(&mut visitor, "TaskManager", json!({ "action": "list" }));
    assert!(refused.contains("`deny` of [tools] (policy.toml line 6)"), "{refused}");
    assert!(!refused.contains("policy allow tool"), "it would not open it: {refused}");
    let shown = told(&mut visitor, "Bash", json!({ "command": "cat finance/a; echo \"exit $?\"" }));
    assert!(!shown.contains("the-secret") && shown.contains("exit 1"), "{shown}");
    let refused = told(&mut visitor, "ReadDocs", json!({ "url": "https://docs.example.com/" }));
    assert!(refused.contains("`enabled = false` in [web] (policy.toml line 10)"), "{refused}");
    let mut other = introduced(&program, "other");
    assert!(tools(&mut other).contains("\"TaskManager\""));
    assert!(told(&mut other, "TaskManager", json!({ "action": "list" })).contains("There are no tasks"));
    assert!(told(&mut other, "Bash", json!({ "command": "cat finance/a" })).starts_with("the-secret"));
}

#[test]
fn background_commands_are_found_under_a_restriction_that_begins_to_hold() {
    let program = program("version = 1\n");
    let mut server = introduced(&program, "visitor");
    let begun = told(&mut server, "BackgroundBash", json!({ "command": "echo begun; sleep 600" }));
    assert!(begun.contains('1'), "{begun}");
    // A restriction takes something away, so what runs is ended.
    program.put("home/.scorpiox/policy.toml", NARROW);
    let mut listed = String::new();
    for _ in 0..200 {
        listed = told(&mut server, "ListBgTasks", json!({}));
        if !listed.contains("running") {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert!(!listed.contains("running"), "{listed}");
    let begun = told(&mut server, "BackgroundBash", json!({ "command": "cat finance/a; sleep 600" }));
    assert!(begun.contains('2'), "{begun}");
    let ended = told(&mut server, "KillBgTask", json!({ "task_id": 2 }));
    assert!(!ended.contains("no task"), "{ended}");
}

#[test]
fn restrictions_of_the_account_are_explained() {
    let program = program(&NARROW.replace("clients = [\"visitor\"]", "unix_users = [\"*\"]"));
    let (status, out, _) = program.run(&["policy", "why", "tool", "TaskManager"]);
    assert!(status.code() == Some(1) && out.contains("`deny` of [tools] (policy.toml line 6)"), "{out}");
    let (status, out, _) = program.run(&["policy", "why", "read", "finance/a"]);
    assert!(status.code() == Some(1) && out.contains("(policy.toml line 8)"), "{out}");
    let (_, out, _) = program.run(&["policy", "show"]);
    assert!(out.contains("# restricted by [[narrow]] \"visitors\" (policy.toml line 2)"), "{out}");
    assert!(out.contains("tools.deny = [\"TaskManager\"]"), "{out}");
    let (_, _, err) = program.run(&["policy", "allow", "tool", "TaskManager"]);
    assert!(err.contains("a change of your policy.toml cannot allow it"), "{err}");
    let (status, out, err) = program.run(&["policy", "check", "--strict"]);
    assert!(status.success(), "{out}{err}");
    program.put("workspace/cases", "deny tool TaskManager\nallow tool Bash\ndeny read finance/a\n");
    let (status, out, err) = program.run(&["policy", "test", "cases"]);
    assert!(status.success(), "{out}{err}");
}

#[test]
fn restrictions_of_a_caller_are_explained() {
    let program = program(&NARROW.replace("clients = [\"visitor\"]", "principals = [\"ext-*\"]"));
    for (who, code) in [("ext-1", 1), ("ann", 0)] {
        let (status, out, _) = program.run(&["policy", "why", "host", "a.example.com", "--as", who]);
        assert_eq!(status.code(), Some(1), "{out}");
        let (status, out, _) = program.run(&["policy", "why", "read", "finance/a", "--as", who]);
        assert_eq!(status.code(), Some(code), "{out}");
    }
    assert!(program.run(&["policy", "show", "--as", "ext-1"]).1.contains("# restricted by"));
    assert!(!program.run(&["policy", "show"]).1.contains("# restricted by"));
    let cases = "allow tool TaskManager as ann\ndeny tool TaskManager as ext-2\n\
                 allow read finance/a principal ann\ndeny read finance/a principal ext-2\n\
                 deny read finance/a as workspace principal ext-2 group web\nallow read finance/a\n";
    program.put("workspace/cases", cases);
    let (status, out, err) = program.run(&["policy", "test", "cases"]);
    assert!(status.success(), "{out}{err}");
}
