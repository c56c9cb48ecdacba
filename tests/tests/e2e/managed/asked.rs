//! Tests of `policy ask`.

use std::fs;

use scorpiox_tests::Program;
use scorpiox_tests::managed::managed;
use serde_json::json;

const OWN: &str = "home/.scorpiox/policy.toml";

fn own(program: &Program) -> String {
    fs::read_to_string(program.home().join(".scorpiox/policy.toml")).unwrap_or_default()
}

/// Runs `policy` and returns its code and all of its output.
fn policy(program: &Program, arguments: &[&str]) -> (Option<i32>, String) {
    let (status, out, errors) = program.run(&[&["policy"], arguments].concat());
    (status.code(), out + &errors)
}

#[test]
fn a_person_is_asked_about_unknown_hosts_after_one_command() {
    let program = Program::new();
    program.put(OWN, "# mine\nversion = 1\n");
    let (code, shown) = policy(&program, &["ask", "host", "--print"]);
    assert!(code == Some(0) && shown.contains("+ unknown_hosts = \"ask\""), "{shown}");
    assert_eq!(own(&program), "# mine\nversion = 1\n", "nothing is written");
    assert_eq!(policy(&program, &["ask", "host"]).0, Some(0));
    assert!(own(&program).starts_with("# mine\n") && own(&program).contains("unknown_hosts = \"ask\""));
    let shown = policy(&program, &["why", "host", "a.example.com"]).1;
    assert!(shown.contains("a person is asked about it"), "{shown}");
    let text = own(&program);
    assert!(policy(&program, &["ask", "host"]).1.contains("Nothing to change"));
    assert_eq!(own(&program), text);
}

#[test]
fn a_question_that_would_have_no_effect_is_not_written() {
    let program = Program::new();
    for (network, says) in [
        ("network = { mode = \"open\" }", "every host is allowed"),
        ("network = { mode = \"off\" }", "no host is reached"),
    ] {
        program.put(OWN, format!("version = 1\n[shell.profile.workspace]\n{network}\n"));
        let before = own(&program);
        let (code, said) = policy(&program, &["ask", "host"]);
        assert!(code == Some(2) && said.contains(says) && said.contains("policy.toml line 3"), "{said}");
        assert_eq!(own(&program), before);
    }
    program.put(OWN, "version = 1\n[tools]\ndeny = [\"WebSearch\"]\n");
    for (arguments, says) in [
        (&["ask", "host", "a.example.com"][..], "run `policy allow host` for it"),
        (&["ask", "host", "--profile", "nobody"], "there is no shell profile \"nobody\""),
        (&["ask", "tool"], "name a tool"),
        (&["ask", "tool", "WebSerch"], "did you mean WebSearch?"),
        (&["ask", "tool", "WebSearch"], "WebSearch is denied, and nobody is asked about it"),
        (&["ask", "read", "a b"], "`scorpiox-code policy allow read 'a b'`"),
        (&["ask", "write", "out"], "`scorpiox-code policy deny write out`"),
        (&["ask", "write", "out"], "no tier of the sandbox waits for an answer"),
        (&["ask", "read", "a\u{202e}b"], "`scorpiox-code policy allow read PATH`"),
    ] {
        let (code, said) = policy(&program, arguments);
        assert!(code == Some(2) && said.contains(says), "{said}");
    }
    let program =
        managed(Program::new(), "version = 1\n[shell.profile.workspace]\nunknown_hosts = \"deny\"\n", "");
    let (code, said) = policy(&program, &["ask", "host"]);
    assert!(code == Some(2) && said.contains("a change of your policy.toml cannot ask"), "{said}");
}

#[test]
fn a_person_is_asked_before_each_call_of_a_tool() {
    let program = Program::new();
    let (code, shown) = policy(&program, &["ask", "tool", "TaskManager", "PlanMode"]);
    assert!(code == Some(0) && shown.contains("[[rules]] \"ask TaskManager\""), "{shown}");
    let text = own(&program);
    assert_eq!(text.matches("[[rules]]").count(), 2, "{text}");
    assert!(policy(&program, &["ask", "tool", "TaskManager"]).1.contains("Nothing to change"));
    assert!(policy(&program, &["why", "tool", "PlanMode"]).1.contains("asks before each call"));
    // Nobody can be asked here.
    let mut server = program.start();
    server.initialize("2025-11-25");
    let said = super::told(&mut server, "TaskManager", json!({ "action": "list" }));
    assert!(said.contains("rule \"ask TaskManager\""), "{said}");
    // A name that is taken gets a number.
    program
        .put(OWN, "version = 1\n[[rules]]\nname = \"ask Bash\"\ntools = [\"PlanMode\"]\nthen = \"deny\"\n");
    policy(&program, &["ask", "tool", "Bash"]);
    assert!(own(&program).contains("name = \"ask Bash 2\""), "{}", own(&program));
}
