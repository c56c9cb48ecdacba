//! What `policy why`, `policy test` and `plugin list` say of plugins is what happens to their calls.

use scorpiox_tests::Program;

use super::{hash_of, install, source};

fn installed() -> (Program, String) {
    let program = Program::new();
    let component = std::fs::read(super::kinds()).expect("the component");
    let folder = source(&program, "kinds", "", &component);
    install(&program, &folder);
    let hash = hash_of(&program, &folder);
    (program, hash)
}

fn with_policy(program: &Program, rules: &str) {
    program.put("home/.scorpiox/policy.toml", format!("version = 1\n[plugins]\n{rules}\n"));
}

/// What it says in one row, and whether it is allowed.
fn why(program: &Program, what: &str, subject: &str) -> (bool, String) {
    let (status, out, err) = program.run(&["policy", "why", what, subject]);
    (status.success(), (out + &err).split_whitespace().collect::<Vec<_>>().join(" "))
}

fn calls(program: &Program) -> bool {
    program.run(&["call", "kinds.divide", r#"{"a": 6, "b": 3}"#]).0.success()
}

#[test]
fn a_bare_name_is_what_is_installed_and_approved() {
    let (program, hash) = installed();
    with_policy(&program, &format!("allow = [\"kinds@sha256:{hash}\"]"));
    assert!(calls(&program));
    for (what, subject) in [("plugin", "kinds"), ("tool", "kinds.divide")] {
        let (allowed, said) = why(&program, what, subject);
        assert!(allowed && said.contains(&format!("approved is sha256:{hash}")), "{said}");
    }
    program.put("workspace/cases", "allow plugin kinds\nallow tool kinds.divide\ndeny plugin other\n");
    let (status, out, err) = program.run(&["policy", "test", "cases"]);
    assert!(status.success(), "{out}{err}");
    program.run(&["plugin", "remove", "kinds"]);
    let (allowed, said) = why(&program, "plugin", "kinds");
    assert!(
        !allowed && said.contains(&format!("`allow` has kinds@sha256:{hash} (policy.toml line 3)")),
        "{said}"
    );
    let (allowed, said) = why(&program, "plugin", &format!("kinds@sha256:{}", hash.to_uppercase()));
    assert!(allowed, "{said}");
    let (allowed, said) = why(&program, "plugin", "kinds@sha256:12");
    assert!(!allowed && said.contains("is no hash"), "{said}");
}

#[test]
fn what_closes_a_plugin_is_told_of_it_and_of_its_tools() {
    let (program, _) = installed();
    for (rules, rule) in [
        (
            "deny = [\"kinds\"]",
            "plugin kinds is denied by \"kinds\" in `deny` of [plugins] (policy.toml line 3)",
        ),
        ("approve = \"policy\"", "`approve` (policy.toml line 3) leaves approving to the policy"),
    ] {
        with_policy(&program, rules);
        assert!(!calls(&program), "{rules}");
        for (what, subject) in [("plugin", "kinds"), ("tool", "kinds.divide")] {
            let (allowed, said) = why(&program, what, subject);
            assert!(!allowed && said.contains(rule), "{subject}: {said}");
        }
        for arguments in [&["plugin", "list"][..], &["plugin", "show", "kinds"]] {
            let (_, out, _) = program.run(arguments);
            let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains("approved, and the policy closes it") && said.contains(rule), "{said}");
        }
    }
}

#[test]
fn doctor_says_which_line_closes_tools_of_a_plugin() {
    let (program, _) = installed();
    program.put("home/.scorpiox/policy.toml", "version = 1\n[tools]\ndeny = [\"kinds.divide\"]\n");
    let (_, out, _) = program.run(&["doctor"]);
    let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(", 1 closed by [tools] of the policy (policy.toml line 3):"), "{said}");
    assert!(!said.contains("switched off by the settings"), "{said}");
}
