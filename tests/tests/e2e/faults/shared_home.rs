//! Tests of several servers on one home and one workspace, and of a workspace that disappears.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::support::{Bare, WriteLock, call, create, database_of, handshake, refusal, session, stored};

/// Returns the ID and name of the task that an answer reports as created.
fn created(answer: &Value) -> (u64, String) {
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let task = &answer["result"]["structuredContent"]["tasks"][0];
    (task["id"].as_u64().expect("an id"), task["name"].as_str().expect("a name").to_owned())
}

#[test]
fn two_servers_that_write_at_once_keep_every_task() {
    const EACH: u64 = 300;
    let program = Program::new();
    let begin = Barrier::new(2);
    let write = |who: &str| {
        let mut server = program.start();
        server.initialize("2025-11-25");
        begin.wait();
        let calls: String = (0..EACH).map(|n| create(format!("c{n}"), &format!("{who} {n}"))).collect();
        server.send_raw(calls.as_bytes());
        let tasks: Vec<_> = (0..EACH).map(|_| created(&server.next().expect("an answer"))).collect();
        server.close_input();
        assert!(server.wait().0.success());
        tasks
    };
    let (ours, theirs) = thread::scope(|scope| {
        let other = scope.spawn(|| write("left"));
        (write("right"), other.join().expect("no panic"))
    });
    let acknowledged: BTreeMap<_, _> = ours.into_iter().chain(theirs).collect();
    assert_eq!(acknowledged.len() as u64, 2 * EACH, "ids were given twice");
    assert_eq!(acknowledged.values().collect::<BTreeSet<_>>().len() as u64, 2 * EACH);
    assert_eq!(stored(&database_of(&program)).tasks, acknowledged);
}

/// Returns the number of the server's connections that used the database; each opens the write-ahead log
/// itself.
fn connections(server: &Started, program: &Program) -> usize {
    let file = database_of(program).with_extension("db-wal");
    let folder = format!("/proc/{}/fd", server.child.id());
    let entries = std::fs::read_dir(folder).expect("it runs");
    entries
        .filter(|entry| entry.as_ref().is_ok_and(|e| std::fs::read_link(e.path()).is_ok_and(|to| to == file)))
        .count()
}

/// Returns a server with three tasks that uses two connections, because two of its calls had to wait.
fn with_two_connections(program: &Program) -> Started {
    let mut server = program.start();
    server.initialize("2025-11-25");
    server.text("TaskManager", json!({ "action": "create", "text": "first" }));
    let lock = WriteLock::hold(&database_of(program));
    server.send_raw((create("a", "second") + &create("b", "third")).as_bytes());
    let start = Instant::now();
    while connections(&server, program) < 2 {
        assert!(start.elapsed() < Duration::from_secs(10), "no second connection");
        thread::yield_now();
    }
    lock.release();
    for _ in 0..2 {
        created(&server.next().expect("an answer"));
    }
    server
}

/// A process that closes a file loses all its POSIX locks on that file, regardless of the descriptor that
/// acquired them. Without its lock, another process assumes to be the last user of the database and deletes
/// the log with committed data. (SQLite itself checks twice; older versions, such as a user's `sqlite3`, do
/// not.)
#[test]
fn a_server_with_several_connections_keeps_the_lock_that_says_it_uses_the_database() {
    let program = Program::new();
    let server = with_two_connections(&program);
    let file = std::fs::File::options().write(true).open(database_of(&program)).expect("the file");
    let taken = rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    assert!(taken.is_err(), "nobody would know that the server uses the database");
    drop(server);
}

#[test]
fn a_server_that_ends_takes_nothing_from_the_one_that_goes_on() {
    let program = Program::new();
    let mut server = with_two_connections(&program);
    // A second server reads and exits. As the last user of the database, it would remove the log.
    let list = call(1, "TaskManager", json!({ "action": "list", "query": "" }));
    let (seen, _, status) = session(&program, &(handshake() + &list));
    assert!(status.success());
    assert_eq!(seen[1]["result"]["structuredContent"]["total_tasks"], 3, "{}", seen[1]);
    server.text("TaskManager", json!({ "action": "create", "text": "fourth" }));
    drop(server);
    let kept = stored(&database_of(&program)).tasks;
    assert_eq!(kept.len(), 4, "four were acknowledged, but there are only {kept:?}");
}

