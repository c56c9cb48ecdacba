//! Tests of approvals that hold always, which are entries of the user's policy.toml.

use std::fs;

use scorpiox_tests::{Program, Started};
use serde_json::json;

use super::approvals::approver;
use super::told;
use crate::audit::lines;

const COMMAND: &str = "echo git push >> ran";

fn rule(remember: &str) -> String {
    format!(
        "version = 1\n# Our rule.\n[[rules]]\nname = \"push\"\nprograms = [\"git push *\", \"echo git push *\"]\n\
         then = \"ask\"\nchannel = \"strong\"\nremember = [{remember}]\n"
    )
}

fn runs(program: &Program) -> usize {
    fs::read_to_string(program.workspace().join("ran")).map_or(0, |text| text.lines().count())
}

#[test]
fn an_approval_that_holds_always_is_an_entry_that_a_person_reads_and_reverts() {
    let program = Program::new().with("PATH", "/usr/bin:/bin").with("ANSWER_WITHIN", "2");
    let (key, approver) = approver(&program, "ann");
    let before = format!("{}{approver}", rule("\"always\""));
    program.put("home/.scorpiox/policy.toml", &before);
    let mut server = program.start();
    server.initialize("2025-11-25");
    let push = |server: &mut Started| told(server, "Bash", json!({ "command": COMMAND }));
    assert!(push(&mut server).contains("Approval 1 waits"));
    // Neither without a proof, nor for more than the rule offers.
    let (status, _, said) = program.run(&["approvals", "approve", "1", "--yes", "--always"]);
    assert!(!status.success() && said.contains("--key"), "{said}");
    let approve = |more: &str| program.run(&["approvals", "approve", "1", "--yes", "--key", &key, more]);
    let (status, _, said) = approve("--remember");
    assert!(!status.success() && said.contains("do not offer to remember it so (\"workspace\")"), "{said}");
    let (status, shown, said) = approve("--always");
    assert!(status.success(), "{said}");
    assert!(shown.contains("[approved.1]\n+ arguments = "), "{shown}");
    let policy = || fs::read_to_string(program.home().join(".scorpiox/policy.toml")).expect("a policy");
    let written = policy();
    assert!(written.starts_with(&before), "{written}");
    for part in ["[approved.1]", COMMAND, "by = \"ann\"", "at = \"20"] {
        assert!(written.contains(part), "{part}: {written}");
    }
    // Equal calls run, also in other workspaces and servers, and others ask.
    for _ in 0..2 {
        assert!(push(&mut server).contains("exit code 0"));
    }
    assert!(
        told(&mut server, "Bash", json!({ "command": "echo git push more" })).contains("Approval 2 waits")
    );
    program.put("other/.keep", "");
    let other = program.home().parent().expect("a folder").join("other").display().to_string();
    let (status, out, said) =
        program.run(&["call", "Bash", "--workspace", &other, &format!("command={COMMAND}")]);
    assert!(status.success() && out.contains("exit code 0"), "{out}{said}");
    let approved = "approval 1 by ann (always, policy.toml line ";
    let recorded = lines(&program, 6);
    assert!(recorded.iter().any(|line| line.to_string().contains(approved)), "{recorded:?}");
    // It is shown, explained and reverted.
    let (_, shown, _) = program.run(&["policy", "show"]);
    assert!(shown.contains("[approved.1]"), "{shown}");
    let (_, kept, _) = program.run(&["approvals", "remembered"]);
    assert!(kept.contains("all (policy.toml line ") && kept.contains(COMMAND), "{kept}");
    let (_, kept, _) = program.run(&["approvals", "remembered", "--json"]);
    let kept: serde_json::Value = serde_json::from_str(&kept).expect("JSON");
    assert_eq!(kept["always"][0]["arguments"]["command"], COMMAND, "{kept}");
    let argument = format!("command={COMMAND}");
    let why = || program.run(&["policy", "why", "call", "Bash", &argument]);
    let (status, out, _) = why();
    assert!(
        status.success()
            && out.contains(": allowed: ")
            && out.contains("approval 1 by ann holds always (policy.toml line "),
        "{out}"
    );
    let (status, shown, said) = program.run(&["approvals", "revoke", "1"]);
    assert!(status.success() && shown.contains("[approved.1]\n- arguments = "), "{shown}{said}");
    assert_eq!(policy(), before);
    assert!(push(&mut server).contains("Approval 3 waits"));
    let (_, out, _) = why();
    assert!(out.contains(": asked about: "), "{out}");
    assert_eq!(runs(&program), 2);
}

/// A client's own shell can write the file, but not sign.
#[test]
fn an_entry_that_somebody_wrote_or_changed_approves_nothing() {
    let program = Program::new().with("PATH", "/usr/bin:/bin").with("ANSWER_WITHIN", "2");
    let (key, approver) = approver(&program, "ann");
    let text = format!("{}{approver}", rule("\"always\""));
    program.put("home/.scorpiox/policy.toml", &text);
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert!(told(&mut server, "Bash", json!({ "command": "echo git push x" })).contains("Approval 1 waits"));
    let (status, _, said) = program.run(&["approvals", "approve", "1", "--yes", "--key", &key, "--always"]);
    assert!(status.success(), "{said}");
    let written = fs::read_to_string(program.home().join(".scorpiox/policy.toml")).expect("a policy");
    let other = written.replace("echo git push x", COMMAND);
    assert_ne!(other, written);
    program.put("home/.scorpiox/policy.toml", &other);
    assert!(told(&mut server, "Bash", json!({ "command": COMMAND })).contains("Approval 2 waits"));
    // The rule offers it no more.
    program.put("home/.scorpiox/policy.toml", written.replace("[\"always\"]", "[\"workspace\"]"));
    assert!(told(&mut server, "Bash", json!({ "command": "echo git push x" })).contains("Approval 3 waits"));
    let (_, notes, _) = program.run(&["policy", "check"]);
    assert!(notes.contains("[approved.1]") && notes.contains("approves nothing"), "{notes}");
    assert_eq!(runs(&program), 0);
    // A weak channel gives no such approval.
    program.put("workspace/odd.toml", rule("\"always\"").replace("\"strong\"", "\"weak\""));
    let (status, out, said) = program.run(&["policy", "check", "odd.toml"]);
    assert!(status.code() == Some(2) && said.contains("odd.toml line 8"), "{out}{said}");
    assert!(said.contains("has \"always\", and nothing proves who answers"), "{said}");
}
