//! Tests of a database file that is damaged or newer than the program: the error names it, and it is not
//! modified.

use std::fs;
use std::path::PathBuf;

use scorpiox_tests::Program;
use scorpiox_tests::program::unwrapped;
use serde_json::json;

use super::support::{create, database_of, handshake, refusal, session, settled, stored};

/// Returns a program with a database of several pages, closed and checkpointed into its file.
fn with_tasks() -> (Program, PathBuf) {
    let program = Program::new();
    let calls: String = (0..200).map(|id| create(id, &format!("task {id} {}", "word ".repeat(50)))).collect();
    let (_, _, status) = session(&program, &(handshake() + &calls));
    assert!(status.success());
    let file = database_of(&program);
    settled(&file, |_| {});
    (program, file)
}

/// Asserts that no call uses the file, that each answer explains the reason with `words`, and that the file
/// is unchanged.
fn assert_left_alone(program: &Program, file: &PathBuf, words: &str) {
    let before = fs::read(file).expect("the file");
    let name = file.to_str().expect("UTF-8");
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert!(server.ask("tools/list", json!({}))["result"]["tools"].is_array());
    for arguments in [
        json!({ "action": "create", "text": "new" }),
        json!({ "action": "list", "query": "" }),
        json!({ "action": "add", "text": "a step", "task_id": 1 }),
        json!({ "action": "complete", "task_id": 1 }),
    ] {
        let answer = server.ask("tools/call", json!({ "name": "TaskManager", "arguments": arguments }));
        let text = refusal(&answer);
        assert!(text.contains(words) && text.contains(name), "{arguments}: {text}");
    }
    let plan = server.ask("tools/call", json!({ "name": "PlanMode", "arguments": { "action": "status" } }));
    assert!(refusal(&plan).contains(words), "{plan}");
    server.close_input();
    assert!(server.wait().0.success());
    let (status, doctor, _) = program.run(&["doctor"]);
    let doctor = unwrapped(&doctor);
    assert_eq!(status.code(), Some(1), "{doctor}");
    assert!(doctor.lines().any(|line| line.contains("FAIL") && line.contains(words)), "{doctor}");
    assert!(fs::read(file).expect("the file") == before, "the file was changed");
}

#[test]
fn a_database_of_garbage_is_named_and_not_overwritten() {
    let (program, file) = with_tasks();
    // SQLite treats a file of zero or one byte as an empty database.
    for garbage in [
        String::new(),
        "x".to_owned(),
        "xy".to_owned(),
        "no database at all ".repeat(1000),
        "\0".repeat(8192),
    ] {
        fs::write(&file, garbage).expect("it is overwritten");
        assert_left_alone(&program, &file, "is damaged; move it away");
    }
}

#[test]
fn a_database_that_was_cut_off_is_named_and_not_overwritten() {
    let (program, file) = with_tasks();
    let whole = fs::read(&file).expect("the file");
    for length in [whole.len() - 4096, whole.len() / 2, 5000, 4096, 1000, 200, 50] {
        fs::write(&file, &whole[..length]).expect("it is cut off");
        println!("{length} of {} bytes are left", whole.len());
        assert_left_alone(&program, &file, "is damaged; move it away");
    }
}

#[test]
fn a_database_with_garbage_in_the_middle_gives_errors_and_never_ends_the_server() {
    let (program, file) = with_tasks();
    let whole = fs::read(&file).expect("the file");
    let pages = whole.len() / 4096;
    let mut named = 0;
    for page in 1..pages {
        let mut bytes = whole.clone();
        bytes[page * 4096..][..4096].fill(0xa5);
        fs::write(&file, bytes).expect("it is damaged");
        for log in ["db-wal", "db-shm"] {
            let _ = fs::remove_file(file.with_extension(log));
        }
        let mut server = program.start();
        server.initialize("2025-11-25");
        let mut texts = String::new();
        for arguments in [
            json!({ "action": "list", "query": "" }),
            json!({ "action": "list", "query": "task" }),
            json!({ "action": "create", "text": "new" }),
            json!({ "action": "list", "query": "", "task_id": 1 }),
            json!({ "action": "complete", "task_id": 100 }),
        ] {
            let result = server.call("TaskManager", arguments);
            if result["isError"] == true {
                texts += result["content"][0]["text"].as_str().expect("a text");
                texts += "\n";
            }
        }
        let wrong = texts.lines().find(|text| !text.contains("is damaged; move it away"));
        assert!(wrong.is_none(), "page {page}: {wrong:?}");
        named += usize::from(!texts.is_empty());
        server.close_input();
        assert!(server.wait().0.success());
    }
    assert!(named > pages / 4, "only {named} of {pages} damaged pages were noticed");
}

#[test]
fn a_database_of_a_newer_program_is_named_and_not_overwritten() {
    let (program, file) = with_tasks();
    settled(&file, |connection| connection.pragma_update(None, "user_version", 99).expect("a pragma"));
    assert_left_alone(&program, &file, "has format 99, newer than this program's 1; update the program");
    assert_eq!(stored(&file).tasks.len(), 200);
}

type Damage = Box<dyn Fn(&PathBuf)>;

/// Returns the damages that make the record of a plan unreadable, with and without a valid database file.
fn damages() -> Vec<(&'static str, Damage)> {
    let whole =
        |bytes: &'static [u8]| move |file: &PathBuf| fs::write(file, bytes).expect("it is overwritten");
    let record = |sql: &'static str| {
        move |file: &PathBuf| settled(file, |connection| connection.execute_batch(sql).expect("a change"))
    };
    vec![
        ("garbage", Box::new(whole(b"no database at all"))),
        ("nothing", Box::new(whole(b""))),
        ("one byte", Box::new(whole(b"x"))),
        ("a record that is no JSON", Box::new(record("UPDATE kv SET value = x'7b' WHERE key = 'plan'"))),
        ("a record of another shape", Box::new(record("UPDATE kv SET value = x'5b5d' WHERE key = 'plan'"))),
        ("no table", Box::new(record("DROP TABLE kv"))),
    ]
}

#[test]
fn a_damaged_store_lets_no_command_run_while_a_plan_may_be_active() {
    for (damage, apply) in damages() {
        let program = Program::new();
        let mut server = program.start();
        server.initialize("2025-11-25");
        server.text("PlanMode", json!({ "action": "enter", "goal": "look" }));
        server.close_input();
        server.wait();
        let file = database_of(&program);
        settled(&file, |_| {});
        apply(&file);
        let mut server = program.start();
        server.initialize("2025-11-25");
        for tool in ["Bash", "BackgroundBash"] {
            let answer = server.ask(
                "tools/call",
                json!({ "name": tool, "arguments": { "command": "echo written > made" } }),
            );
            let text = refusal(&answer);
            assert!(text.contains("Whether a plan is active cannot be found out"), "{damage}: {text}");
        }
        assert!(!program.workspace().join("made").exists(), "{damage}");
    }
}
