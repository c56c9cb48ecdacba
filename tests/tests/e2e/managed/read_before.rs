//! Tests of `after`: rules and restrictions that hold once files were read.

use std::thread;
use std::time::Duration;

use scorpiox_tests::{Program, Started};
use serde_json::json;

use super::told;
use crate::audit::lines;

/// Commands cannot read the files, and tools can.
const CLOSED: &str = "version = 1\n[shell.profile.workspace]\ndeny = [\"finance/\"]\n[files]\ndeny = []\n";
const RULE: &str = "[[rules]]\nname = \"finance\"\ntools = [\"TaskManager\"]\nafter = { read = [\"finance/\"] }\n\
                    then = \"deny\"\n";
const NARROW: &str = "[[narrow]]\nname = \"after finance\"\nafter = { read = [\"finance/\"] }\n\
                      [narrow.tools]\ndeny = [\"TaskManager\"]\n\
                      [narrow.shell.profile.workspace]\ndeny = [\"outgoing/\"]\n";

fn program(policy: &str) -> Program {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", policy);
    program.put("workspace/finance/a.md", "the-figures");
    program.put("workspace/outgoing/b", "the-parcel");
    program
}

fn started(program: &Program) -> Started {
    let mut server = program.start();
    server.introduce("client", "2025-11-25", json!({}));
    server.notify("notifications/initialized", json!({}));
    server
}

fn tasks(server: &mut Started) -> String {
    told(server, "TaskManager", json!({ "action": "list" }))
}

fn read(server: &mut Started, path: &str) -> String {
    told(server, "ReadDocs", json!({ "url": path }))
}

#[test]
fn a_rule_holds_from_the_first_read_on_over_restarts_until_a_person_clears_it() {
    let program = program(&format!("{CLOSED}{RULE}"));
    program.put("workspace/other.md", "something else");
    let mut server = started(&program);
    assert!(read(&mut server, "other.md").contains("something else"));
    assert!(tasks(&mut server).contains("There are no tasks"));
    let shown = told(&mut server, "Bash", json!({ "command": "cat finance/a.md; echo done" }));
    assert!(!shown.contains("the-figures") && shown.contains("done"), "{shown}");
    assert!(tasks(&mut server).contains("There are no tasks"), "commands cannot have read it");
    assert!(!read(&mut server, "finance/absent.md").contains("the-figures"));
    assert!(tasks(&mut server).contains("There are no tasks"), "nothing was read");
    assert!(read(&mut server, "finance/a.md").contains("the-figures"));
    let mut again = started(&program);
    for server in [&mut server, &mut again] {
        let refused = tasks(server);
        for piece in [
            "rule \"finance\" (policy.toml line 6) denies it",
            "because ReadDocs read files of \"finance/\" at 20",
            "`scorpiox-code policy clear` forgets that",
        ] {
            assert!(refused.contains(piece), "{piece}: {refused}");
        }
    }
    let (status, out, _) = program.run(&["policy", "why", "call", "TaskManager", "action=list"]);
    assert!(status.code() == Some(1) && out.contains("because ReadDocs read files of \"finance/\""), "{out}");
    let (_, out, _) = program.run(&["policy", "show"]);
    assert!(out.contains("# files of \"finance/\" count as read since ReadDocs at 20"), "{out}");
    assert!(out.contains("after.read = [\"finance/\"]"), "{out}");
    let (_, out, _) = program.run(&["policy", "clear"]);
    assert!(out.contains("files of \"finance/\" count as read since ReadDocs"), "{out}");
    assert!(tasks(&mut server).contains("There are no tasks"));
    assert!(program.run(&["policy", "clear"]).1.contains("nothing to forget"));
    let recorded = lines(&program, 8);
    let noted = |line: &&serde_json::Value| line.to_string().contains("\"capability\":\"read-before\"");
    let noted: Vec<_> = recorded.iter().filter(noted).map(ToString::to_string).collect();
    assert_eq!(noted.len(), 2, "{recorded:?}");
    assert!(noted[0].contains("\"rule\":\"policy.toml line 6\""), "{noted:?}");
    assert!(noted[1].contains("finance/, forgotten for the person at this machine"), "{noted:?}");
}

#[test]
fn the_audit_says_for_whom_reads_are_forgotten() {
    let program = program(&format!("{CLOSED}{RULE}"));
    let mut server = started(&program);
    for (options, whose) in [(&["--everyone"][..], "everyone"), (&[][..], "the person at this machine")] {
        assert!(read(&mut server, "finance/a.md").contains("the-figures"));
        let (status, out, err) = program.run(&[&["policy", "clear"], options].concat());
        assert!(status.success() && out.contains("Forgotten"), "{out}{err}");
        let last = lines(&program, 1).pop().expect("a line").to_string();
        assert!(last.contains(&format!("finance/, forgotten for {whose}\"")), "{last}");
    }
}

