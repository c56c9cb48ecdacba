//! Tests that only the operator's file determines the policy.

use std::fs;

use scorpiox_tests::Program;
use scorpiox_tests::program::unwrapped;
use serde_json::json;

use super::super::audit;
use super::support::{Ran, bash, bash_for, in_tier, start, with_policy};

#[test]
fn a_policy_that_cannot_be_read_refuses_every_tool() {
    for (policy, place, fix) in [
        ("version = 1\n[shell]\nmin_teir = \"T1\"\n", "policy.toml line 3", "min_tier"),
        ("version = 1\n[shell]\nmin_tier = \"T9\"\n", "policy.toml line 3", "T1"),
        (
            "version = 1\n[shell]\nmax_background_tasks = \"many\"\n",
            "policy.toml line 3",
            "max_background_tasks",
        ),
        ("version = 1\n[shell.profile.workspace]\n\ndeny = [\"**/[\"]\n", "policy.toml line 4", "[\""),
        ("version = 2\n", "policy.toml line 1", "1"),
        ("[shell]\n", "policy.toml", "version"),
        ("version = 1\n[shell\n", "policy.toml line 2", "]"),
        ("version = 1\n\u{0}", "policy.toml line 2", ""),
    ] {
        let program = Program::new();
        program.put("home/.scorpiox/policy.toml", policy);
        let mut server = start(&program);
        for tool in ["Bash", "BackgroundBash"] {
            let result = server.call(tool, json!({ "command": "touch ran" }));
            let ran = Ran::of(&result);
            assert!(ran.refused().contains(place), "{policy:?}: {}", ran.text);
            assert!(ran.text.contains(fix), "{policy:?}: {}", ran.text);
        }
        assert!(!program.workspace().join("ran").exists());
        for (tool, arguments) in [
            ("TaskManager", json!({ "action": "create", "text": "a task" })),
            ("ListBgTasks", json!({})),
            ("PlanMode", json!({ "action": "status" })),
        ] {
            let ran = Ran::of(&server.call(tool, arguments));
            let is_said = ran.text.starts_with("All tools are refused until the policy is corrected: ");
            assert!(ran.is_error && is_said && ran.text.contains(place), "{policy:?}: {tool}: {}", ran.text);
        }
        let listed = server.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().expect("tools");
        let says_why = |tool: &serde_json::Value| {
            tool["description"]
                .as_str()
                .is_some_and(|text| text.starts_with("All tools are refused until the policy"))
        };
        assert!(!tools.is_empty() && tools.iter().all(says_why), "{listed}");
        assert!(server.ask("ping", json!({}))["error"].is_null());
        let refused = audit::lines(&program, 5);
        assert!(
            refused.iter().all(|line| line["outcome"] == "refused" && line["fault"] == "policy"),
            "{refused:?}"
        );
        let (status, _, errors) = program.run(&["policy", "check"]);
        assert!(!status.success() && errors.contains(place), "{policy:?}: {errors}");
    }
}

