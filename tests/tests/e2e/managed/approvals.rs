//! Tests of approvals that are answered elsewhere: by a command, by an approver with a key, for several calls at
//! once, and after the end of the call that asked.

use std::collections::BTreeSet;
use std::fs;

use scorpiox_tests::{Program, Served, Started};
use serde_json::{Value, json};

use crate::audit::lines;

const PUSH: &str = "version = 1\n[[rules]]\nname = \"push\"\ntools = [\"Bash\"]\n\
                    arguments = { \"/command\" = \"*git push*\" }\nthen = \"ask\"\n";
const PUSHED: &str = "echo git push >> ran";

fn program(policy: &str) -> Program {
    let program = Program::new().with("PATH", "/usr/bin:/bin");
    program.put("home/.scorpiox/policy.toml", policy);
    program
}

/// Makes the key of an approver, and returns the path of the secret key and the lines for the policy.
pub(super) fn approver(program: &Program, name: &str) -> (String, String) {
    let (status, _, said) = program.run(&["plugin", "keygen", name, "--no-password"]);
    assert!(status.success(), "{said}");
    let file = |suffix: &str| program.workspace().join(format!("{name}.{suffix}"));
    let public = fs::read_to_string(file("pub")).expect("a key");
    let line = public.lines().nth(1).expect("a key").to_owned();
    (file("key").display().to_string(), format!("[approvers.{name}]\nkey = \"{line}\"\n"))
}

fn serving(program: Program, capabilities: &Value) -> Served {
    let mut server = program.serve();
    server.initialize_with("2025-11-25", capabilities.clone());
    server
}

/// Calls Bash as a client that follows the progress.
fn push(server: &mut Started) -> u64 {
    push_as(server, 1)
}

/// Calls Bash with this progress token.
fn push_as(server: &mut Started, token: u64) -> u64 {
    let call = json!({"name": "Bash", "arguments": {"command": PUSHED}, "_meta": {"progressToken": token}});
    server.request("tools/call", call)
}

fn text(answer: &Value) -> String {
    answer["result"]["content"][0]["text"].as_str().expect("text").to_owned()
}

fn runs(program: &Program) -> usize {
    fs::read_to_string(program.workspace().join("ran")).map_or(0, |text| text.lines().count())
}

/// Waits until the call says that it waits.
fn waits(server: &mut Started) {
    loop {
        let progress = server.notification("notifications/progress");
        if progress.to_string().contains("approvals approve 1") {
            return;
        }
    }
}

#[test]
fn a_command_answers_for_a_call_that_could_ask_nobody() {
    let program = program(PUSH);
    let mut server = program.start();
    server.initialize("2025-11-25");
    let id = push(&mut server);
    let said = text(&server.answer(id));
    assert!(
        said.contains("nobody could be asked") && said.contains("`scorpiox-code approvals approve 1`"),
        "{said}"
    );
    let (status, listed, _) = program.run(&["approvals"]);
    assert!(status.success() && listed.contains("waits") && listed.contains(PUSHED), "{listed}");
    let (status, _, said) = program.run(&["approvals", "approve", "1"]);
    assert!(!status.success() && said.contains("add --yes"), "{said}");
    let (status, shown, said) = program.run(&["approvals", "approve", "1", "--yes"]);
    assert!(status.success() && shown.contains("push"), "{said}");
    assert_eq!(runs(&program), 0, "only the call runs the command");
    let id = push(&mut server);
    assert!(text(&server.answer(id)).contains("exit code 0"));
    // The approval is used up.
    let id = push(&mut server);
    assert!(text(&server.answer(id)).contains("Approval 2 waits"));
    assert_eq!(runs(&program), 1);
    for (number, problem) in [("1", "already answered (approve)"), ("9", "there is no approval 9")] {
        let (status, _, said) = program.run(&["approvals", "approve", number, "--yes"]);
        assert!(!status.success() && said.contains(problem), "{said}");
    }
    let recorded = lines(&program, 3);
    assert!(recorded[1].to_string().contains("approval 1 (command, once)"), "{recorded:?}");
}