/// Starts a process whose complete output is read at its end.
fn started(mut command: Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

fn finished(mut child: Child, input: &str) -> Output {
    use std::io::Write;
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(input.as_bytes()).expect("the program reads");
    drop(pipe);
    child.wait_with_output().expect("a child of ours")
}

/// Starts `copies` servers in a fresh home, which write at the same time.
fn race_for_a_fresh_home(copies: usize) {
    let program = Program::new();
    let begin = Barrier::new(copies);
    let outputs: Vec<Output> = thread::scope(|scope| {
        let run = |n: usize| {
            let (program, begin) = (&program, &begin);
            scope.spawn(move || {
                let child = started(program.command());
                let input = handshake() + &create(1, &format!("copy {n}"));
                begin.wait();
                finished(child, &input)
            })
        };
        let running: Vec<_> = (0..copies).map(run).collect();
        running.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let mut acknowledged = BTreeMap::new();
    for output in outputs {
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "standard error");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let answers: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(answers.len(), 2, "{text}");
        let (id, name) = created(&answers[1]);
        assert!(acknowledged.insert(id, name).is_none(), "id {id} was given twice");
    }
    assert_eq!(stored(&database_of(&program)).tasks, acknowledged);
}

#[test]
fn two_copies_started_at_once_in_a_fresh_home_both_work() {
    for _ in 0..20 {
        race_for_a_fresh_home(2);
    }
}

#[test]
fn many_copies_started_at_once_in_a_fresh_home_all_work() {
    for _ in 0..5 {
        race_for_a_fresh_home(8);
    }
}

#[test]
fn tools_give_clear_results_when_the_workspace_is_deleted_under_the_server() {
    let program = Program::new();
    let mut server = program.start();
    server.initialize("2025-11-25");
    server.text("TaskManager", json!({ "action": "create", "text": "before" }));
    std::fs::remove_dir_all(program.workspace()).expect("it is deleted");
    after_the_workspace_is_gone(&mut server);
    server.close_input();
    assert!(server.wait().0.success());
}

fn after_the_workspace_is_gone(server: &mut Started) {
    let tools = server.ask("tools/list", json!({}));
    assert!(tools["result"]["tools"].as_array().is_some_and(|tools| tools.len() >= 4), "{tools}");
    let text = server.text("TaskManager", json!({ "action": "create", "text": "after" }));
    assert!(text.starts_with("Task #2 is created"), "{text}");
    let list = server.text("TaskManager", json!({ "action": "list", "query": "" }));
    assert!(list.contains("#1 before") && list.contains("#2 after"), "{list}");
    assert_eq!(server.text("PlanMode", json!({ "action": "status" })), "Plan mode is not active.");
    let callbacks = server.text("SetCallback", json!({ "action": "list" }));
    assert_eq!(callbacks, "No active callbacks.");
    let skill =
        server.ask("tools/call", json!({ "name": "InvokeSkill", "arguments": { "skill_name": "none" } }));
    assert!(refusal(&skill).contains("none"), "names the skill: {skill}");
    assert!(server.ask("prompts/list", json!({})).get("result").is_some());
}

#[test]
fn a_server_starts_in_a_workspace_that_is_already_deleted() {
    let program = Program::new();
    let folder = program.workspace();
    let mut command = Command::new("sh");
    let program_file = scorpiox_tests::program::binary();
    command.args(["-c", "rmdir \"$PWD\" && exec \"$0\""]).arg(program_file);
    command.current_dir(&folder).env_clear().env("HOME", program.home()).env("PATH", "/usr/bin:/bin");
    let mut server = Bare::spawn(command);
    let list = call(1, "TaskManager", json!({ "action": "list", "query": "" }));
    server.send(&(handshake() + &list)).expect("the server reads");
    let hello = server.line().expect("an answer");
    let instructions = hello["result"]["instructions"].as_str().expect("instructions");
    assert!(instructions.contains("No project is open"), "{instructions}");
    assert_eq!(server.line().expect("an answer")["result"]["isError"], false);
}
