//! Tests of long calls: a client that requests no progress gives up after a minute, so it gets an answer
//! before that.

use std::time::{Duration, Instant};

use scorpiox_tests::site::{Answer, Site};
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::{NEWEST, of_client, reaching, text};
use crate::audit;
use crate::plugins::install_kinds;

/// Returns a program whose calls are answered after a second.
fn hasty() -> Program {
    Program::as_shipped().with("ANSWER_WITHIN", "1")
}

fn bash(command: &str) -> Value {
    json!({"name": "Bash", "arguments": {"command": command, "timeout": 20_000}})
}

/// Asserts that the audit records the only call as overdue: the server ended it, and the client did not
/// cancel it.
#[track_caller]
fn is_recorded_as_overdue(program: &Program) {
    let lines = audit::lines(program, 1);
    assert_eq!((&lines[0]["outcome"], &lines[0]["fault"]), (&json!("fault"), &json!("overdue")), "{lines:?}");
}

/// Reads a task until its output contains this text and returns everything read.
fn read_until(server: &mut Started, task: u64, wanted: &str) -> String {
    let until = Instant::now() + Duration::from_secs(30);
    let mut all = String::new();
    while !all.contains(wanted) {
        assert!(Instant::now() < until, "{wanted:?} does not come: {all}");
        all.push_str(&server.text("ReadBgOutput", json!({"task_id": task})));
        all.push('\n');
    }
    all
}

/// Returns the lines that the command itself printed, which may have been read in pieces.
fn printed(read: &str) -> Vec<&str> {
    let is_ours = |line: &&str| line.starts_with("[task ") || line.starts_with("(no new output)");
    read.lines().filter(|line| !line.is_empty() && !is_ours(line)).collect()
}