/// A command that puts something between its visible beginning and its end.
fn with_blanks(blanks: &str) -> String {
    format!("echo 'git push{blanks}'; echo hidden  >> ran")
}

#[test]
fn no_blank_pushes_the_end_of_a_command_out_of_view() {
    let mut server = serving(program(PUSH), &json!({"elicitation": {}}));
    let call = |command: String| json!({"name": "Bash", "arguments": {"command": command}, "_meta": {"progressToken": 1}});
    for blank in ["\u{3000}", " \u{3000}", "\u{e000}", "\u{378} ", "\u{2800}\u{a0}"] {
        let id = server.request("tools/call", call(with_blanks(&blank.repeat(600))));
        let said = text(&server.answer(id));
        assert!(said.contains("32 blanks in a row"), "{blank:?}: {said}");
    }
    // Few blanks are shown as what they are.
    let id = server.request("tools/call", call(with_blanks("  \u{3000}\u{e000}\u{378}")));
    let form = server.notification("elicitation/create");
    let message = form["params"]["message"].as_str().expect("a message");
    assert!(message.contains(r"git push  \u3000\ue000\u0378'; echo hidden  >> ran"), "{message}");
    assert!(!message.contains(['\u{3000}', '\u{e000}', '\u{378}']), "{message}");
    let program = &server.program;
    for command in [&["approvals", "list"][..], &["approvals", "show", "1"]] {
        let (status, shown, _) = program.run(command);
        assert!(status.success() && !shown.contains(['\u{3000}', '\u{e000}', '\u{378}']), "{shown}");
        let rows: Vec<_> = shown.lines().map(str::trim_start).collect();
        assert!(rows.join(" ").contains(r"git push  \u3000\ue000\u0378'; echo hidden  >> ran"), "{shown}");
    }
    server.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": {"action": "decline"}}));
    server.answer(id);
    assert_eq!(runs(&server.program), 0);
}

#[test]
fn an_answer_outlives_the_server_that_asked() {
    let program = program(PUSH);
    let mut server = program.start();
    server.initialize("2025-11-25");
    let id = push(&mut server);
    server.answer(id);
    server.kill();
    let (status, _, said) = program.run(&["approvals", "deny", "1", "--reason", "not on a Friday"]);
    assert!(status.success(), "{said}");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let id = push(&mut server);
    let said = text(&server.answer(id));
    assert!(said.contains("who denied it and said: not on a Friday"), "{said}");
    assert_eq!(runs(&program), 0);
}

