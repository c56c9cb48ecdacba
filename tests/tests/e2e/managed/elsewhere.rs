//! Tests that every operation is denied in a directory that the policy excludes.

use std::fs;

use scorpiox_tests::Program;

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
