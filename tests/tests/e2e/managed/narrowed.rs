//! What a person's own policy takes away, beside the one for all and alone.

use std::fs;
use std::os::unix::fs::symlink;

use scorpiox_tests::Program;
use scorpiox_tests::managed::managed;
use serde_json::json;

use super::{CLOSED, program, told};

#[test]
fn the_outcome_names_the_line_and_the_file_of_each_part() {
    let program = program();
    program.put(
        "home/.scorpiox/policy.toml",
        "version = 1\n[tools]\ndeny = [\"Bash\"]\n[shell]\nmax_background_tasks = 2\n",
    );
    let program = managed(program, CLOSED, "");
    let (status, shown, err) = program.run(&["policy", "show"]);
    assert!(status.success(), "{err}");
    for line in [
        "    \"WebSearch\",                                # /etc/scorpiox/policy.toml line 10\n    \"Bash\",",
        "enabled = false                                 # /etc/scorpiox/policy.toml line 6",
        "max_background_tasks = 2                        # policy.toml line 5",
        "required = true                                 # /etc/scorpiox/policy.toml line 14",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    let (why, out, _) = program.run(&["policy", "why", "tool", "Bash"]);
    assert!(
        !why.success() && out.contains("denied by \"Bash\" in `deny` of [tools] (policy.toml line 3)"),
        "{out}"
    );
    let (why, out, _) = program.run(&["policy", "why", "read", "secret"]);
    assert!(!why.success() && out.contains("(/etc/scorpiox/policy.toml line 4)"), "{out}");
}

#[test]
fn a_tool_that_is_denied_is_not_listed_and_not_called() {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", "version = 1\n[tools]\nallow = [\"Bash\", \"Task*\"]\n");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let listed = server.ask("tools/list", json!({}));
    let names: Vec<_> = listed["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, [Some("Bash"), Some("TaskManager")]);
    let text = told(&mut server, "PlanMode", json!({ "action": "status" }));
    assert!(text.contains("tool PlanMode is not in `allow` of [tools] (policy.toml line 3)"), "{text}");
    let (_, tools, _) = program.run(&["tools"]);
    assert!(tools.contains("PlanMode  (closed: tool PlanMode is not in `allow`"), "{tools}");
}

#[test]
fn a_policy_that_was_there_and_is_gone_is_missed() {
    let program = Program::new();
    let path = program.put("home/.scorpiox/policy.toml", "version = 1\n[web]\nenabled = false\n");
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert!(told(&mut server, "Bash", json!({ "command": "echo yes" })).starts_with("yes"));
    drop(server);
    fs::remove_file(&path).expect("removes");
    let refused = |why: &str| {
        let mut server = program.start();
        server.initialize("2025-11-25");
        let text = told(&mut server, "TaskManager", json!({ "action": "list" }));
        assert!(text.contains(why), "{text}");
    };
    refused("policy.toml: is gone: it was in use here; put it back, or run `scorpiox-code policy forget`");
    symlink("nowhere", &path).expect("a link");
    refused("cannot be read");
    fs::remove_file(&path).expect("removes");
    let (forgot, out, err) = program.run(&["policy", "forget"]);
    assert!(forgot.success(), "{out}{err}");
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert!(!told(&mut server, "TaskManager", json!({ "action": "list" })).contains("refused"));
    // Who never had one is not asked to forget it.
    assert!(program.run(&["policy", "forget"]).1.contains("nothing to forget"));
}

#[test]
fn cases_that_a_team_keeps_are_checked_against_a_policy() {
    let program = Program::new();
    program.put("workspace/team.toml", "version = 1\n[shell.profile.workspace]\nnetwork = { mode = \"allowlist\", hosts = [\"git.example.com:22\"], allow_private = [\"10.1.0.0/16\"] }\n[tools]\ndeny = [\"AskUserQuestion\"]\n");
    program.put(
        "workspace/good.cases",
        "# what builds need\nallow host git.example.com:22\ndeny host git.example.com\ndeny host example.org as build\n\
         deny read .env\nallow write src/main.rs\ndeny tool AskUserQuestion\nallow url https://docs.example.com/\n\
         deny read /etc/shadow as readonly\nallow plugin weather\n",
    );
    let (passed, out, err) = program.run(&["policy", "test", "good.cases", "--policy", "team.toml"]);
    assert!(passed.success() && out == "9 cases, all as expected.\n", "{out}{err}");
    let (passed, out, _) = program.run(&["policy", "test", "good.cases"]);
    assert!(!passed.success() && out.ends_with("9 cases, 2 not as expected.\n"), "{out}");
    assert!(
        out.contains(
            "line 2: allow host git.example.com:22: is denied: the network of profile workspace is off"
        ),
        "{out}"
    );
    program.put("workspace/bad.cases", "deny read x\nrefuse read y\n");
    let (passed, _, err) = program.run(&["policy", "test", "bad.cases"]);
    assert!(
        !passed.success() && err.contains("bad.cases line 2: \"refuse\" is not `allow` or `deny`"),
        "{err}"
    );
}

#[test]
fn a_first_policy_is_written_once_and_is_one() {
    for example in ["locked", "developer", "team"] {
        let program = Program::new();
        let (wrote, out, err) = program.run(&["policy", "init", "--example", example]);
        assert!(wrote.success() && out.starts_with("Wrote "), "{out}{err}");
        assert!(program.run(&["policy", "check"]).0.success() || example == "team", "{example}");
        let (again, _, err) = program.run(&["policy", "init", "--example", example]);
        assert!(!again.success() && err.contains("is there already"), "{err}");
        let (_, diff, _) = program.run(&["policy", "diff"]);
        assert!(diff.contains("\n- ") || example == "team", "{diff}");
    }
    let program = Program::new();
    let (asked, _, err) = program.run(&["policy", "init"]);
    assert!(!asked.success() && err.contains("there is no terminal to ask at"), "{err}");
    let (shown, out, _) = program.run(&["policy", "init", "--example", "team", "--print"]);
    assert!(
        shown.success()
            && out.contains("[workspaces]")
            && !program.home().join(".scorpiox/policy.toml").exists()
    );
}
