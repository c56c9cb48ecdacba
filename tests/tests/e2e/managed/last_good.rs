//! Tests of `last_good`: a broken file of the administrator leaves the last valid one in force.

use std::path::Path;
use std::process::Command;

use scorpiox_tests::managed::for_root;
use scorpiox_tests::{Program, Started};
use serde_json::json;

use super::told;
use crate::audit::lines;

const GOOD: &str = "version = 1\nlast_good = true\n[tools]\ndeny = [\"WebSearch\"]\n";
const BROKEN: &str = "version = 1\nlast_good = true\n[tools]\ndeny = 3\n";

/// Puts a file over the administrator's, as only root of the machine can.
fn replace(server: &Started, program: &Program, name: &str, text: &str) {
    let path = program.put(&format!("outside/{name}"), text);
    let process = server.child.id().to_string();
    let own_user = rustix::process::geteuid().is_root();
    let mut command = Command::new("nsenter");
    command.args(["--target", &process, "--mount"]);
    if !own_user {
        command.args(["--user", "--preserve-credentials"]);
    }
    command.args(["mount", "--bind"]).arg(path).arg(Path::new("/etc/scorpiox/policy.toml"));
    assert!(command.status().expect("runs").success(), "the file is replaced");
}

fn started(text: &str) -> (Program, Started) {
    let program = for_root(super::program(), &[("policy.toml", text, 0o644)]);
    let mut server = program.start();
    server.initialize("2025-11-25");
    (program, server)
}

fn list(server: &mut Started) -> String {
    told(server, "TaskManager", json!({ "action": "list" }))
}

#[test]
fn the_last_valid_policy_stays_in_force_until_the_file_is_corrected() {
    let (program, mut server) = started(GOOD);
    assert!(list(&mut server).contains("There are no tasks"));
    replace(&server, &program, "broken", BROKEN);
    assert!(list(&mut server).contains("There are no tasks"));
    let refused = told(&mut server, "WebSearch", json!({ "query": "a" }));
    assert!(!refused.contains("All tools are refused") && refused.contains("WebSearch"), "{refused}");
    let recorded = lines(&program, 3);
    let kept = recorded.iter().find(|line| line["tool"] == "changed policy").expect("a line").to_string();
    assert!(kept.contains("the last valid administrator's file stays in force"), "{kept}");
    assert!(kept.contains("line 4: `deny` in [tools] is the integer 3"), "{kept}");
    // A corrected file counts again.
    replace(&server, &program, "closed", "version = 1\n[tools]\ndeny = [\"TaskManager\"]\n");
    assert!(list(&mut server).contains("`deny` of [tools]"));
    // Without the key, a broken file refuses everything.
    replace(&server, &program, "broken", BROKEN);
    assert!(list(&mut server).contains("All tools are refused until the policy is corrected"));
}

#[test]
fn a_policy_that_is_broken_at_the_start_refuses_every_tool() {
    let (_program, mut server) = started(BROKEN);
    assert!(list(&mut server).contains("All tools are refused until the policy is corrected"));
}

#[test]
fn a_broken_file_of_the_user_is_not_covered_by_it() {
    let (program, mut server) = started(GOOD);
    assert!(list(&mut server).contains("There are no tasks"));
    program.put("home/.scorpiox/policy.toml", "version = 1\n[tools]\ndeny = 3\n");
    assert!(list(&mut server).contains("All tools are refused until the policy is corrected"));
    program.put("home/.scorpiox/policy.toml", GOOD);
    let said = list(&mut server);
    assert!(said.contains("`last_good` has an effect only in the administrator's file"), "{said}");
    // A restriction of the user holds while the administrator's file is broken, too.
    program.put("home/.scorpiox/policy.toml", "version = 1\n[tools]\ndeny = [\"TaskManager\"]\n");
    replace(&server, &program, "broken", BROKEN);
    assert!(list(&mut server).contains("`deny` of [tools] (policy.toml line 3)"));
}
