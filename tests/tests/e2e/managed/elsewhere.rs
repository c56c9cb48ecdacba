//! In a folder that the policy closes nothing is allowed, whatever is asked about.

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
