//! Tests of the paths that users expect, as commands see them.

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

/// The directory of temporary files may be below the program's own directory, whose name is protected.
#[test]
fn files_for_temporary_use_can_be_renamed_and_be_repositories() {
    for tier in TIERS {
        let program = in_tier(tier);
        let mut server = start(&program);
        let ran = bash(
            &mut server,
            "cd ${TMPDIR:-/tmp} && echo x > a && mv a b && git init -q x && git clone -q x y 2>&1 && mkdir -p z/.vscode && \
             mv z w && ls -A . w",
        );
        assert_eq!(ran.exit_code(), 0, "{tier}: {}", ran.text);
        assert!(ran.text.contains(".vscode"), "{tier}: {}", ran.text);
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
