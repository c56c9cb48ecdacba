//! Tests of restrictions in the user's own policy, with and without a policy for all users.

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
    let file = "to allow it, write in /etc/scorpiox/policy.toml, which only the administrator of this machine can: deny =";
    assert!(out.contains(file), "{out}");
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
    refused("policy.toml is gone: it was in use here; put it back, or run `scorpiox-code policy forget`");
    symlink("nowhere", &path).expect("a link");
    refused("policy.toml is a symbolic link to nowhere, which is not there");
    fs::remove_file(&path).expect("removes");
    let (forgot, out, err) = program.run(&["policy", "forget"]);
    assert!(forgot.success(), "{out}{err}");
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert!(!told(&mut server, "TaskManager", json!({ "action": "list" })).contains("refused"));
    // `policy forget` without a previous policy reports that there is nothing to forget.
    assert!(program.run(&["policy", "forget"]).1.contains("nothing to forget"));
}

#[test]
fn an_address_in_a_url_is_judged_alike_by_why_and_by_cases() {
    let program = Program::new();
    program.put("workspace/team.toml", "version = 1\n[web]\nallow_private = [\"10.0.0.0/8\"]\n");
    let urls = ["http://192.168.0.1/", "http://127.0.0.1:8080/", "http://[::1]/", "http://2130706433/"];
    let cases: String = urls.iter().map(|url| format!("deny url {url}\n")).collect();
    program.put("workspace/cases", format!("{cases}deny url http://10.0.0.1/\nallow url https://1.1.1.1/\n"));
    let (passed, out, err) = program.run(&["policy", "test", "cases"]);
    assert!(passed.success() && out == "6 cases, all as expected.\n", "{out}{err}");
    for url in urls {
        let (allowed, out, err) = program.run(&["policy", "why", "url", url]);
        assert!(allowed.code() == Some(1) && out.contains("denied: "), "{out}{err}");
        program.put("workspace/one", format!("allow url {url}\n"));
        let (_, told, _) = program.run(&["policy", "test", "one"]);
        let why = out.lines().next().and_then(|line| line.split_once(": denied: ")).expect("a reason").1;
        assert!(told.contains(&format!("is denied: {why}\n")), "{told}{why}");
    }
    let (passed, out, _) = program.run(&["policy", "test", "cases", "--policy", "team.toml"]);
    assert!(!passed.success() && out.contains("line 5: deny url http://10.0.0.1/: is allowed: "), "{out}");
    assert!(out.ends_with("6 cases, 1 not as expected.\n"), "{out}");
}

