//! Tests that `policy why`, `policy test` and `plugin list` agree with the actual outcome of plugin calls.

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

/// Returns `true` if the subject is allowed, and the explanation joined into one line.
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
    assert!(!allowed && said.contains("is not a hash"), "{said}");
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

#[test]
fn doctor_says_of_each_plugin_that_does_not_run_why() {
    let (program, _) = installed();
    let component = std::fs::read(super::kinds()).expect("the component");
    let doctor = || {
        let (status, out, _) = program.run(&["doctor"]);
        (status.code(), out.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (code, said) = doctor();
    assert!(code == Some(0) && said.contains("ok plugin kinds, "), "{said}");
    // A pending or negative decision is not a problem.
    let waiting = source(&program, "waiting", "", &component);
    program.run(&["plugin", "add", &waiting]);
    install(&program, &source(&program, "denied", "", &component));
    program.run(&["plugin", "deny", "denied"]);
    install(&program, &source(&program, "closed", "", &component));
    with_policy(&program, "deny = [\"closed\"]");
    let (code, said) = doctor();
    for row in [
        "note plugin waiting waits for approval: look at it and decide with `scorpiox-code plugin approve waiting`",
        "note plugin denied does not run: it was denied",
        "note plugin closed does not run: plugin closed is denied by \"closed\" in `deny` of [plugins] (policy.toml line 3)",
        "Everything works.",
    ] {
        assert!(code == Some(0) && said.contains(row), "{row}: {said}");
    }
    // A plugin that worked and stopped working is a problem.
    program.put("home/.scorpiox/plugins/kinds/c.wasm", "another");
    program.put("home/.scorpiox/plugins/broken/plugin.toml", "name = 7");
    std::fs::remove_dir_all(program.home().join(".scorpiox/plugins/denied")).expect("removes");
    std::fs::remove_dir_all(program.home().join(".scorpiox/plugins/closed")).expect("removes");
    let (code, said) = doctor();
    for row in [
        "FAIL plugin kinds is disabled: its component is not the one that was approved; look at it and decide \
         with `scorpiox-code plugin approve kinds`",
        "FAIL plugin broken cannot be used: ",
        "FAIL plugin closed does not run: its files are gone; install it again, or run `scorpiox-code plugin remove closed`",
        "note plugin denied was denied, and its files are gone; `scorpiox-code plugin remove denied` forgets it",
        "3 things have to be fixed",
    ] {
        assert!(code == Some(1) && said.contains(row), "{row}: {said}");
    }
}

/// An operator can deny a plugin by any of its hashes that appear in the audit.
#[test]
fn each_hash_that_the_audit_has_of_a_plugin_closes_it() {
    let (program, hash) = installed();
    assert!(calls(&program));
    let (_, line, _) = program.run(&["audit", "--json", "--last", "1"]);
    let line: serde_json::Value = serde_json::from_str(line.trim()).expect("a line");
    let component = line["component"].as_str().expect("a hash").to_owned();
    assert_eq!(
        (line["plugin"]["name"].as_str(), line["plugin"]["hash"].as_str()),
        (Some("kinds"), Some(&*hash))
    );
    assert_ne!(component, hash);
    for seen in [hash.clone(), component.clone(), component.to_uppercase()] {
        with_policy(&program, &format!("deny = [\"sha256:{seen}\"]"));
        assert!(!calls(&program), "{seen}");
        assert!(
            !why(&program, "plugin", "kinds").0
                && !why(&program, "plugin", &format!("kinds@sha256:{seen}")).0
        );
        let (status, out, err) = program.run(&["policy", "check", "--strict"]);
        assert!(status.success(), "{out}{err}");
        let (_, found, _) = program.run(&["audit", "--component", &seen, "--json"]);
        assert!(found.contains("\"tool\":\"kinds.divide\""), "{found}");
    }
    let (_, denied, _) = program.run(&["audit", "--json", "--rule", "deny = *"]);
    assert!(
        denied.contains("\"rule\":\"policy.toml line 3\"") && denied.contains("\"rule_text\":\"deny = "),
        "{denied}"
    );
    // In `allow`, only the hash of the complete plugin approves it. An unknown hash produces a note.
    with_policy(&program, &format!("approve = \"policy\"\nallow = [\"sha256:{component}\"]"));
    assert!(!calls(&program));
    let (status, out, _) = program.run(&["policy", "check", "--strict"]);
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!status.success() && out.contains("the hash of its component, of kinds"), "{out}");
    assert!(out.contains(&format!("its own is sha256:{hash}")), "{out}");
    with_policy(&program, &format!("deny = [\"sha256:{}\"]", "0".repeat(64)));
    let (status, out, _) = program.run(&["policy", "check", "--strict"]);
    assert!(!status.success() && out.contains("no plugin that is installed here has that hash"), "{out}");
}

#[test]
fn who_has_a_plugin_is_said_over_exported_audits() {
    let (program, hash) = installed();
    assert!(calls(&program));
    let audit = program.home().join(".scorpiox/audit/audit.jsonl");
    let copy = std::fs::read_to_string(&audit).expect("an audit");
    let other = copy.lines().filter(|line| line.contains("kinds.divide"));
    let other: Vec<_> = other
        .map(|line| line.replace("\"user\":\"", "\"user\":\"x").replace("\"prev\":\"", "\"p\":\""))
        .collect();
    let files = [
        program.put("fleet/one.jsonl", copy.clone()),
        program.put("fleet/two.jsonl", other.join("\n") + "\n"),
    ];
    let [one, two] = files.map(|file| file.display().to_string());
    let (status, out, err) = program.run(&["audit", "report", "--plugins", "--json", &one, &two]);
    assert!(status.success(), "{out}{err}");
    let rows: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row["plugin"].as_str(), row["hash"].as_str(), row["standing"].as_str()))
        .collect();
    let kinds = (Some("kinds"), Some(&*hash));
    assert_eq!(told, [(kinds.0, kinds.1, Some("installed")), (kinds.0, kinds.1, Some("used"))], "{out}");
    program.run(&["plugin", "remove", "kinds"]);
    let (_, out, _) = program.run(&["audit", "report", "--plugins"]);
    assert!(out.contains("removed") && out.contains(&hash[..12]), "{out}");
}