#[test]
fn a_policy_that_others_can_write_is_not_obeyed() {
    use std::os::unix::fs::PermissionsExt;
    let program = with_policy(Program::new(), "[shell]\nallow_unsandboxed = true\n");
    let path = program.home().join(".scorpiox/policy.toml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("a mode");
    let ran = bash(&mut start(&program), "true");
    assert!(ran.refused().contains("policy.toml"), "{}", ran.text);
}

#[test]
fn the_least_tier_is_kept() {
    for (least, tier) in [("T1", "T1b"), ("T1", "T2"), ("T1b", "T2")] {
        let program = with_policy(in_tier(tier), &format!("[shell]\nmin_tier = \"{least}\"\n"));
        let mut server = start(&program);
        let ran = bash(&mut server, "touch ran");
        assert!(ran.refused().contains(&format!("no sandbox of tier {least} or better")), "{}", ran.text);
        assert!(ran.text.contains("doctor"), "{}", ran.text);
        assert!(!program.workspace().join("ran").exists());
        let said = unwrapped(&program.run(&["doctor"]).1);
        assert!(said.contains("Commands are refused") || said.contains("commands are refused"), "{said}");
    }
}

/// Neither files of the workspace, nor variables that a client sets for a project, nor unknown arguments have
/// an effect.
#[test]
fn nothing_that_a_model_can_reach_changes_the_policy() {
    let program = in_tier("T2");
    let policy = "version = 1\n[shell]\nallow_unsandboxed = true\n[shell.profile.workspace]\nnetwork = { mode = \"open\" }\n";
    for path in
        ["policy.toml", ".scorpiox/policy.toml", ".scorpiox/settings.json", "scorpiox-env.txt", ".env"]
    {
        program.put(&format!("workspace/{path}"), policy);
    }
    let program = with_policy(program, "[shell]\nmin_tier = \"T1\"\n");
    let mut server = start(&program);
    for arguments in [
        json!({ "command": "touch ran" }),
        json!({ "command": "touch ran", "tier": "none", "allow_unsandboxed": true }),
        json!({ "command": "touch ran", "profile": "open", "dangerouslyDisableSandbox": true }),
    ] {
        let ran = Ran::of(&server.call("Bash", arguments));
        assert!(ran.is_error && ran.data.is_null(), "{}", ran.text);
    }
    assert!(!program.workspace().join("ran").exists());
}

#[test]
fn a_command_cannot_write_its_own_rules() {
    let program = Program::new();
    // The worst case: the policy would be right above the workspace, which is the program's own directory if
    // no project is open.
    let home = program.home().to_owned();
    let program = program.with("SCORPIOX_WORKSPACE", &home.display().to_string());
    let mut server = start(&program);
    let attack = "cd ..; mkdir -p ../.scorpiox; printf 'version = 1\\n[shell]\\nallow_unsandboxed = true\\n' > \
        policy.toml; mv ../.scorpiox ../.away; mv workspace away; ln -s /tmp x; true";
    bash(&mut server, attack);
    assert!(home.join(".scorpiox/workspace").is_dir());
    assert!(!home.join(".scorpiox/policy.toml").exists());
    assert!(!home.join(".away").exists());
    assert_eq!(bash(&mut start(&program), "true").data["tier"], "T1");
}

/// A repository's client settings could name a directory that the repository contains.
#[test]
fn a_home_in_the_workspace_is_refused() {
    for name in ["", "..", ".home", "a/../.home/deeper"] {
        let program = Program::new();
        program.put("workspace/.home/policy.toml", "version = 1\n[shell]\nallow_unsandboxed = true\n");
        fs::create_dir(program.workspace().join("a")).expect("a folder");
        let home = program.workspace().join(name).display().to_string();
        let (status, _, errors) = program.with("SCORPIOX_HOME", &home).run(&["doctor"]);
        assert!(
            !status.success() && errors.contains("a repository could bring them along"),
            "{name}: {errors}"
        );
    }
}

#[test]
fn limits_and_times_of_the_policy_hold() {
    let program = with_policy(
        Program::new(),
        "[shell]\ndefault_timeout_ms = 300\nmax_timeout_ms = 1000\n[shell.profile.workspace]\n\
         limits = { open_files = 64, file_size = \"1MiB\", tmp = \"1MiB\" }\n",
    );
    let mut server = start(&program);
    let ran = bash(&mut server, "sleep 9");
    assert!(ran.text.contains("timed out after 300 ms"), "{}", ran.text);
    let advice = "a `timeout` of up to 1000 (milliseconds) gives it longer; BackgroundBash runs a command without a timeout";
    assert!(ran.text.contains(advice), "{}", ran.text);
    let ran = bash_for(&mut server, "sleep 9", 1000);
    assert!(ran.text.contains("[BackgroundBash runs a command without a timeout]"), "{}", ran.text);
    assert!(bash_for(&mut server, "true", 1001).refused().contains("1000"));
    assert_eq!(bash(&mut server, "ulimit -n; ulimit -c").succeeded(), "64\n0\n");
    let ran = bash(&mut server, "head -c 2M /dev/zero > large; wc -c < large");
    assert!(ran.output().contains("1048576"), "{}", ran.text);
    let ran = bash(&mut server, "head -c 2M /dev/zero > /tmp/large");
    assert!(
        ran.output().contains("No space left") || ran.output().contains("File size limit"),
        "{}",
        ran.text
    );
}

#[test]
fn policy_shows_what_holds_and_says_why() {
    let program = with_policy(
        Program::new(),
        "[shell.profile.workspace]\nnetwork = { mode = \"allowlist\", hosts = [\"*.example.com\"] }\n",
    );
    let said = |arguments: &[&str]| {
        let (status, output, errors) = program.run(arguments);
        (status.code(), output + &errors)
    };
    let (code, shown) = said(&["policy", "show"]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("[shell.profile.workspace]") && shown.contains("policy.toml line 3"), "{shown}");
    assert_eq!(said(&["policy", "check"]).0, Some(0));
    let (_, why) = said(&["policy", "why", "host", "api.example.com"]);
    assert!(why.contains("policy.toml line 3"), "{why}");
    let (_, why) = said(&["policy", "why", "host", "example.org"]);
    assert!(why.contains("denied") || why.contains("refused") || why.contains("not listed"), "{why}");
    program.put("workspace/.env", "");
    let (_, why) = said(&["policy", "why", "read", ".env"]);
    assert!(why.contains("**/.env!("), "{why}");
    assert!(why.contains("to allow it, write in your policy.toml: deny = []"), "{why}");
    let (_, why) = said(&["policy", "why", "write", ".git/hooks/pre-commit"]);
    assert!(why.contains(".git/hooks"), "{why}");
    let (_, why) = said(&["policy", "why", "command", "ls"]);
    assert!(why.contains("workspace"), "{why}");
}

/// A denied file that git stores is not reported as hidden. The operator and the model are informed about it.
#[test]
fn denied_files_that_git_keeps_are_told_of_and_not_said_to_be_denied() {
    let program = with_policy(Program::new(), "[shell.profile.workspace]\ndeny = [\"finance/\"]\n");
    program.put("workspace/finance/q4.csv", "revenue 12345\n");
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.current_dir(program.workspace()).env("HOME", program.home()).args(["-c", "user.name=t"]);
        let made = command.args(["-c", "user.email=t@example.com"]).args(arguments).status();
        assert!(made.expect("git starts").success(), "{arguments:?}");
    };
    let told = |command: &[&str]| program.run(command).1.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "git tracks denied files";
    assert!(!told(&["policy", "check"]).contains("git"), "there is no repository");
    git(&["init", "-q", "."]);
    assert!(!told(&["policy", "check"]).contains(said), "nothing was added");
    git(&["add", "-f", "finance/q4.csv"]);
    git(&["commit", "-qm", "figures"]);
    for command in [&["policy", "check"][..], &["doctor"]] {
        let out = told(command);
        assert!(out.contains(said) && out.contains("finance/q4.csv"), "{command:?}: {out}");
    }
    git(&["rm", "-q", "--cached", "finance/q4.csv"]);
    git(&["commit", "-qm", "away with them"]);
    let out = told(&["policy", "check"]);
    assert!(out.contains("git's history has denied files (finance/q4.csv, in commit "), "{out}");
    let mut server = start(&program);
    let ran = bash(&mut server, "git archive HEAD~1 | tar xO; cat finance/q4.csv; true");
    assert!(ran.output().contains("revenue 12345"), "{}", ran.text);
    let lines = audit::lines(&program, 1);
    let uses = lines.last().expect("a line")["uses"].as_array().expect("uses").clone();
    let hidden: Vec<_> = uses.iter().filter(|used| used["hidden"] == true).collect();
    assert!(!hidden.is_empty() && uses.iter().all(|used| used["allowed"] != false), "{uses:?}");
    assert!(program.run(&["audit", "--denied"]).1.contains("no recorded call"), "{uses:?}");
    assert!(program.run(&["audit", "--hidden"]).1.contains("the name was refused by"), "{uses:?}");
}

/// The repository that starts a program is reported, regardless of the others.
#[test]
fn harmless_repositories_do_not_hide_the_one_that_starts_programs() {
    let program = Program::new();
    let mut server = start(&program);
    let ran = bash(
        &mut server,
        "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do mkdir $n && git init -q $n; done; git -C 9 config core.fsmonitor x; true",
    );
    assert!(ran.text.contains("new: ") && ran.text.contains("9/.git"), "{}", ran.text);
    assert!(!ran.text.contains("8/.git") && !ran.text.contains("more"), "{}", ran.text);
    let ran = bash(
        &mut server,
        "git init -q --template= plain; long=$(printf %200s | tr ' ' x)
         for n in $(seq 400); do mkdir $long$n && cp -r plain/.git $long$n/; done
         cp -r plain zz && git -C zz config core.fsmonitor x",
    );
    assert!(
        ran.text.contains("zz/.git") && !ran.text.contains("xxx") && !ran.text.contains("more"),
        "{}",
        ran.text
    );
}
