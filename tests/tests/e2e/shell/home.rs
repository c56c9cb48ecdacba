//! What commands find under the names that a person knows.

use scorpiox_tests::Program;
use serde_json::json;

use super::support::{Ran, TIERS, bash, in_tier, start, with_policy};

#[test]
fn a_folder_of_the_home_is_there_under_the_name_that_the_policy_has() {
    for tier in TIERS {
        let program = in_tier(tier);
        program.put("home/notes/deep/reference/x", "known\n");
        program.put("home/other/x", "not opened\n");
        let text = "[shell.profile.workspace]\nread = [\"@system\", \"~/notes/deep/reference\"]\n";
        let program = with_policy(program, text);
        let mut server = start(&program);
        let path = program.home().join("notes/deep/reference/x");
        let command = format!(
            "cat ~/notes/deep/reference/x {}; cat ~/other/x; echo y > ~/notes/deep/reference/x",
            path.display()
        );
        let ran = bash(&mut server, &command);
        assert!(ran.text.starts_with("known\nknown\n"), "{tier}: {}", ran.text);
        assert!(!ran.text.contains("not opened"), "{tier}: {}", ran.text);
        assert_eq!(std::fs::read_to_string(&path).expect("it"), "known\n", "{tier}");
    }
}

#[test]
fn where_the_systems_programs_are_closed_no_command_runs() {
    let program = with_policy(Program::new(), "[shell.profile.workspace]\nread = []\n");
    let mut server = start(&program);
    let ran = Ran::of(&server.call("Bash", json!({ "command": "true" })));
    assert!(ran.refused().contains("`read` (policy.toml line 3) lacks \"@system\""), "{}", ran.text);
    let (_, why, _) = program.run(&["policy", "why", "read", "/usr/bin/true"]);
    assert!(why.contains("denied"), "{why}");
    let (ran, _, err) = program.run(&["policy", "why", "command", "true"]);
    assert!(!ran.success() && err.contains("lacks \"@system\""), "{err}");
}
