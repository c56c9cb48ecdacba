//! Tests of the choice of the sandbox and of its report.

use scorpiox_tests::Program;
use scorpiox_tests::program::unwrapped;
use serde_json::json;

use super::support::{TIERS, bash, in_tier, start, with_policy};

#[test]
fn the_best_tier_that_the_machine_allows_is_chosen_and_doctor_explains_the_others() {
    for (at, tier) in TIERS.iter().enumerate() {
        let program = in_tier(tier);
        let mut server = start(&program);
        let ran = bash(&mut server, "true");
        assert_eq!(ran.data["tier"], *tier, "{}", ran.text);
        assert!(ran.text.contains(&format!("sandbox {tier}, ")), "{}", ran.text);
        let (status, said, errors) = program.run(&["doctor"]);
        let said = unwrapped(&said);
        assert!(status.success(), "{said}{errors}");
        assert!(said.contains(&format!("commands run in a sandbox of tier {tier}\n")), "{said}");
        for (other, name) in TIERS.iter().enumerate() {
            assert_eq!(said.contains(&format!("not in {name}: ")), other < at, "{name} in {tier}: {said}");
        }
    }
}

#[test]
fn without_a_sandbox_commands_run_only_where_the_operator_s_own_file_allows_it() {
    for (allowed, runs) in [(false, false), (true, true)] {
        let policy = format!("[shell]\nmin_tier = \"T1\"\nallow_unsandboxed = {allowed}\n");
        let program = with_policy(in_tier("T2"), &policy);
        let ran = bash(&mut start(&program), "echo ran");
        if runs {
            assert_eq!(ran.succeeded(), "ran\n");
            assert!(ran.text.contains("sandbox none"), "{}", ran.text);
        } else {
            ran.refused();
        }
    }
}

/// The policy closes nothing to such a command, so that it explains no refusal, and another entry in it changes nothing.
#[test]
fn without_a_sandbox_no_refusal_is_explained_by_the_policy() {
    let policy = "[shell]\nmin_tier = \"T1\"\nallow_unsandboxed = true\n[shell.profile.workspace]\n\
                  deny = [\"**/secret\"]\n[[rules]]\nname = \"a\"\ntools = [\"BackgroundBash\"]\nthen = \"deny\"\n\
                  after = { read = [\"**/secret\"] }\n";
    let program = with_policy(in_tier("T2"), policy);
    let mut server = start(&program);
    let ran = bash(&mut server, "echo 'cat: secret: Permission denied' >&2; exit 1");
    assert!(ran.text.contains("sandbox none") && !ran.text.contains("`deny`"), "{}", ran.text);
    program.run(&["policy", "clear"]);
    let call = json!({ "name": "BackgroundBash", "arguments": { "command": "true" } });
    let refused = server.ask("tools/call", call).to_string();
    assert!(refused.contains("`deny` closes nothing to commands while policy.toml has"), "{refused}");
    assert!(!refused.contains("policy deny read"), "{refused}");
}

#[test]
fn where_there_are_few_descriptors_each_command_is_answered() {
    for most in 14..=24 {
        let program = Program::new().after(&format!("ulimit -n {most}"));
        let mut server = start(&program);
        let ran = bash(&mut server, "echo it ran");
        let answers = ["it ran\n", "The command was not run: ", "Commands are refused: "];
        assert!(answers.iter().any(|answer| ran.text.starts_with(answer)), "{most}: {}", ran.text);
    }
}
