//! Tests of `TaskManager`: sharing, paging and persistence. `bulk` covers the performance.

use std::collections::BTreeSet;

#[cfg(target_os = "linux")]
use scorpiox_tests::store::{self, WriteLock};
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

const NEWEST: &str = "2025-11-25";

fn started(program: &Program) -> Started {
    let mut server = program.start();
    server.initialize(NEWEST);
    server
}

fn tasks(server: &mut Started, arguments: Value) -> Value {
    let result = server.call("TaskManager", arguments);
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"].clone()
}

fn create(server: &mut Started, name: &str) -> u64 {
    let data = tasks(server, json!({ "action": "create", "query": "", "text": name }));
    data["tasks"][0]["id"].as_u64().expect("an id")
}

fn ids(data: &Value, list: &str) -> Vec<u64> {
    data[list].as_array().expect("a list").iter().map(|entry| entry["id"].as_u64().expect("an id")).collect()
}

#[test]
fn two_servers_of_one_workspace_see_each_other_s_tasks() {
    let program = Program::new();
    let (mut one, mut two) = (started(&program), started(&program));
    assert_eq!(create(&mut one, "From one"), 1);
    assert_eq!(create(&mut two, "From two"), 2);
    tasks(&mut one, json!({ "action": "add", "query": "", "text": "To the current task" }));
    let list = two.text("TaskManager", json!({ "action": "list", "query": "" }));
    assert_eq!(list, "2 tasks, 2 open.\n* #2 From two (0/1 step) ← current\n  #1 From one (no steps)");
    tasks(&mut two, json!({ "action": "switch", "query": "from one" }));
    let data = tasks(&mut one, json!({ "action": "complete", "query": "", "step_id": 1 }));
    assert_eq!((&data["current_task_id"], &data["tasks"][0]["steps_done"]), (&json!(1), &json!(1)), "{data}");
}

/// SQLite's locks are POSIX locks: a process that closes the file through another descriptor loses all of
/// them. Other processes then consider the state unused and remove its log.
#[cfg(target_os = "linux")]
#[test]
fn a_server_keeps_its_lock_on_the_state_however_many_connections_it_uses() {
    use std::os::unix::fs::MetadataExt;
    const AT_ONCE: usize = 6;
    let program = Program::new();
    let mut server = started(&program);
    create(&mut server, "first");
    let inode = std::fs::metadata(store::state_file(&program)).expect("the state file").ino();
    let pid = server.child.id().to_string();
    let is_locked = || {
        let locks = std::fs::read_to_string("/proc/locks").expect("the system's locks");
        locks.lines().any(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            words.contains(&pid.as_str()) && words.iter().any(|word| word.ends_with(&format!(":{inode}")))
        })
    };
    assert!(is_locked(), "one connection");
    let lock = WriteLock::hold(&program);
    for n in 0..AT_ONCE {
        let arguments = json!({ "action": "create", "query": "", "text": format!("task {n}") });
        let params =
            json!({ "name": "TaskManager", "arguments": arguments, "_meta": { "progressToken": n } });
        server.request("tools/call", params);
        server.notification("notifications/progress");
    }
    assert!(is_locked(), "with {AT_ONCE} connections the lock is gone");
    lock.release();
    for _ in 0..AT_ONCE {
        let answer = server.next().expect("an answer");
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    assert!(is_locked(), "after {AT_ONCE} connections the lock is gone");
}

#[test]
fn tasks_of_another_workspace_are_not_seen() {
    let program = Program::new();
    program.put("home/other/x", "");
    create(&mut started(&program), "Here");
    let mut command = program.command();
    command.current_dir(program.home().join("other"));
    let mut other = Started::spawn(command);
    other.initialize(NEWEST);
    assert_eq!(tasks(&mut other, json!({ "action": "list", "query": "" }))["total_tasks"], 0);
}

#[test]
fn two_servers_that_write_at_once_lose_nothing_and_share_no_id() {
    write_at_once(200);
}

#[test]
fn two_servers_can_be_the_first_ones_of_a_workspace() {
    for _ in 0..15 {
        write_at_once(10);
    }
}

