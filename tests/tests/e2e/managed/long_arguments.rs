//! Tests of calls with long arguments: rules judge them soon, and refuse what they do not compare.

use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use serde_json::{Map, json};

use super::told;

/// Many rules about the same argument.
fn rules(count: usize) -> String {
    let rule = |at: usize| {
        format!(
            "[[rules]]\nname = \"r{at}\"\ntools = [\"Bash\", \"TaskManager\"]\n\
             arguments = {{ \"/command\" = \"*terraform apply{at}*\" }}\nthen = \"deny\"\n"
        )
    };
    format!("version = 1\n{}", (0..count).map(rule).collect::<String>())
}

/// Returns a text of about this length with as many and as long spellings as possible.
fn adverse(bytes: usize) -> String {
    format!(" http://h/{}?{}#x", "/\u{7f}".repeat(bytes / 4), "\u{7f}%41".repeat(bytes / 8))
}

/// Each of these calls took minutes, or hours.
#[test]
fn long_arguments_are_answered_soon_by_the_tool_or_by_the_rules() {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", rules(40));
    let mut server = program.serve();
    server.initialize("2025-06-18");
    let begun = Instant::now();
    // The tool's own limit comes first.
    let said = told(&mut server, "Bash", json!({ "command": adverse(12 << 20) }));
    assert!(said.contains("at most 131071 are possible"), "{said}");
    for command in [adverse(100_000), format!("true {}", "x".repeat(70_000))] {
        let said = told(&mut server, "Bash", json!({ "command": command }));
        let denied = "rule \"r0\" (policy.toml line 2) denies it, because the argument /command is longer than 65536 bytes";
        assert!(said.contains(denied), "{said}");
    }
    // Another tool has no such limit, and its argument of that name is not compared either.
    let said = told(&mut server, "TaskManager", json!({ "command": adverse(12 << 20) }));
    assert!(said.contains("because the argument /command is longer than 65536 bytes"), "{said}");
    let members: Map<_, _> = (0..1_000_000).map(|at| (format!("{at:x}"), json!(1))).collect();
    for tool in ["Bash", "ListBgTasks", "TaskManager"] {
        let said = told(&mut server, tool, json!(members));
        assert!(said.contains("arguments is not usable: more than 256 members"), "{tool}: {said}");
    }
    // Usual calls are compared and run.
    let said = told(
        &mut server,
        "Bash",
        json!({ "command": format!("echo \"$(wc -c <<< {})\"", "x".repeat(50_000)) }),
    );
    assert!(said.contains("50001"), "{said}");
    let said = told(&mut server, "Bash", json!({ "command": "terraform apply7" }));
    assert!(said.contains("rule \"r7\" (policy.toml line 37) denies it, and no approval"), "{said}");
    let elapsed = begun.elapsed();
    assert!(elapsed < Duration::from_secs(60), "{elapsed:?}");
}

#[test]
fn policy_why_says_that_an_argument_is_not_compared() {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", rules(1));
    let command = format!("command={}", "x".repeat(70_000));
    let (status, out, err) = program.run(&["policy", "why", "call", "Bash", &command]);
    assert!(!status.success() && out.contains("because the argument /command is longer than"), "{out}{err}");
}
