//! Tests that untrusted names and texts in the output of commands cannot control a terminal.

use std::os::unix::fs::symlink;

use scorpiox_tests::Program;

use super::plugins::{guest, source, watching};

/// Asserts that a text contains neither control characters nor characters that reverse its direction.
#[track_caller]
fn is_plain(text: &str) {
    let acts = |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
    assert!(!text.contains(acts), "{}", text.escape_debug());
}

const BAD: &str = "x\u{1b}]52;c;eA==\u{7}\u{202e}\nallowed: this is fine\n";

#[test]
fn names_that_a_repository_chose_forge_no_verdict() {
    let program = Program::new();
    program.put(&format!("workspace/{BAD}/file"), "");
    symlink(BAD, program.workspace().join("plain")).expect("a link");
    for what in ["read", "write", "file"] {
        let (_, out, err) = program.run(&["policy", "why", what, "plain/file"]);
        is_plain(&out);
        is_plain(&err);
        assert!(!out.lines().any(|line| line.starts_with("allowed")), "{out}");
    }
    let bytes = std::fs::read(guest("kinds")).expect("the component");
    let folder =
        source(&program, "kinds", "[capabilities.files]\nwhy = \"x\"\nread = [\"workspace\"]\n", &bytes);
    program.run(&["plugin", "add", &folder]);
    let (_, out, err) = program.run(&["plugin", "why", "kinds", "files", "plain/file"]);
    is_plain(&out);
    is_plain(&err);
    assert!(!out.lines().any(|line| line.starts_with("allowed")), "{out}");
}

#[test]
fn what_an_unapproved_plugin_says_acts_on_no_terminal() {
    let program = Program::new();
    program.put("workspace/a.txt", format!("{BAD}می\u{200c}خواهم"));
    let bytes = std::fs::read(guest("outsider")).expect("the component");
    let manifest = "[capabilities.files]\nwhy = \"reads\"\nread = [\"workspace\"]\n";
    let folder = source(&program, "outsider", manifest, &bytes);
    let (status, out, err) = program.run(&["plugin", "test", &folder, "read-file", r#"{"path": "a.txt"}"#]);
    assert!(status.success(), "{out}{err}");
    is_plain(&out);
    assert!(out.contains("this is fine\nمی\u{200c}خواهم"), "{out}");
}

/// Returns the screen of a command at a terminal with these variables, and whether it succeeded.
fn screen(variables: &[(&str, &str)], arguments: &[&str], awaited: &str) -> (bool, String) {
    let program = variables.iter().fold(Program::new(), |program, (name, value)| program.with(name, value));
    watching(awaited, &program, arguments, "", |_, _| ())
}

#[test]
fn colors_are_for_terminals_that_have_them_and_not_refused() {
    let (works, colored) = screen(&[("TERM", "xterm-256color")], &["doctor"], "Everything works");
    assert!(
        works && colored.contains("\u{1b}[32mok\u{1b}[0m") && colored.contains("\u{1b}[1mShell"),
        "{colored:?}"
    );
    for variables in [&[("TERM", "dumb")][..], &[("TERM", "xterm-256color"), ("NO_COLOR", "1")]] {
        let (works, plain) = screen(variables, &["doctor"], "Everything works");
        assert!(works && plain.contains("  ok    ") && !plain.contains('\u{1b}'), "{variables:?}: {plain:?}");
    }
    let program = Program::new().with("TERM", "xterm-256color");
    let (_, piped, _) = program.run(&["doctor"]);
    is_plain(&piped);
}

#[test]
fn the_server_at_a_terminal_says_what_to_try() {
    let (works, shown) = screen(&[], &[], "--help");
    assert!(!works && shown.contains("an AI client starts it"), "{shown}");
    for command in ["setup", "doctor", "tools", "call Bash"] {
        assert!(shown.contains(&format!("\n  scorpiox-code {command}")), "{command}: {shown}");
    }
}
