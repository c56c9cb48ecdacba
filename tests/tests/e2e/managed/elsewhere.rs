//! Tests that every operation is denied in a directory that the policy excludes.

use std::fs;

use scorpiox_tests::Program;
use serde_json::json;

#[test]
fn in_a_closed_folder_everything_is_denied_but_other_folders() {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", "version = 1\n[workspaces]\nallow = [\"/srv/allowed\"]\n");
    let says =
        "is in none of the folders that `allow` of [workspaces] (policy.toml line 3) has: \"/srv/allowed\"";
    let subjects = [
        ("read", "a.txt"),
        ("write", "a.txt"),
        ("host", "example.com"),
        ("url", "https://example.com/"),
        ("file", "a.png"),
        ("tool", "Bash"),
        ("plugin", "weather"),
        ("command", "ls"),
    ];
    for (what, subject) in subjects {
        let (status, out, err) = program.run(&["policy", "why", what, subject]);
        assert!(status.code() == Some(1) && out.contains(says), "{what}: {out}{err}");
    }
    assert!(program.run(&["policy", "why", "workspace", "/srv/allowed/x"]).0.success());
    let cases: String =
        subjects.iter().take(7).map(|(what, subject)| format!("deny {what} {subject}\n")).collect();
    program.put("workspace/cases", format!("{cases}deny workspace .\nallow workspace /srv/allowed/x\n"));
    let (status, out, err) = program.run(&["policy", "test", "cases"]);
    assert!(status.success() && out.contains("9 cases, all as expected"), "{out}{err}");
}

#[test]
fn a_folder_that_cannot_be_a_workspace_is_denied_however_it_is_written() {
    let program = Program::new();
    let home = program.home().display().to_string();
    for asked in ["~", "~/", &home, &format!("{home}/."), "/"] {
        let (judged, out, err) = program.run(&["policy", "why", "workspace", asked]);
        assert!(!judged.success() && out.contains("cannot be a workspace"), "{asked}: {out}{err}");
        assert!(out.contains(".scorpiox/workspace"), "{asked}: {out}");
    }
    for asked in [".", "../workspace"] {
        let (judged, out, err) = program.run(&["policy", "why", "workspace", asked]);
        assert!(judged.success() && out.contains("[workspaces] has no `allow`"), "{asked}: {out}{err}");
    }
    // The folder that a server works on instead is judged, too.
    let allowed = |folder: &str| {
        let text = format!("version = 1\n[workspaces]\nallow = [{folder:?}]\n");
        program.put("home/.scorpiox/policy.toml", text);
        program
            .run(&["policy", "why", "workspace", "~"])
            .1
            .contains("and refuses every tool there: the workspace")
    };
    assert!(allowed("/srv/allowed") && !allowed("~/.scorpiox/workspace"));
    fs::remove_file(program.home().join(".scorpiox/policy.toml")).expect("it is there");
    program.run(&["policy", "forget"]);
    let (judged, out, _) = program.run(&["--workspace", &home, "policy", "why", "workspace", "."]);
    assert!(!judged.success() && out.contains("cannot be a workspace"), "{out}");
}

#[cfg(unix)] // links
#[test]
fn a_workspace_is_judged_by_the_folder_that_links_lead_to() {
    use std::os::unix::fs::symlink;

    let program = Program::new();
    let folder = program.home().parent().expect("a folder").to_owned();
    let real = folder.join("real");
    std::fs::create_dir_all(real.join("inside")).expect("made");
    std::fs::create_dir(folder.join("other")).expect("made");
    symlink(&real, folder.join("link")).expect("a link");
    symlink(folder.join("other"), real.join("out")).expect("a link");
    let opens = |at: &std::path::Path| {
        let at = at.display().to_string();
        let (served, out, err) =
            program.run(&["--workspace", &at, "call", "TaskManager", r#"{"action": "list"}"#]);
        let (judged, why, _) = program.run(&["--workspace", &at, "policy", "why", "workspace", &at]);
        assert_eq!(served.success(), judged.success(), "{at}: {out}{err}{why}");
        served.success()
    };
    let allow = |at: &std::path::Path| {
        let text = format!("version = 1\n[workspaces]\nallow = [\"{}\"]\n", at.display());
        program.put("home/.scorpiox/policy.toml", text);
    };
    for allowed in [folder.join("link"), real.clone()] {
        allow(&allowed);
        for (at, expected) in [
            (real.clone(), true),
            (real.join("inside"), true),
            (folder.join("link"), true),
            (folder.join("link/inside"), true),
            (real.join("out"), false),
            (folder.join("other"), false),
        ] {
            assert_eq!(opens(&at), expected, "{} under {}", at.display(), allowed.display());
        }
    }
    allow(&folder.join("link"));
    let (_, out, err) = program.run(&["--workspace", &real.display().to_string(), "policy", "check"]);
    let note = format!("(policy.toml line 3), which leads to {}: that folder counts", real.display());
    assert!(out.contains(&note), "{out}{err}");
    allow(&real);
    let (_, out, _) = program.run(&["--workspace", &real.display().to_string(), "policy", "check"]);
    assert!(!out.contains("leads to"), "{out}");
    // Commands could let a link in a folder that they write lead anywhere.
    symlink(folder.join("other"), program.workspace().join("mine")).expect("a link");
    let mine = program.workspace().join("mine").display().to_string();
    let text =
        format!("version = 1\n[workspaces]\nallow = [\"{mine}\", \"{}\"]\n", program.workspace().display());
    program.put("home/.scorpiox/policy.toml", text);
    let (_, out, err) = program.run(&["policy", "check"]);
    assert!(out.contains("reached by a link that commands can change"), "{out}{err}");
}

/// A folder that the policy closes is opened by a change, without a restart.
#[test]
fn a_folder_that_is_opened_is_served_from_the_next_call_on() {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", "version = 1\n[workspaces]\nallow = [\"/srv/allowed\"]\n");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let said = super::told(&mut server, "Bash", json!({ "command": "echo in" }));
    assert!(said.contains("`allow` of [workspaces]") && !said.starts_with("in\n"), "{said}");
    let folder = program.workspace().display().to_string();
    let (status, out, err) = program.run(&["policy", "allow", "workspace", &folder]);
    assert!(status.success(), "{out}{err}");
    let said = super::told(&mut server, "Bash", json!({ "command": "echo in" }));
    assert!(said.starts_with("in\n"), "{said}");
}