#[test]
fn a_command_that_takes_long_goes_on_in_the_background_and_nothing_is_lost() {
    let program = hasty();
    program.put("workspace/go", "");
    let mut server = of_client(program, "tests");
    // A character is incomplete when the call is answered.
    let command =
        "echo first; printf '\\xc3'; while test -e go; do sleep 0.05; done; printf '\\xa9\\nlast\\n'; exit 7";
    let begun = Instant::now();
    let id = server.request("tools/call", bash(command));
    let result = server.answer(id)["result"].take();
    assert!(
        (Duration::from_secs(1)..Duration::from_secs(4)).contains(&begun.elapsed()),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(result["isError"], false, "{result}");
    let shown = text(&result);
    assert!(shown.starts_with("first\n\n[running for "), "{shown}");
    assert!(
        shown.contains("background task 1, until its timeout of 20000 ms: ReadBgOutput with task_id 1"),
        "{shown}"
    );
    std::fs::remove_file(server.program.workspace().join("go")).expect("removed");
    let rest = read_until(&mut server, 1, "exit code 7");
    assert_eq!(printed(&rest), ["é", "last"], "{rest}");
    let ids = server.received.iter().filter(|message| message["id"] == id);
    assert_eq!(ids.count(), 1, "one answer");
}

#[test]
fn its_timeout_holds_and_it_can_be_ended() {
    let mut server = of_client(hasty(), "tests");
    let call = json!({"name": "Bash", "arguments": {"command": "sleep 1000", "timeout": 2000}});
    let first = server.ask("tools/call", call);
    assert!(text(&first["result"]).contains("background task 1"), "{first}");
    let second = server.ask("tools/call", bash("sleep 1000"));
    assert!(text(&second["result"]).contains("background task 2"), "{second}");
    let killed = server.text("KillBgTask", json!({"task_id": 2}));
    assert!(killed.starts_with("Killed background task 2"), "{killed}");
    assert!(read_until(&mut server, 1, "timed out").contains("[task 1: timed out"));
    // The audit records the call as successful.
    let program = &server.program;
    let (_, out, _) = program.run(&["audit", "--tool", "Bash", "--json"]);
    assert!(out.lines().all(|line| line.contains("\"outcome\":\"ok\"")), "{out}");
}

#[test]
fn a_client_that_is_told_of_progress_waits() {
    let mut server = of_client(hasty(), "tests");
    let mut call = bash("sleep 1.5; echo done");
    call["_meta"] = json!({"progressToken": "p"});
    let answer = server.ask("tools/call", call);
    assert!(text(&answer["result"]).starts_with("done\n\n[exit code 0"), "{answer}");
}

#[test]
fn a_cancel_ends_the_command_before_it_goes_on() {
    let mut server = of_client(hasty(), "tests");
    let id = server.request("tools/call", bash("sleep 1000"));
    server.notify("notifications/cancelled", json!({"requestId": id}));
    assert_eq!(server.text("ListBgTasks", json!({})), "No background tasks");
    assert!(server.is_silent_for(Duration::from_millis(1200)), "neither an answer nor a task");
    assert_eq!(server.text("ListBgTasks", json!({})), "No background tasks");
}

#[test]
fn where_there_is_no_room_for_a_task_the_command_is_waited_for() {
    let program = hasty();
    program.put("home/.scorpiox/policy.toml", "version = 1\n[shell]\nmax_background_tasks = 1\n");
    let mut server = of_client(program, "tests");
    server.text("BackgroundBash", json!({"command": "sleep 1000"}));
    let answer = server.ask("tools/call", bash("sleep 1.5; echo done"));
    assert!(text(&answer["result"]).starts_with("done\n"), "{answer}");
}

#[test]
fn while_a_plan_is_made_it_goes_on_without_rights() {
    let mut server = of_client(hasty(), "tests");
    server.text("PlanMode", json!({"action": "enter", "goal": "look"}));
    let answer = server.ask("tools/call", bash("sleep 1.3; touch made 2>&1; sleep 1000"));
    assert!(text(&answer["result"]).contains("Plan mode is active"), "{answer}");
    read_until(&mut server, 1, "Read-only file system");
    assert!(!server.program.workspace().join("made").exists());
}

#[test]
fn a_page_that_does_not_come_ends_the_call_with_a_reason() {
    let site = Site::start(|_| Answer::silence());
    let program = reaching(hasty(), "");
    let mut server = of_client(program, "tests");
    let begun = Instant::now();
    let result = server.call("ReadDocs", json!({"url": site.url("/")}));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(result["isError"], true, "{result}");
    assert!(
        text(&result).contains("It was ended after 1 s") && text(&result).contains("ANSWER_WITHIN"),
        "{result}"
    );
}

#[test]
fn a_plugin_that_takes_long_is_ended_with_a_reason() {
    let program = hasty();
    install_kinds(&program, "");
    // Discards the audit lines of the installation.
    std::fs::remove_dir_all(program.home().join(".scorpiox/audit")).expect("removes");
    let mut server = of_client(program, "tests");
    let begun = Instant::now();
    let result = server.call("kinds.hostile.spin", json!({}));
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert_eq!(result["isError"], true, "{result}");
    assert!(text(&result).contains("It was ended after 1 s"), "{result}");
    is_recorded_as_overdue(&server.program);
}

#[test]
fn a_question_without_an_answer_comes_back_as_text() {
    let mut server = hasty().with("PATH", "/usr/bin:/bin").serve();
    server.initialize_with(NEWEST, json!({"elicitation": {}}));
    let questions = r#"{"questions":[{"text":"Which?","options":["A","B"]}]}"#;
    let call = json!({"name": "AskUserQuestion", "arguments": {"questions_json": questions}});
    let id = server.request("tools/call", call);
    let form = server.notification("elicitation/create");
    // The server cancels its elicitation request.
    let cancelled = server.notification("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], form["id"]);
    let answer = server.answer(id);
    let shown = text(&answer["result"]);
    assert!(shown.contains("there was no answer within 1 s") && shown.contains("1. Which?"), "{shown}");
    // Any following text would be read as part of the question.
    assert!(shown.trim_end().ends_with("b) B"), "{shown}");
    is_recorded_as_overdue(&server.program);
}