/// Lets two servers create `each` tasks on a new workspace without waiting for each other.
fn write_at_once(each: usize) {
    let program = Program::new();
    let mut servers = [started(&program), started(&program)];
    let requests: Vec<Vec<u64>> = servers
        .iter_mut()
        .map(|server| {
            let request = |n| {
                let arguments = json!({ "action": "create", "query": "", "text": format!("task {n}") });
                server.request("tools/call", json!({ "name": "TaskManager", "arguments": arguments }))
            };
            (0..each).map(request).collect()
        })
        .collect();
    let mut given = BTreeSet::new();
    for (server, requests) in servers.iter_mut().zip(requests) {
        let mut open: BTreeSet<u64> = requests.into_iter().collect();
        while !open.is_empty() {
            let answer = server.next().expect("an answer");
            assert!(open.remove(&answer["id"].as_u64().expect("an id")), "answered twice: {answer}");
            let id = &answer["result"]["structuredContent"]["tasks"][0]["id"];
            let id = id.as_u64().unwrap_or_else(|| panic!("not created: {answer}"));
            assert!(given.insert(id), "task {id} was made twice");
        }
    }
    assert_eq!(given, (1..=2 * each as u64).collect());
    let list = tasks(&mut servers[0], json!({ "action": "list", "query": "" }));
    assert_eq!((&list["total_tasks"], &list["open_tasks"]), (&json!(2 * each), &json!(2 * each)));
}

/// Follows the hints from page to page and returns the IDs in `list` on all pages.
fn all_pages(server: &mut Started, first: Value, list: &str) -> Vec<u64> {
    let mut found = Vec::new();
    let mut call = Some(first);
    while let Some(arguments) = call {
        let result = server.call("TaskManager", arguments);
        let (data, text) =
            (&result["structuredContent"], result["content"][0]["text"].as_str().expect("text"));
        found.extend(ids(data, list));
        let hint = text.lines().find_map(|line| line.strip_prefix("More: call TaskManager with "));
        assert_eq!(hint, data["next"].as_str(), "the text and the data lead to different pages");
        call = hint.map(|hint| serde_json::from_str(hint).expect("arguments"));
        assert!(found.len() < 10_000, "the pages do not end");
    }
    found
}

#[test]
fn pages_lead_through_everything_once() {
    let program = Program::new();
    let mut server = started(&program);
    for n in 1..=95 {
        let kind = if n % 3 == 0 { "third" } else { "other" };
        create(&mut server, &format!("Task {n} is a {kind}"));
    }
    for n in 1..=75 {
        tasks(
            &mut server,
            json!({ "action": "add", "query": "", "task_id": 40, "text": format!("step {n}") }),
        );
    }
    for id in (2..=95).step_by(2) {
        tasks(&mut server, json!({ "action": "complete", "query": "", "task_id": id }));
    }
    let mut page = |arguments, list| all_pages(&mut server, arguments, list);
    let falling = |keep: fn(&u64) -> bool| (1..=95).rev().filter(keep).collect::<Vec<_>>();
    assert_eq!(page(json!({ "action": "list", "query": "" }), "tasks"), falling(|_| true));
    assert_eq!(page(json!({ "action": "pending", "query": "" }), "tasks"), falling(|n| n % 2 == 1));
    assert_eq!(page(json!({ "action": "list", "query": "third" }), "tasks"), falling(|n| n % 3 == 0));
    assert_eq!(
        page(json!({ "action": "pending", "query": "third" }), "tasks"),
        falling(|n| n % 3 == 0 && n % 2 == 1)
    );
    let steps = page(json!({ "action": "list", "query": "", "task_id": 40 }), "steps");
    assert_eq!(steps, (1..=75).collect::<Vec<_>>());
}

#[test]
fn a_restart_keeps_everything_and_no_id_comes_again() {
    let program = Program::new();
    let mut server = started(&program);
    for n in 1..=5 {
        create(&mut server, &format!("Task {n}"));
        tasks(&mut server, json!({ "action": "add", "query": "", "text": "ä \"step\"\nof two lines" }));
    }
    tasks(&mut server, json!({ "action": "complete", "query": "", "step_id": 2 }));
    tasks(&mut server, json!({ "action": "complete", "query": "", "task_id": 5 }));
    tasks(&mut server, json!({ "action": "switch", "query": "", "task_id": 3 }));
    let look = |server: &mut Started| {
        let calls = [
            json!({ "action": "list", "query": "" }),
            json!({ "action": "pending", "query": "" }),
            json!({ "action": "list", "query": "", "task_id": 2 }),
            json!({ "action": "list", "query": "", "task_id": 5 }),
            json!({ "action": "list", "query": "lines" }),
        ];
        calls.map(|arguments| server.call("TaskManager", arguments))
    };
    let before = look(&mut server);
    server.kill();
    server.wait();
    let mut server = started(&program);
    assert_eq!(look(&mut server), before);
    server.close_input();
    server.wait();
    let mut server = started(&program);
    assert_eq!(look(&mut server), before);
    assert_eq!(create(&mut server, "After all"), 6);
}