/// Nobody knows the other names of a file.
#[cfg(unix)]
#[test]
fn a_file_with_hard_links_counts_for_each_glob() {
    let program = program(&format!("{CLOSED}{RULE}"));
    program.put("workspace/other.md", "something else");
    let workspace = program.workspace();
    std::fs::hard_link(workspace.join("finance/a.md"), workspace.join("b.md")).expect("links");
    let mut server = started(&program);
    assert!(read(&mut server, "other.md").contains("something else"));
    assert!(tasks(&mut server).contains("There are no tasks"));
    assert!(read(&mut server, "b.md").contains("the-figures"));
    let refused = tasks(&mut server);
    assert!(refused.contains("because ReadDocs read files of \"finance/\""), "{refused}");
}

#[test]
fn a_command_counts_as_reading_all_that_its_profile_opens() {
    let program = program(&format!("version = 1\n{NARROW}"));
    let mut server = started(&program);
    assert!(tasks(&mut server).contains("There are no tasks"));
    // The command itself is restricted from its start.
    let shown = told(&mut server, "Bash", json!({ "command": "cat outgoing/b; echo done" }));
    assert!(!shown.contains("the-parcel") && shown.contains("done"), "{shown}");
    let refused = tasks(&mut server);
    assert!(refused.contains("`deny` of [tools] (policy.toml line 6)"), "{refused}");
    let note = "[[narrow]] \"after finance\" (policy.toml line 2) holds, because Bash read files of \"finance/\" at 20";
    assert!(refused.contains(note), "{refused}");
    let listed = server.ask("tools/list", json!({})).to_string();
    assert!(!listed.contains("\"TaskManager\""), "{listed}");
    let (_, out, _) = program.run(&["policy", "show"]);
    let said =
        "# restricted by [[narrow]] \"after finance\" (policy.toml line 2), because Bash read files of";
    assert!(out.contains(said), "{out}");
    let (status, out, _) = program.run(&["policy", "check", "--strict"]);
    let note = "every command counts as reading them, because `deny` of the profile `workspace` does not have this glob";
    assert!(status.code() == Some(1) && out.contains(note), "{out}");
}

#[test]
fn commands_that_begin_together_do_not_end_each_other() {
    let program = program(&format!("version = 1\n{NARROW}"));
    let mut server = started(&program);
    let call = json!({ "name": "Bash", "arguments": { "command": "sleep 1; echo done" } });
    let calls: Vec<_> = (0..3).map(|_| server.request("tools/call", call.clone())).collect();
    for id in calls {
        let answer = server.answer(id);
        assert!(
            answer["result"]["content"][0]["text"].as_str().is_some_and(|text| text.starts_with("done")),
            "{answer}"
        );
    }
}

#[test]
fn commands_that_run_are_ended_by_the_first_read() {
    let program = program(&format!("{CLOSED}{NARROW}"));
    let mut server = started(&program);
    let begun = told(&mut server, "BackgroundBash", json!({ "command": "cat outgoing/b; sleep 600" }));
    assert!(begun.contains('1'), "{begun}");
    assert!(read(&mut server, "finance/a.md").contains("the-figures"));
    let mut listed = String::new();
    for _ in 0..200 {
        listed = told(&mut server, "ListBgTasks", json!({}));
        if !listed.contains("running") {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert!(!listed.contains("running"), "{listed}");
    let shown = told(&mut server, "Bash", json!({ "command": "cat outgoing/b; echo done" }));
    assert!(!shown.contains("the-parcel") && shown.contains("done"), "{shown}");
}

#[test]
fn cases_and_checks_know_what_was_read() {
    let program = program(&format!("{CLOSED}{RULE}"));
    let cases = "allow call TaskManager action=list\ndeny call TaskManager action=list after finance/\n\
                 deny call TaskManager action=list after **/Finance\n";
    program.put("workspace/cases", cases);
    let (status, out, err) = program.run(&["policy", "test", "cases"]);
    assert!(status.success(), "{out}{err}");
    // A case about files that no condition is about would prove nothing.
    program.put("workspace/typo", "allow call TaskManager action=list after finances/\n");
    let (status, _, err) = program.run(&["policy", "test", "typo"]);
    let said = "no `after` in the policy has the glob \"finances/\"; did you mean \"finance/\"?";
    assert!(status.code() == Some(2) && err.contains(said), "{err}");
    program.put("home/.scorpiox/policy.toml", format!("{CLOSED}{}", RULE.replace("read =", "reads =")));
    let (status, _, err) = program.run(&["policy", "check"]);
    assert!(status.code() == Some(2) && err.contains("unknown key `reads` in `after`"), "{err}");
    program.put("workspace/all.toml", "version = 1\nlast_good = true\n");
    let (status, _, err) = program.run(&["policy", "check", "all.toml"]);
    assert!(status.code() == Some(2) && err.contains("last_good"), "{err}");
    let (status, out, err) = program.run(&["policy", "check", "all.toml", "--for-all-users"]);
    assert!(status.success() && out.contains("all.toml is valid"), "{out}{err}");
}