/// An advisory is followed up by the calls that were refused since.
#[test]
fn a_refused_call_is_found_by_the_hash_of_its_plugin() {
    let (program, hash) = installed();
    with_policy(&program, &format!("deny = [\"sha256:{hash}\"]"));
    assert!(!calls(&program));
    with_policy(&program, "");
    program.put("home/.scorpiox/policy.toml", "version = 1\n[tools]\ndeny = [\"kinds.*\"]\n");
    assert!(!calls(&program));
    let (_, lines, _) = program.run(&["audit", "--json", "--component", &hash, "--failed"]);
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in lines {
        assert_eq!(
            (&line["plugin"]["name"], &line["plugin"]["hash"]),
            (&"kinds".into(), &hash.as_str().into())
        );
        assert!(line["component"].as_str().is_some_and(|component| component.len() == 64), "{line}");
    }
}

/// Both programs have the same user and machine, as containers of one image and several homes of a user do.
#[test]
fn machines_of_one_name_are_told_apart_and_filters_leave_no_decision_out() {
    let (one, hash) = installed();
    assert!(calls(&one));
    let (two, _) = installed();
    assert!(two.run(&["plugin", "remove", "kinds"]).0.success());
    let audits = [&one, &two].map(|program| {
        let audit = program.home().join(".scorpiox/audit/audit.jsonl");
        audit.display().to_string()
    });
    for order in [[0, 1], [1, 0]] {
        let [first, second] = order.map(|at| audits[at].as_str());
        for filter in [&[][..], &["--component", &hash]] {
            let arguments = [&["audit", "report", "--plugins", first, second], filter].concat();
            let (_, out, err) = one.run(&arguments);
            let mut standings: Vec<_> =
                ["installed", "removed"].into_iter().filter(|word| out.contains(word)).collect();
            standings.sort_unstable();
            assert_eq!(standings, ["installed", "removed"], "{out}{err}");
            assert_eq!(out.matches(", audit ").count(), 2, "{out}");
        }
    }
}

#[test]
fn a_copy_under_another_name_of_a_denied_plugin_is_noted() {
    let (program, _) = installed();
    let component = std::fs::read(super::kinds()).expect("the component");
    install(&program, &source(&program, "sort", "", &component));
    with_policy(&program, "deny = [\"kinds\"]");
    let (status, out, err) = program.run(&["policy", "check"]);
    let note = "note: [plugins] denies kinds (policy.toml line 3), and sort, which is installed here and not denied, has \
                the component of kinds: deny it by its hash, sha256:";
    assert!(status.success() && out.contains(note), "{out}{err}");
    let hash = out.split(note).nth(1).and_then(|rest| rest.get(..64)).expect("a hash");
    with_policy(&program, &format!("deny = [\"kinds\", \"sha256:{hash}\"]"));
    let (_, out, _) = program.run(&["policy", "check"]);
    assert!(!out.contains("has the component of"), "{out}");
    assert!(!program.run(&["call", "sort.divide", r#"{"a": 6, "b": 3}"#]).0.success());
}

/// If a line is required, nothing is carried out without one.
#[test]
fn nothing_is_changed_that_cannot_be_recorded_and_has_to_be() {
    let (program, hash) = installed();
    let component = std::fs::read(super::kinds()).expect("the component");
    let other = source(&program, "other", "", &component);
    let other_hash = hash_of(&program, &other);
    program.put("workspace/skill/SKILL.md", "---\nname: skill\ndescription: x\n---\ntext\n");
    program.put("home/.scorpiox/policy.toml", "version = 1\n[audit]\nrequired = true\n");
    // A file takes the place of the folder.
    let audit = program.home().join(".scorpiox/audit");
    std::fs::remove_dir_all(&audit).expect("removed");
    std::fs::write(&audit, "").expect("written");
    let tree = || {
        let (mut found, mut folders) = (Vec::new(), vec![program.home().join(".scorpiox")]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path.clone());
                }
                found.push((path.clone(), std::fs::read(&path).unwrap_or_default()));
            }
        }
        found.retain(|(path, _)| !path.to_string_lossy().contains(".lock") && !path.ends_with("cache"));
        found.sort();
        found
    };
    let skill = program.workspace().join("skill").display().to_string();
    let skill_hash = program.run(&["skills", "add", &skill]).1;
    let skill_hash =
        skill_hash.lines().find_map(|line| line.strip_prefix("hash ")).expect("a hash").to_owned();
    let before = tree();
    for arguments in [
        &["plugin", "add", &other, "--yes", &other_hash][..],
        &["plugin", "add", &other],
        &["plugin", "approve", "kinds", "--yes", &hash],
        &["plugin", "deny", "kinds"],
        &["plugin", "remove", "kinds"],
        &["plugin", "remove", "kinds", "--purge"],
        &["skills", "add", &skill, "--yes", &skill_hash],
    ] {
        let (status, out, err) = program.run(arguments);
        assert!(!status.success(), "{arguments:?}: {out}{err}");
        let after = tree();
        let names = |tree: &[(std::path::PathBuf, Vec<u8>)]| {
            tree.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&before), names(&after), "{arguments:?}: {out}{err}");
        assert!(before == after, "{arguments:?} changed a file: {out}{err}");
    }
}
