//! Tests of the choice of the sandbox and of its report.

use scorpiox_tests::Program;
use scorpiox_tests::program::unwrapped;

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
