use super::*;
use scorpiox_tool_kit::memory::{MemoryClient, MemoryStore};

/// A workspace that contains `docs/plan.md`.
struct Workspace;

impl Files for Workspace {
    fn read(&mut self, path: &str, limit: u64) -> Result<Vec<u8>, FilesError> {
        match path {
            "docs/plan.md" if limit == 0 => Err(FilesError::TooLarge(4)),
            "docs" => Err(FilesError::Invalid("docs is a folder.".to_owned())),
            "broken.md" => Err(FilesError::Failed("The disk failed.".to_owned())),
            "/elsewhere/plan.md" => Err(FilesError::Denied("It is outside.".to_owned())),
            _ => Err(FilesError::NotFound(format!("{path} does not exist."))),
        }
    }
}

const START: u64 = 1_795_214_432_000;

fn ok(store: &mut MemoryStore, now: u64, arguments: &str) -> Output {
    call(store, &mut Workspace, &MemoryClient::default(), now, arguments).expect("succeeds")
}

fn refused(store: &mut MemoryStore, arguments: &str) -> String {
    match call(store, &mut Workspace, &MemoryClient::default(), START, arguments) {
        Err(Failure::InvalidInput(text)) => text,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_plan_is_entered_reported_and_left() {
    let mut store = MemoryStore::default();
    let entered = ok(&mut store, START, r#"{"action":"enter","goal":"Ship it"}"#);
    assert!(entered.text.starts_with("Plan mode is active. Goal: Ship it\n"));
    let status = ok(&mut store, START + 65_000, r#"{"action":"status"}"#);
    assert_eq!(status.text, "Plan mode is active for 1m05s. Goal: Ship it");
    assert_eq!(active(&mut store), Ok(Some(("Ship it".to_owned(), START))));
    let left = ok(&mut store, START + 65_000, r#"{"action":"exit","plan_file":"docs/plan.md"}"#);
    assert_eq!(
        left.text,
        "Plan mode ended after 1m05s. Goal: Ship it Plan file: docs/plan.md\nShell commands may write again."
    );
    assert_eq!(active(&mut store), Ok(None));
}

#[test]
fn a_plan_file_that_is_not_there_is_refused_and_the_plan_goes_on() {
    let mut store = MemoryStore::default();
    ok(&mut store, START, r#"{"action":"enter","goal":"Ship it"}"#);
    let mut exit = |file: &str| {
        let arguments = format!(r#"{{"action":"exit","plan_file":"{file}"}}"#);
        let result = call(&mut store, &mut Workspace, &MemoryClient::default(), START, &arguments);
        (result, active(&mut store).expect("known").is_some())
    };
    let (missing, still) = exit("docs/plann.md");
    let text = "The plan file \"docs/plann.md\" does not exist, so plan mode stays active. Write the plan there first, or leave plan_file out.";
    assert_eq!((missing.expect_err("refused"), still), (Failure::NotFound(text.to_owned()), true));
    let (folder, still) = exit("docs");
    let text = "plan_file: docs is a folder. Plan mode stays active.";
    assert_eq!((folder.expect_err("refused"), still), (Failure::InvalidInput(text.to_owned()), true));
    let (outside, still) = exit("/elsewhere/plan.md");
    let text = "plan_file: It is outside. Plan mode stays active: save the plan in a file of the workspace, or leave plan_file out.";
    assert_eq!((outside.expect_err("refused"), still), (Failure::Denied(text.to_owned()), true));
    let (unread, still) = exit("broken.md");
    let text = unread.expect("left").text;
    assert!(
        text.ends_with("\nCould not check that the plan file exists: The disk failed.") && !still,
        "{text}"
    );
}

#[test]
fn the_tool_has_the_name_that_the_client_knows_and_the_goal_is_the_person_s() {
    let mut store = MemoryStore::default();
    let client = MemoryClient { prefix: "my-", ..MemoryClient::default() };
    let entered = call(&mut store, &mut Workspace, &client, START, r#"{"action":"enter","goal":"PlanMode"}"#);
    let text = entered.expect("succeeds").text;
    assert!(text.contains("Goal: PlanMode\n") && text.contains("call my-PlanMode with action"), "{text}");
}

#[test]
fn json_gives_the_four_members() {
    let mut store = MemoryStore::default();
    let idle = ok(&mut store, START, r#"{"action":"json"}"#);
    assert_eq!(idle.text, r#"{"active":false,"goal":"","plan_file":"","started_at":null}"#);
    ok(&mut store, START, r#"{"action":"enter","goal":"é \"quoted\""}"#);
    let active = ok(&mut store, START, r#"{"action":"json"}"#);
    assert_eq!(
        active.text,
        r#"{"active":true,"goal":"é \"quoted\"","plan_file":"","started_at":"2026-11-20T22:40:32Z"}"#
    );
    assert_eq!(active.structured, Some(active.text));
}

#[test]
fn reset_discards_everything() {
    let mut store = MemoryStore::default();
    ok(&mut store, START, r#"{"action":"enter","goal":"g"}"#);
    assert!(ok(&mut store, START, r#"{"action":"reset"}"#).text.starts_with("Plan discarded. Goal was: g"));
    assert_eq!(
        ok(&mut store, START, r#"{"action":"reset"}"#).text,
        "Plan mode is reset; no plan was active."
    );
    assert_eq!(ok(&mut store, START, r#"{"action":"status"}"#).text, "Plan mode is not active.");
}

#[test]
fn wrong_calls_say_what_to_do() {
    let mut store = MemoryStore::default();
    assert!(refused(&mut store, "{}").starts_with("action is missing"));
    assert!(refused(&mut store, r#"{"action":"start"}"#).starts_with("action \"start\" is unknown"));
    assert!(refused(&mut store, r#"{"action":"enter","goal":"  "}"#).starts_with("goal is missing"));
    assert!(refused(&mut store, r#"{"action":"exit"}"#).starts_with("No plan is active"));
    let long = format!(r#"{{"action":"enter","goal":"{}"}}"#, "x".repeat(4001));
    assert!(refused(&mut store, &long).starts_with("goal has 4001 characters"));
    ok(&mut store, START, r#"{"action":"enter","goal":"first"}"#);
    assert!(refused(&mut store, r#"{"action":"enter","goal":"second"}"#).contains("(goal: first)"));
}
