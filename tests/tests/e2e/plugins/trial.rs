//! Tests of `plugin test`, which runs a plugin before it is installed.

use std::fs;

use scorpiox_tests::Program;

use super::{guest, source};

const MANIFEST: &str = "[capabilities.files]\nwhy = \"reads\"\nread = [\"workspace\"]\n";

#[test]
fn a_tool_is_called_with_what_the_plugin_asks_for_and_nothing_is_installed() {
    let program = Program::new();
    program.put("workspace/a.txt", "text");
    program.put("workspace/.env", "A=1");
    let bytes = fs::read(guest("outsider")).expect("the component");
    let folder = source(&program, "outsider", MANIFEST, &bytes);
    let (status, out, err) = program.run(&["plugin", "test", &folder]);
    assert!(
        status.success() && out.contains("outsider.read-file") && out.contains("It can be added"),
        "{out}{err}"
    );
    let (status, out, err) = program.run(&["plugin", "test", &folder, "read-file", r#"{"path": "a.txt"}"#]);
    assert!(status.success() && out.starts_with("text\n"), "{out}{err}");
    assert!(out.contains("KiB of memory") && out.contains("touched files read "), "{out}");
    let (status, out, _) = program.run(&["plugin", "test", &folder, "read-file", r#"{"path": ".env"}"#]);
    assert!(!status.success() && out.contains("error: not-permitted"), "{out}");
    assert!(out.contains("refused: denied by \"**/.env!("), "{out}");
    let (_, out, _) = program.run(&["plugin", "test", &folder, "sleep", r#"{"milliseconds": "x"}"#]);
    assert!(out.contains("error, invalid input: milliseconds: expected an integer"), "{out}");
    let (_, out, _) = program.run(&["plugin", "list"]);
    assert_eq!(out, "no plugins; `scorpiox-code plugin add FILE` installs one\n");
    let left = fs::read_dir(program.home().join(".scorpiox/plugins")).expect("a folder").count();
    assert_eq!(left, 0, "something was left behind");
}

#[test]
fn limits_hold_in_a_trial_too() {
    let program = Program::new();
    let bytes = fs::read(guest("kinds")).expect("the component");
    let folder = source(&program, "kinds", "[limits]\ncpu_seconds = 1\n", &bytes);
    let (status, out, _) = program.run(&["plugin", "test", &folder, "kinds.hostile.spin"]);
    assert!(!status.success() && out.contains("used up its 1 s of processor time"), "{out}");
    let (status, _, err) = program.run(&["plugin", "test", &folder, "spin"]);
    assert!(!status.success() && err.contains("kinds has no tool spin; its tools: divide"), "{err}");
    let (status, out, err) = program.run(&["plugin", "test", &folder, "divide", "a:=6", "b:=3"]);
    assert!(status.success() && out.starts_with("2\n\n"), "{out}{err}");
    let (status, _, err) = program.run(&["plugin", "test", &folder, "divide", "[1]"]);
    assert!(!status.success() && err.contains("the arguments are not a JSON object: [1]"), "{err}");
}

#[test]
fn a_trial_leaves_a_line_also_where_the_policy_refuses_it() {
    let program = Program::new();
    let bytes = fs::read(guest("kinds")).expect("the component");
    let folder = source(&program, "kinds", "", &bytes);
    let divide =
        |tool: &str| program.run(&["plugin", "test", &folder, tool, r#"{"a": 6, "b": 3}"#]).0.success();
    assert!(divide("divide"));
    for rule in [
        "[plugins]\ndeny = [\"kinds\"]",
        "[tools]\ndeny = [\"kinds.divide\"]",
        "[workspaces]\nallow = [\"/srv\"]",
    ] {
        program.put("home/.scorpiox/policy.toml", format!("version = 1\n{rule}\n"));
        assert!(!divide("divide") && !divide("kinds.divide"), "{rule}");
    }
    let lines = crate::audit::lines(&program, 8);
    assert_eq!((&lines[0]["tool"], &lines[0]["outcome"]), (&"plugin test".into(), &"ok".into()));
    // The tool call has an audit line like every other call.
    assert_eq!((&lines[1]["tool"], &lines[1]["outcome"]), (&"kinds.divide".into(), &"ok".into()));
    for line in &lines[2..] {
        let used = &line["uses"][0];
        assert_eq!(
            (&line["tool"], &line["outcome"], &line["fault"], &used["rule"]),
            (&"plugin test".into(), &"refused".into(), &"policy".into(), &"policy.toml line 3".into()),
            "{line}"
        );
    }
}

#[test]
fn a_silent_panic_of_rust_names_the_function_that_it_came_from() {
    let program = Program::new();
    let component = wat::parse_str(
        "(component
            (core module $code
                (func $_ZN4core9panicking9panic_fmt17h0123456789abcdefE unreachable)
                (func $_ZN6plugin4open17h0123456789abcdefE (call 0))
                (func $bad (export \"bad\") (call 1)))
            (core instance $code (instantiate $code))
            (func (export \"bad\") (canon lift (core func $code \"bad\"))))",
    );
    program.put("workspace/rx.wasm", component.expect("a component"));
    let (status, out, err) = program.run(&["plugin", "test", "rx.wasm", "bad"]);
    assert!(!status.success() && out.contains("make TARGET=wasm32-wasip2"), "{out}{err}");
    assert!(out.contains("It came from plugin::open, from bad."), "{out}");
    assert!(!err.contains("call failed"), "once: {err}");
}

#[test]
fn what_is_wrong_on_the_command_line_is_named() {
    let program = Program::new();
    let bytes = fs::read(guest("kinds")).expect("the component");
    let folder = source(&program, "kinds", "", &bytes);
    program.put("workspace/kinds.wasm", bytes);
    program.put("workspace/none.wasm", wat::parse_str("(component)").expect("a component"));
    let sign = |version| ["plugin", "sign", "kinds.wasm", "--key", "none.key", "--version", version];
    for (words, expected) in [
        (&["plugin", "hash", "kinds.wasm", "--max-tools", "1000"][..], "--max-tools 1000: write 1 to 256"),
        (&sign("1"), "a version has three numbers, such as 1.0.0"),
        (
            &sign("1.0.0"),
            "the secret key none.key does not exist; `scorpiox-code plugin keygen NAME` creates one",
        ),
        (&["plugin", "verify", &folder], "is a folder; `scorpiox-code plugin add` names the signer"),
        (&["plugin", "inspect", &folder], "`scorpiox-code plugin test` describes a plugin's folder"),
        (&["plugin", "init", "none.wasm"], "it exports nothing, so there is nothing to call"),
    ] {
        let (status, out, err) = program.run(words);
        assert!(!status.success() && err.contains(expected), "{words:?}: {out}{err}");
    }
    assert!(!program.workspace().join("plugin.toml").exists(), "nothing was drafted");
}

#[test]
fn an_empty_error_is_said_to_have_no_reason() {
    let program = Program::new();
    let component = wat::parse_str(
        "(component
            (core module $code
                (memory (export \"memory\") 1)
                (data (i32.const 0) \"\\01\")
                (func (export \"refuse\") (result i32) (i32.const 0)))
            (core instance $code (instantiate $code))
            (func (export \"refuse\") (result (result (error string)))
                (canon lift (core func $code \"refuse\") (memory (core memory $code \"memory\")))))",
    );
    program.put("workspace/silent.wasm", component.expect("a component"));
    let (status, out, err) = program.run(&["plugin", "test", "silent.wasm", "refuse"]);
    assert!(!status.success() && out.starts_with("error: refuse failed and gave no reason.\n"), "{out}{err}");
}