#[test]
fn a_form_is_withdrawn_when_the_answer_comes_from_elsewhere() {
    let mut server = serving(program(PUSH), &json!({"elicitation": {}}));
    let id = push(&mut server);
    let form = server.notification("elicitation/create");
    let (status, _, said) = server.program.run(&["approvals", "approve", "1", "--yes"]);
    assert!(status.success(), "{said}");
    let cancelled = server.notification("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], form["id"], "{cancelled}");
    assert!(text(&server.answer(id)).contains("exit code 0"));
    assert_eq!(runs(&server.program), 1);
}

#[test]
fn fifty_equal_calls_ask_once_and_end_as_the_person_decides() {
    for (label, runs_then) in [("Allow this call", 50), ("Deny", 0)] {
        let mut server = serving(program(PUSH), &json!({"elicitation": {}}));
        let first = push_as(&mut server, 0);
        let form = server.notification("elicitation/create");
        let others: Vec<_> = (1..50).map(|token| push_as(&mut server, token)).collect();
        let mut waiting = BTreeSet::new();
        while waiting.len() < others.len() {
            let progress = server.notification("notifications/progress");
            if progress.to_string().contains("approvals approve 1") {
                waiting.insert(progress["params"]["progressToken"].as_u64());
            }
        }
        assert!(
            server.received.iter().filter(|message| message["method"] == "elicitation/create").count() == 1
        );
        let answer = json!({"action": "accept", "content": {"q1": label}});
        server.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": answer}));
        for id in std::iter::once(first).chain(others) {
            let said = text(&server.answer(id));
            assert_eq!(said.contains("exit code 0"), runs_then > 0, "{said}");
        }
        assert_eq!(runs(&server.program), runs_then);
        let (_, all, _) = server.program.run(&["approvals", "list", "--all", "--json"]);
        let all: Value = serde_json::from_str(&all).expect("JSON");
        assert_eq!(all["approvals"].as_array().map(Vec::len), Some(1), "{all}");
    }
}

#[test]
fn a_strong_rule_needs_the_key_of_an_approver_and_shows_no_form() {
    let program = program("version = 1\n");
    let (ann, lines_of_ann) = approver(&program, "ann");
    let (eve, lines_of_eve) = approver(&program, "eve");
    let strong = format!("{PUSH}who = [\"ann\"]\n{lines_of_ann}{lines_of_eve}");
    program.put("home/.scorpiox/policy.toml", strong);
    let mut server = serving(program, &json!({"elicitation": {}}));
    let id = push(&mut server);
    waits(&mut server);
    for (arguments, problem) in [
        (&["approvals", "approve", "1", "--yes"][..], "name your key with --key"),
        (&["approvals", "approve", "1", "--yes", "--key", &eve], "would not be accepted"),
    ] {
        let (status, _, said) = server.program.run(arguments);
        assert!(!status.success() && said.contains(problem), "{said}");
    }
    let (status, _, said) = server.program.run(&["approvals", "approve", "1", "--yes", "--key", &ann]);
    assert!(status.success(), "{said}");
    assert!(text(&server.answer(id)).contains("exit code 0"));
    assert_eq!(runs(&server.program), 1);
    let recorded = lines(&server.program, 1).pop().expect("a line").to_string();
    assert!(recorded.contains("approval 1 by ann (key, once)"), "{recorded}");
}

/// Another home folder with the same store has an approver of the attacker.
#[test]
fn an_answer_in_the_store_without_the_proof_runs_nothing() {
    let program = program("version = 1\n");
    let (_, lines_of_ann) = approver(&program, "ann");
    let (eve, lines_of_eve) = approver(&program, "eve");
    program.put("home/.scorpiox/policy.toml", format!("{PUSH}channel = \"strong\"\n{lines_of_ann}"));
    program.put("other/policy.toml", format!("{PUSH}channel = \"strong\"\n{lines_of_eve}"));
    let other = program.home().parent().expect("a folder").join("other");
    std::os::unix::fs::symlink(program.home().join(".scorpiox/state"), other.join("state")).expect("a link");
    let other = other.display().to_string();
    let mut server = program.start();
    server.initialize("2025-11-25");
    let id = push(&mut server);
    waits(&mut server);
    let forged = ["--home", &other, "approvals", "approve", "1", "--yes", "--key", &eve];
    let (status, _, said) = program.run(&forged);
    assert!(status.success(), "the store accepts it: {said}");
    let said = text(&server.answer(id));
    assert!(said.contains("its signature is not by an approver"), "{said}");
    assert_eq!(runs(&program), 0);
}

#[test]
fn an_approval_is_remembered_where_the_rule_offers_it() {
    let offering = format!("{PUSH}remember = [\"session\", \"workspace\"]\n");
    let mut server = serving(program(&offering), &json!({"elicitation": {}}));
    let allow = |server: &mut Started, label: &str| {
        let id = push(server);
        let form = server.notification("elicitation/create");
        let answer = json!({"action": "accept", "content": {"q1": label}});
        server.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": answer}));
        assert!(text(&server.answer(id)).contains("exit code 0"));
    };
    allow(&mut server, "Allow it for this session");
    for _ in 0..3 {
        let id = push(&mut server);
        assert!(text(&server.answer(id)).contains("exit code 0"));
    }
    // Another session asks again.
    let program = &server.program;
    let mut second = program.start();
    second.initialize_with("2025-11-25", json!({"elicitation": {}}));
    allow(&mut second, "Allow it in this workspace");
    let mut third = program.start();
    third.initialize("2025-11-25");
    let id = push(&mut third);
    assert!(text(&third.answer(id)).contains("exit code 0"));
    let (_, kept, _) = program.run(&["approvals", "remembered"]);
    assert!(kept.contains(PUSHED), "{kept}");
    let number = kept.lines().nth(1).and_then(|row| row.split(' ').next()).expect("a number").to_owned();
    let (status, _, said) = program.run(&["approvals", "revoke", &number]);
    assert!(status.success(), "{said}");
    let id = push(&mut third);
    assert!(text(&third.answer(id)).contains("nobody could be asked"));
    assert_eq!(runs(program), 6);
}

#[test]
fn rules_that_nobody_could_answer_are_mistakes_with_their_line() {
    let program = program("version = 1\n");
    let (_, lines_of_ann) = approver(&program, "ann");
    let same = lines_of_ann.replace("approvers.ann", "approvers.bob");
    for (more, problem) in [
        ("who = [\"ann\"]\nchannel = \"weak\"\n".to_owned(), "does not prove who answers"),
        ("within = \"2d\"\n".to_owned(), "from 10 seconds to a day"),
        ("within = \"5s\"\n".to_owned(), "from 10 seconds to a day"),
        ("remember = [\"always\"]\n".to_owned(), "nothing proves who answers"),
        ("remember = [\"ever\"]\n".to_owned(), "\"session\", \"workspace\" and \"always\""),
        ("channel = \"medium\"\n".to_owned(), "\"strong\""),
        ("[approvers.Ann]\nkey = \"RWx\"\n".to_owned(), "not a valid name"),
        ("[approvers.ann]\nkey = \"RWx\"\n".to_owned(), "not a minisign public key"),
        ("[approvers.ann]\n".to_owned(), "has neither `key` nor `credential`"),
        (format!("{lines_of_ann}{same}"), "has the key of \"ann\""),
    ] {
        program.put("workspace/odd.toml", format!("{PUSH}{more}"));
        let (status, out, said) = program.run(&["policy", "check", "odd.toml"]);
        let both = format!("{out}{said}");
        assert_eq!(status.code(), Some(2), "{both}");
        assert!(both.contains(problem) && both.contains("odd.toml line "), "{both}");
    }
}

#[test]
fn a_question_is_withdrawn_when_its_time_is_over() {
    let mut server = serving(program(&format!("{PUSH}within = \"10s\"\n")), &json!({"elicitation": {}}));
    let id = push(&mut server);
    let form = server.notification("elicitation/create");
    let cancelled = server.notification("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], form["id"], "{cancelled}");
    assert!(text(&server.answer(id)).contains("nobody answered in time"));
    assert_eq!(runs(&server.program), 0);
}

/// The person, the rule and the tool could each see another command.
#[test]
fn arguments_that_can_be_read_in_two_ways_are_not_asked_about() {
    let mut server = serving(program(PUSH), &json!({"elicitation": {}}));
    for arguments in [
        r#"{"command":"echo git push >> ran","command":"echo other"}"#,
        r#"{"command":"echo other","command":"echo git push >> ran"}"#,
        r#"{"command":"echo git push >> ran","timeout":12345678901234567890123}"#,
    ] {
        let call = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"tools/call\",\"params\":{{\"name\":\"Bash\",\"arguments\":{arguments}}}}}\n"
        );
        server.received.clear();
        server.send_raw(call.as_bytes());
        let answer = server.answer(77);
        assert!(answer.to_string().contains("two members of a name"), "{answer}");
    }
    assert_eq!(runs(&server.program), 0);
}

#[test]
fn an_approver_answers_from_another_folder_what_a_repository_asks_about_too() {
    let program = program("version = 1\n");
    let (ann, lines_of_ann) = approver(&program, "ann");
    program.put("home/.scorpiox/policy.toml", format!("{PUSH}who = [\"ann\"]\n{lines_of_ann}"));
    program.put("workspace/.scorpiox/policy.toml", PUSH.replace("push\"\n", "repository\"\n"));
    program.put("elsewhere/note", "");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let id = push(&mut server);
    waits(&mut server);
    let elsewhere = program.home().parent().expect("a folder").join("elsewhere").display().to_string();
    let approve = ["--workspace", &elsewhere, "approvals", "approve", "1", "--yes", "--key", &ann];
    let (status, _, said) = program.run(&approve);
    assert!(status.success(), "{said}");
    let said = text(&server.answer(id));
    assert!(said.contains("exit code 0"), "{said}");
}
