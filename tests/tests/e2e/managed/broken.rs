//! Tests of an unusable policy for all users: the program refuses to work without it.

use scorpiox_tests::Program;
use scorpiox_tests::managed::{laid_out, managed};
use serde_json::json;

use super::{CLOSED, program, told};

/// Asserts that every tool returns the same error.
#[track_caller]
fn refuses(program: &Program, words: &[&str]) {
    let mut server = program.start();
    server.initialize("2025-11-25");
    for (tool, arguments) in [
        ("Bash", json!({ "command": "true" })),
        ("TaskManager", json!({ "action": "list" })),
        ("ReadDocs", json!({ "url": "https://example.com/" })),
    ] {
        let text = told(&mut server, tool, arguments);
        assert!(
            text.starts_with(
                "All tools are refused until the policy is corrected: /etc/scorpiox/policy.toml"
            ),
            "{tool}: {text}"
        );
        assert!(words.iter().all(|word| text.contains(word)), "{tool}: {words:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    assert!(server.ask("ping", json!({}))["error"].is_null());
    let (status, _, err) = program.run(&["policy", "check"]);
    assert!(!status.success() && words.iter().all(|word| err.replace("\n  ", " ").contains(word)), "{err}");
}

#[test]
fn each_way_to_break_the_file_is_told_with_its_line_and_what_to_do() {
    for (text, words) in [
        ("", &["has no `version`", "write `version = 1`"][..]),
        ("version = 2\n", &["line 1", "version 2 is not known"]),
        ("version = 1\n[shell\n", &["line 2", "is not TOML"]),
        ("version = 1\n[shel]\n", &["line 2", "did you mean `shell`"]),
        ("version = 1\n[web]\nenabled = \"no\"\n", &["line 3", "write true or false"]),
        ("version = 1\n[web]\nallow = [\"a b\"]\n", &["line 3", "is not a host name"]),
        ("version = 1\n[tools]\ndeny = [\"a*b\"]\n", &["line 3", "before its end"]),
        ("version = 1\n[plugins]\nallow = [\"x@sha256:12\"]\n", &["line 3", "no valid hash"]),
        ("version = 1\nmin_version = \"soon\"\n", &["line 2", "write a version"]),
        ("version = 1\n[web]\nenabled = true\nenabled = false\n", &["line 4", "keep one of them"]),
    ] {
        refuses(&managed(program(), text, ""), words);
    }
}

#[test]
fn a_file_that_others_can_write_is_not_taken_for_the_administrators() {
    refuses(
        &laid_out(program(), &[("policy.toml", CLOSED, 0o666)], ""),
        &["can be written by others than root (mode 0666)"],
    );
    if rustix::process::geteuid().is_root() {
        refuses(&laid_out(program(), &[("policy.toml", CLOSED, 0o600)], ""), &["cannot be read"]);
    }
}

#[test]
fn a_policy_for_all_can_be_asked_for() {
    let program = Program::new().arg("--managed").arg("required");
    if std::path::Path::new("/etc/scorpiox/policy.toml").exists() {
        return;
    }
    refuses(&program, &["is not there", "`--managed required`"]);
    let program = managed(super::program().arg("--managed").arg("required"), "version = 1\n", "");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let ran = told(&mut server, "Bash", json!({ "command": "echo it runs" }));
    assert!(ran.starts_with("it runs"), "{ran}");
}