#[test]
fn what_is_in_a_home_folder_below_tmp_is_not_open_to_commands() {
    let program = Program::new();
    // Commands have a private `/tmp`.
    let home = tempfile::Builder::new().tempdir_in("/tmp").expect("a folder");
    let program = program.with("HOME", home.path().to_str().expect("a path"));
    let own = program.home().join(".scorpiox");
    let program = program.with("SCORPIOX_HOME", own.to_str().expect("a path"));
    std::fs::write(home.path().join("notes"), "").expect("writes");
    for (access, file) in
        [("read", "~/.ssh/id_ed25519"), ("read", "~/notes"), ("write", "~/.bashrc"), ("write", "~/notes")]
    {
        let (allowed, out, err) = program.run(&["policy", "why", access, file]);
        let says = "denied: commands have a /tmp of their own, and ";
        assert!(allowed.code() == Some(1) && out.contains(says), "{access} {file}: {out}{err}");
    }
    program
        .put("workspace/cases", "deny read ~/.ssh/id_ed25519\ndeny write ~/.bashrc\nallow write /tmp/x/y\n");
    let (passed, out, err) = program.run(&["policy", "test", "cases"]);
    assert!(passed.success(), "{out}{err}");
    let (_, out, _) = program.run(&["policy", "why", "read", "/tmp/x/y"]);
    assert!(out.contains("which covers /tmp/x/y in the commands' own /tmp"), "{out}");
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
            "line 2: allow host git.example.com:22: is denied: git.example.com is not among the allowed hosts"
        ),
        "{out}"
    );
    // If no project is open, the command explains the base of relative paths.
    let home = program.home().display().to_string();
    let at_home = ["--workspace", &home, "policy", "test", "good.cases", "--policy", "team.toml"];
    let (passed, out, err) = program.run(&at_home);
    assert!(passed.success() && out == "9 cases, all as expected.\n", "{out}{err}");
    assert!(err.contains("is not a project, so that relative paths are those of "), "{err}");
    program.put("workspace/near.cases", "deny tool weather.today\ndeny tool bash\n");
    let (passed, _, err) = program.run(&["policy", "test", "near.cases"]);
    assert!(
        passed.code() == Some(2)
            && err.contains("near.cases line 2: there is no tool \"bash\"; did you mean Bash?"),
        "{err}"
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
        assert!(!again.success() && err.contains("exists already"), "{err}");
        for (path, is_open) in [
            (".env.example", true),
            (".venv/lib/certifi/cacert.pem", example == "developer"),
            (".env.test", false),
            ("deploy/server-key.pem", false),
            ("privkey.pem", false),
        ] {
            // The folder is none of the team's workspaces.
            if example == "team" {
                continue;
            }
            let (why, said, _) = program.run(&["policy", "why", "read", path]);
            assert_eq!(why.success(), is_open, "{example}, {path}: {said}");
        }
        let (_, diff, _) = program.run(&["policy", "diff"]);
        assert!(diff.contains("\n+ ") || example == "team", "{diff}");
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

#[test]
fn a_refusal_names_the_line_of_whoever_closes_it() {
    let program = program();
    let wide = "version = 1\n[web]\nallow = [\"*\"]\n[files]\nread = [\"/\"]\n[shell.profile.workspace]\nread = [\"@system\", \"/\"]\n\
                network = { mode = \"allowlist\", hosts = [\"*.example.org\", \"git.example.com\"] }\n[tools]\nallow = [\"*\"]\n";
    program.put("home/.scorpiox/policy.toml", wide);
    let managed_policy = "version = 1\n[web]\nallow = [\"docs.example.com\"]\n[tools]\nallow = [\"Bash\", \"Read*\"]\n\
        [shell.profile.workspace]\nread = [\"@system\"]\nnetwork = { mode = \"allowlist\", hosts = [\"git.example.com\"] }\n";
    let program = managed(program, managed_policy, "");
    let why =
        |what: &str, subject: &str| program.run(&["policy", "why", what, subject]).1.replace("\n    ", " ");
    for (what, subject, line) in [
        ("url", "https://evil.example.org/", 3),
        ("tool", "TaskManager", 5),
        ("host", "evil.example.org", 8),
        ("file", "/etc/hosts", 0),
        ("read", "/srv/x", 7),
    ] {
        let said = why(what, subject);
        let by = if line == 0 {
            "(built-in)".to_owned()
        } else {
            format!("/etc/scorpiox/policy.toml line {line}")
        };
        assert!(said.contains(&by), "{what}: {said}");
    }
    let mut server = program.start();
    server.initialize("2025-11-25");
    told(&mut server, "ReadDocs", json!({ "url": "https://evil.example.org/" }));
    told(&mut server, "TaskManager", json!({ "action": "list" }));
    told(&mut server, "NoSuchTool", json!({}));
    let lines = crate::audit::lines(&program, 3);
    let rules: Vec<_> = lines.iter().map(|line| line["uses"][0]["rule"].as_str().unwrap_or("none")).collect();
    assert_eq!(
        rules,
        ["/etc/scorpiox/policy.toml line 3", "/etc/scorpiox/policy.toml line 5", "none"],
        "{lines:?}"
    );
    assert_eq!((&lines[1]["fault"], &lines[2]["fault"]), (&json!("policy"), &json!("unknown-tool")));
}

#[test]
fn a_folder_that_may_not_be_worked_on_is_refused_with_the_line_and_the_policy_can_be_asked_there() {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", "version = 1\n[workspaces]\nallow = [\"/srv/elsewhere\"]\n");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let text = told(&mut server, "TaskManager", json!({ "action": "list" }));
    assert!(text.contains("`allow` of [workspaces] (policy.toml line 3)"), "{text}");
    let line = &crate::audit::lines(&program, 1)[0];
    assert_eq!((&line["fault"], &line["uses"][0]["rule"]), (&json!("policy"), &json!("policy.toml line 3")));
    assert_eq!(line["policy"].as_str().expect("a hash").len(), 64);
    for arguments in [&["show"][..], &["check"], &["diff"], &["why", "workspace", "/srv/elsewhere/x"]] {
        let (ran, out, err) = program.run(&[&["policy"], arguments].concat());
        assert!(ran.success(), "{arguments:?}: {out}{err}");
    }
}

#[test]
fn what_would_not_hold_is_refused() {
    for (line, words) in [
        ("deny = [\"/usr/bin/curl\"]", "which is among the system's programs"),
        ("deny = [\"/etc/ssl/certs\"]", "which is among the system's programs"),
    ] {
        let program = Program::new();
        program
            .put("home/.scorpiox/policy.toml", format!("version = 1\n[shell.profile.workspace]\n{line}\n"));
        let mut server = program.start();
        server.initialize("2025-11-25");
        let text = told(&mut server, "Bash", json!({ "command": "true" }));
        assert!(text.contains(words) && text.contains("(policy.toml line 3)"), "{text}");
        assert!(!text.contains("no sandbox"), "{text}");
        let refused = &crate::audit::lines(&program, 1)[0]["uses"][0];
        assert_eq!((&refused["allowed"], &refused["rule"]), (&json!(false), &json!("policy.toml line 3")));
        let (_, out, _) = program.run(&["policy", "check"]);
        assert!(out.contains("note: ") && out.contains(words), "{out}");
    }
    let program = Program::new();
    for (name, meant) in [("SetCalback", "SetCallback"), ("demo_*", "demo.*"), ("Web*", ""), ("demo.*", "")] {
        program.put("home/.scorpiox/policy.toml", format!("version = 1\n[tools]\ndeny = [\"{name}\"]\n"));
        let (strict, out, _) = program.run(&["policy", "check", "--strict"]);
        let note = format!(
            "[tools] names {name} (policy.toml line 3), and no tool has such a name; did you mean {meant}?"
        );
        assert_eq!((strict.success(), out.contains(&note)), (meant.is_empty(), !meant.is_empty()), "{out}");
    }
    program.put("home/.scorpiox/policy.toml", "version = 1\n[tools]\ndeny = \"WebSearch\"\n");
    let (_, _, err) = program.run(&["policy", "check"]);
    assert!(err.contains("such as [\"Bash\", \"weather.*\"]"), "{err}");
}
