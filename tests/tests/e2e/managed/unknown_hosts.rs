//! Tests of `unknown_hosts`: a person is asked about a host while the connection waits.

use scorpiox_tests::container::Refused;
use scorpiox_tests::{Program, Served, Started};
use serde_json::{Value, json};

use crate::audit::lines;

const ASK: &str = "version = 1\n[shell.profile.workspace]\nunknown_hosts = \"ask\"\n";
const CURL: &str = "curl -s -o /dev/null -w '%{http_connect}\\n' https://packages.example.com/; true";

fn eliciting(program: Program) -> Served {
    let program = program.with("PATH", "/usr/bin:/bin");
    program.put("home/.scorpiox/policy.toml", ASK);
    let mut server = program.serve();
    server.initialize_with("2025-11-25", json!({"elicitation": {}}));
    server
}

fn run(server: &mut Started, command: &str) -> u64 {
    let call = json!({
        "name": "Bash", "arguments": {"command": command}, "_meta": {"progressToken": command}
    });
    server.request("tools/call", call)
}

fn choose(server: &mut Started, label: &str) -> Value {
    let form = server.notification("elicitation/create");
    let content = json!({"action": "accept", "content": {"q1": label}});
    server.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": content}));
    form
}

fn text(answer: &Value) -> String {
    answer["result"]["content"][0]["text"].as_str().expect("text").to_owned()
}

#[test]
fn an_approved_host_is_reached_until_the_policy_changes() {
    for program in [Program::new(), Program::new().refusing(Refused::OwnUserNamespaces)] {
        let mut server = eliciting(program);
        let id = run(&mut server, CURL);
        let form = choose(&mut server, "Allow while the server runs");
        let message = form["params"]["message"].as_str().expect("a message");
        assert!(
            message.contains("packages.example.com, port 443") && message.contains("curl -s -o"),
            "{message}"
        );
        let said = text(&server.answer(id));
        // The name does not exist, so the proxy fails later than at its list.
        assert!(said.starts_with("502") && !said.contains("was refused"), "{said}");
        // The same host is not asked about again.
        let id = run(&mut server, CURL);
        let said = text(&server.answer(id));
        assert!(said.starts_with("502"), "{said}");
        let recorded = lines(&server.program, 2);
        assert!(recorded[1].to_string().contains("policy.toml line 3"), "{recorded:?}");
    }
}

#[test]
fn a_denied_host_is_refused_to_the_whole_command() {
    let mut server = eliciting(Program::new());
    let id = run(&mut server, &format!("{CURL}; {CURL}; {CURL}"));
    choose(&mut server, "Deny");
    let said = text(&server.answer(id));
    assert_eq!(said.matches("403").count(), 3, "{said}");
    assert_eq!(said.matches("the person was asked, and denied it").count(), 1, "{said}");
}

#[test]
fn equal_questions_of_one_command_are_one_question() {
    let mut server = eliciting(Program::new());
    let id = run(
        &mut server,
        "for i in 1 2 3 4 5; do curl -s -o /dev/null -w '%{http_connect}\\n' https://packages.example.com/ & done; wait; true",
    );
    choose(&mut server, "Allow while the server runs");
    let said = text(&server.answer(id));
    assert_eq!(said.matches("502").count(), 5, "{said}");
}

#[test]
fn where_nobody_can_be_asked_the_host_is_refused_with_the_reason() {
    // Without progress, the client would give up.
    let mut server = eliciting(Program::new());
    let id = server.request("tools/call", json!({"name": "Bash", "arguments": {"command": CURL}}));
    let said = text(&server.answer(id));
    assert!(said.starts_with("403") && said.contains("requests progress"), "{said}");
    assert!(said.contains("`scorpiox-code policy allow host packages.example.com`"), "{said}");
    // In the background.
    let call = json!({"name": "BackgroundBash", "arguments": {"command": CURL}});
    let id = server.request("tools/call", call);
    server.answer(id);
    let mut said = String::new();
    for _ in 0..200 {
        let id = server.request("tools/call", json!({"name": "ReadBgOutput", "arguments": {"task_id": 1}}));
        said.push_str(&text(&server.answer(id)));
        if said.contains("no Bash call is running") {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{said}");
}

/// A question must not keep a call from its end.
#[test]
fn a_command_that_ends_takes_its_question_back() {
    let mut server = eliciting(Program::new());
    let id = run(&mut server, "curl -s --max-time 1 -o /dev/null https://packages.example.com/; echo over");
    let form = server.notification("elicitation/create");
    let said = text(&server.answer(id));
    assert!(said.starts_with("over"), "{said}");
    // A late answer changes nothing.
    let content = json!({"action": "accept", "content": {"q1": "Allow while the server runs"}});
    server.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": content}));
    let id = run(&mut server, CURL);
    choose(&mut server, "Deny");
    assert!(text(&server.answer(id)).starts_with("403"));
}

#[test]
fn an_approval_after_a_change_of_the_policy_counts_for_nothing() {
    let mut server = eliciting(Program::new());
    let id = run(&mut server, CURL);
    let form = server.notification("elicitation/create");
    let new = server.program.put("home/.scorpiox/policy.new", "version = 1\n");
    std::fs::rename(&new, new.with_file_name("policy.toml")).expect("renamed");
    let content = json!({"action": "accept", "content": {"q1": "Allow while the server runs"}});
    server.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": content}));
    let said = text(&server.answer(id));
    assert!(!said.contains("502"), "{said}");
}

#[test]
fn a_key_without_effect_is_refused() {
    let program = Program::new();
    program.put(
        "workspace/odd.toml",
        ASK.replace("unknown_hosts", "network = { mode = \"off\" }\nunknown_hosts"),
    );
    let (status, _, err) = program.run(&["policy", "check", "odd.toml"]);
    assert!(!status.success() && err.contains("has no effect under the network mode \"off\""), "{err}");
}
