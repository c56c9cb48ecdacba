//! Tests of a policy that changes while the server runs.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::told;
use crate::audit::lines;

const OPEN: &str = "version = 1\n";
const NO_TASKS: &str = "version = 1\n[tools]\ndeny = [\"TaskManager\"]\n";

/// Replaces the user's policy as editors do.
fn put(program: &Program, text: &str) {
    let new = program.put("home/.scorpiox/policy.new", text);
    fs::rename(&new, new.with_file_name("policy.toml")).expect("renamed");
}

fn started(program: &Program, text: &str) -> Started {
    put(program, text);
    let mut server = program.start();
    server.initialize("2025-11-25");
    server.notify("notifications/initialized", json!({}));
    server
}

fn list(server: &mut Started) -> String {
    told(server, "TaskManager", json!({ "action": "list" }))
}

fn until_there(path: &Path) {
    for _ in 0..600 {
        if path.exists() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("{} is not there", path.display());
}

/// Reads a background task until its output has `words`.
fn read_until(server: &mut Started, words: &str) -> String {
    let mut all = String::new();
    for _ in 0..200 {
        let text = told(server, "ReadBgOutput", json!({ "task_id": 1 }));
        all.push_str(&text);
        if all.contains(words) {
            return all;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("no {words:?} in {all}");
}

#[test]
fn the_next_call_runs_under_the_changed_policy() {
    let program = Program::new();
    let mut server = started(&program, OPEN);
    assert!(list(&mut server).contains("There are no tasks"));
    put(&program, NO_TASKS);
    let refused = list(&mut server);
    assert!(refused.contains("`deny` of [tools] (policy.toml line 3)"), "{refused}");
    assert!(
        refused.ends_with("the person can open it: `scorpiox-code policy allow tool TaskManager`"),
        "{refused}"
    );
    put(&program, OPEN);
    assert!(list(&mut server).contains("There are no tasks"));
    let lines = lines(&program, 5);
    let hash = |line: &Value| line["policy"].as_str().expect("a hash").to_owned();
    let [first, narrowed, refused, widened, last] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(hash(first), hash(last));
    assert_ne!(hash(first), hash(refused));
    for (change, effect, before, after) in [
        (narrowed, "takes something away in [tools]", first, refused),
        (widened, "takes nothing away", refused, last),
    ] {
        assert_eq!((change["tool"].as_str(), hash(change)), (Some("changed policy"), hash(after)));
        let what = change["uses"][0]["what"].as_str().expect("an object");
        assert_eq!(what, format!("before it: {}; {effect}", hash(before)));
    }
}

/// Nothing is taken away from a policy under which every tool was refused.
#[test]
fn a_change_after_a_policy_that_cannot_be_used_says_so() {
    let program = Program::new();
    let mut server = started(&program, NO_TASKS);
    put(&program, "version = 1\n[tools");
    assert!(list(&mut server).contains("All tools are refused"));
    put(&program, NO_TASKS);
    list(&mut server);
    let lines = lines(&program, 3);
    let change = lines.iter().find(|line| line["tool"] == "changed policy").expect("a change");
    let what = change["uses"][0]["what"].as_str().expect("an object");
    assert_eq!(what, "before it: unusable; every tool was refused until then");
}

#[test]
fn clients_are_told_to_read_the_lists_again() {
    let program = Program::new();
    let mut server = started(&program, OPEN);
    let names = |server: &mut Started| {
        let tools = server.ask("tools/list", json!({}))["result"]["tools"].clone();
        tools.as_array().expect("tools").iter().any(|tool| tool["name"] == "TaskManager")
    };
    assert!(names(&mut server));
    put(&program, NO_TASKS);
    let id = server.request("tools/call", json!({ "name": "Bash", "arguments": { "command": "true" } }));
    server.notification("notifications/tools/list_changed");
    server.answer(id);
    assert!(!names(&mut server));
}

#[test]
fn a_policy_that_takes_nothing_away_lets_commands_go_on() {
    let program = Program::new();
    let mut server = started(&program, NO_TASKS);
    let waits = "while [ ! -e go ]; do sleep 0.05; done; echo all of it";
    told(&mut server, "BackgroundBash", json!({ "command": waits }));
    let calls = server.request("tools/call", json!({ "name": "Bash", "arguments": { "command": waits } }));
    put(
        &program,
        "version = 1\n[shell.profile.workspace.network]\nmode = \"allowlist\"\nhosts = [\"a.example.com\"]\n",
    );
    assert!(list(&mut server).contains("There are no tasks"));
    program.put("workspace/go", "");
    let text = server.answer(calls).to_string();
    assert!(text.contains("all of it") && text.contains("exit code 0"), "{text}");
    read_until(&mut server, "exit code 0");
}

#[test]
fn calls_and_commands_that_lost_a_right_are_ended_and_say_so() {
    let program = Program::new();
    let mut server = started(&program, OPEN);
    told(&mut server, "BackgroundBash", json!({ "command": "sleep 600" }));
    let command = "touch begun; sleep 600";
    let calls = server.request("tools/call", json!({ "name": "Bash", "arguments": { "command": command } }));
    until_there(&program.workspace().join("begun"));
    put(&program, "version = 1\n[shell.profile.workspace]\ndeny = [\"**/*.key\"]\n");
    let new = server.request("tools/call", json!({ "name": "Bash", "arguments": { "command": "echo new" } }));
    let words = "the command was ended because the policy was changed while it ran";
    let text = server.answer(calls).to_string();
    assert!(text.contains(words), "{text}");
    let text = server.answer(new).to_string();
    assert!(text.contains("exit code 0"), "{text}");
    read_until(&mut server, words);
}

#[test]
fn a_lost_tool_ends_no_background_command() {
    let program = Program::new();
    let mut server = started(&program, OPEN);
    let waits = "while [ ! -e go ]; do sleep 0.05; done; echo all of it";
    told(&mut server, "BackgroundBash", json!({ "command": waits }));
    put(&program, NO_TASKS);
    assert!(list(&mut server).contains("is denied"));
    program.put("workspace/go", "");
    read_until(&mut server, "exit code 0");
}

#[test]
fn a_broken_policy_refuses_with_its_line_until_it_is_corrected() {
    let program = Program::new();
    let mut server = started(&program, OPEN);
    assert!(list(&mut server).contains("There are no tasks"));
    put(&program, "version = 1\n[tools]\ndney = []\n");
    let refused = list(&mut server);
    assert!(refused.contains("policy.toml line 3") && refused.contains("`deny`"), "{refused}");
    put(&program, OPEN);
    assert!(list(&mut server).contains("There are no tasks"));
}

#[test]
fn a_policy_that_is_broken_at_the_start_can_be_corrected() {
    let program = Program::new();
    let mut server = started(&program, "version = 1\n[tools\n");
    assert!(list(&mut server).contains("policy.toml line 2"));
    put(&program, OPEN);
    assert!(list(&mut server).contains("There are no tasks"));
}

#[test]
fn a_policy_that_is_gone_refuses_until_it_is_forgotten() {
    let program = Program::new();
    let mut server = started(&program, NO_TASKS);
    assert!(list(&mut server).contains("is denied"));
    fs::remove_file(program.home().join(".scorpiox/policy.toml")).expect("removed");
    assert!(list(&mut server).contains("policy.toml is gone"));
    let (status, said, _) = program.run(&["policy", "forget"]);
    assert!(status.success() && said.contains("from their next call on"), "{said}");
    assert!(list(&mut server).contains("There are no tasks"));
}

#[test]
fn sections_that_are_read_at_the_start_are_named_and_can_be_restored() {
    let program = Program::new();
    let mut server = started(&program, OPEN);
    assert!(list(&mut server).contains("There are no tasks"));
    put(&program, "version = 1\n[audit]\narguments = true\n");
    for _ in 0..2 {
        let refused = list(&mut server);
        assert!(refused.contains("the policy was changed in [audit]"), "{refused}");
        assert!(refused.contains("start the server again"), "{refused}");
    }
    // The files are not read again for each refusal.
    let begun = Instant::now();
    for _ in 0..20 {
        list(&mut server);
    }
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    put(&program, OPEN);
    assert!(list(&mut server).contains("There are no tasks"));
}

/// A server over HTTP that went on under older tokens would serve those that were revoked.
#[test]
fn a_server_over_http_refuses_every_call_when_its_access_control_changes() {
    let program = Program::new();
    put(&program, OPEN);
    let server = program.serve_http(0);
    let answer = || {
        let params = json!({ "name": "TaskManager", "arguments": { "action": "list" } });
        let answer = server.ask(&server.modern("tools/call", params));
        (answer.status, answer.body)
    };
    assert_eq!(answer().0, 200);
    put(
        &program,
        "version = 1\n[http.auth]\nkind = \"token\"\n[http.auth.tokens.ann]\nsha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"\n",
    );
    assert_eq!(answer().0, 503);
    put(&program, NO_TASKS);
    let (status, said) = answer();
    assert!(status == 400 && said.contains("`deny` of [tools] (policy.toml line 3)"), "{status} {said}");
}

/// After a broken file, sections that are read at the start are compared with those of the start.
#[test]
fn a_corrected_file_holds_also_with_sections_that_are_read_at_the_start() {
    let program = Program::new();
    let audited = "version = 1\n[audit]\narguments = true\n";
    let mut server = started(&program, audited);
    assert!(list(&mut server).contains("There are no tasks"));
    put(&program, "version = 1\n[shel]\n");
    assert!(list(&mut server).contains("unknown key `shel`"));
    put(&program, OPEN);
    let refused = list(&mut server);
    assert!(refused.contains("changed in [audit]") && !refused.contains("shel"), "{refused}");
    put(&program, audited);
    assert!(list(&mut server).contains("There are no tasks"));
}

#[test]
fn the_same_text_in_a_new_file_changes_nothing() {
    let program = Program::new();
    let mut server = started(&program, OPEN);
    told(&mut server, "BackgroundBash", json!({ "command": "sleep 600" }));
    put(&program, OPEN);
    assert!(list(&mut server).contains("There are no tasks"));
    assert!(told(&mut server, "ListBgTasks", json!({})).contains("running"));
}

/// A writer that pauses between its parts, each of which is a valid policy.
fn write_slowly(path: &Path) {
    let mut file = fs::File::create(path).expect("opened");
    for part in ["version = 1\n", "[web]\n", "enabled = false\n", "[tools]\n", "deny = [\"TaskManager\"]\n"] {
        file.write_all(part.as_bytes()).expect("written");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_policy_that_is_half_written_decides_nothing() {
    let program = Program::new();
    let mut server = started(&program, NO_TASKS);
    assert!(list(&mut server).contains("is denied"));
    let path = program.home().join(".scorpiox/policy.toml");
    thread::scope(|scope| {
        scope.spawn(|| write_slowly(&path));
        for _ in 0..20 {
            let refused = list(&mut server);
            assert!(refused.contains("is denied"), "{refused}");
        }
    });
}

#[test]
fn each_call_is_decided_under_one_policy_and_the_audit_names_it() {
    const CALLS: usize = 2_000;
    let program = Program::new();
    let mut server = started(&program, OPEN);
    let begun = lines_of(&program);
    let results = thread::scope(|scope| {
        let changes = scope.spawn(|| {
            for round in 0..8 {
                put(&program, if round % 2 == 0 { NO_TASKS } else { OPEN });
                // Files that change more often than a loaded machine can look at them twice are refused.
                thread::sleep(Duration::from_secs(1));
            }
        });
        let mut results = Vec::new();
        while results.len() < CALLS || !changes.is_finished() {
            results.push(list(&mut server).contains("is denied"));
        }
        results
    });
    assert!(results.contains(&true) && results.contains(&false));
    let mut lines = lines(&program, begun + results.len());
    // Changes have lines of their own, and the last calls may not be written yet.
    let is_call = |line: &Value| line["tool"] != "changed policy";
    while lines.iter().filter(|line| is_call(line)).count() < begun + results.len() {
        lines = crate::audit::lines(&program, lines.len() + 1);
    }
    lines.retain(is_call);
    let mut outcomes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in &lines[begun..] {
        let under = outcomes.entry(line["policy"].as_str().expect("a hash").to_owned()).or_default();
        if !under.contains(&line["outcome"]) {
            under.push(line["outcome"].clone());
        }
    }
    assert_eq!(outcomes.len(), 2, "{outcomes:?}");
    assert!(outcomes.values().all(|outcomes| outcomes.len() == 1), "{outcomes:?}");
    let refused = lines.iter().filter(|line| line["outcome"] == "refused").count();
    assert_eq!(refused, results.iter().filter(|is_refused| **is_refused).count());
}

fn lines_of(program: &Program) -> usize {
    fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl"))
        .map_or(0, |text| text.lines().count())
}
