//! Tests of `policy replay`.

use scorpiox_tests::Program;
use serde_json::{Value, json};

use super::told;
use crate::audit::lines;

const NEW: &str = "version = 1\n[tools]\ndeny = [\"TaskManager\"]\n[[rules]]\nname = \"push\"\nprograms = [\"git push *\"]\n\
                   then = \"ask\"\nunknown = \"allow\"\n";

/// Returns a program that recorded four calls under a policy without rules.
fn recorded(audit: &str) -> Program {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", format!("version = 1\n{audit}"));
    program.put("workspace/new.toml", NEW);
    let mut server = program.start();
    server.introduce("client", "2025-11-25", json!({}));
    server.notify("notifications/initialized", json!({}));
    for _ in 0..2 {
        told(&mut server, "TaskManager", json!({ "action": "list" }));
    }
    told(&mut server, "Bash", json!({ "command": "true 'a b'" }));
    told(&mut server, "Bash", json!({ "command": "git push --dry-run" }));
    lines(&program, 4);
    program
}

#[test]
fn recorded_calls_are_judged_under_another_file_and_become_cases() {
    let program = recorded("[audit]\narguments = true\n");
    let before = std::fs::read(program.home().join(".scorpiox/policy.toml")).expect("a policy");
    let (status, out, err) = program.run(&["policy", "replay"]);
    assert!(
        status.success() && out.starts_with("4 calls since ") && out.contains(": 4 as recorded, 0 would"),
        "{out}{err}"
    );
    let (_, out, _) = program.run(&["policy", "replay", "new.toml"]);
    for piece in [
        "1 as recorded, 3 would change, 0 cannot be told.",
        "2 × TaskManager: allowed → denied: tool TaskManager is denied by \"TaskManager\" in `deny` of [tools]",
        "1 × Bash: allowed → asked about: rule \"push\" (policy.toml line 4) asks first",
    ] {
        assert!(out.contains(piece), "{piece}: {out}");
    }
    let (_, out, _) = program.run(&["policy", "replay", "new.toml", "--json"]);
    let told: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&told["calls"], &told["same"], &told["untold"]), (&json!(4), &json!(1), &json!([])));
    let pushed =
        |change: &&Value| change["tool"] == "Bash" && change["was"] == "allow" && change["now"] == "ask";
    assert_eq!(told["changes"].as_array().expect("changes").iter().filter(pushed).count(), 1, "{told}");
    let (_, cases, _) = program.run(&["policy", "replay", "new.toml", "--cases"]);
    assert!(cases.contains("# recorded as allowed\nask call Bash "), "{cases}");
    program.put("workspace/cases", &cases);
    let (status, out, err) = program.run(&["policy", "test", "cases", "--policy", "new.toml"]);
    assert!(status.success() && out.contains("3 cases, all as expected"), "{out}{err}");
    let after = std::fs::read(program.home().join(".scorpiox/policy.toml")).expect("a policy");
    assert_eq!(before, after, "nothing is changed");
    let (status, _, err) = program.run(&["policy", "replay", "none.toml"]);
    assert!(status.code() == Some(2) && err.contains("none.toml does not exist"), "{err}");
}

#[test]
fn a_call_whose_arguments_decide_and_are_not_recorded_cannot_be_told() {
    let program = recorded("");
    let (status, out, err) = program.run(&["policy", "replay", "new.toml"]);
    assert!(status.success() && out.contains("2 would change, 2 cannot be told."), "{out}{err}");
    assert!(out.contains("2 × Bash cannot be told: its arguments decide, and are not recorded"), "{out}");
}
