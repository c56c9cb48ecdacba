//! Tests of background commands.

use std::time::{Duration, Instant};

use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::support::{
    background, bash, comes_true, in_each_tier, mark, processes_with, read_until, start, with_policy,
};

fn read(server: &mut Started, task: u64) -> Value {
    server.call("ReadBgOutput", json!({ "task_id": task }))["structuredContent"].clone()
}

/// Waits until a task has ended, without reading its output.
fn wait_for_end(server: &mut Started, task: u64) {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let listed = server.call("ListBgTasks", json!({}));
        let tasks = listed["structuredContent"]["tasks"].as_array().expect("a list").clone();
        let found = tasks.iter().find(|known| known["task_id"] == task).expect("it is listed");
        if found["status"] != "running" {
            return;
        }
        assert!(Instant::now() < until, "{found}");
    }
}

/// With nohup, with setsid, and with neither.
#[test]
fn a_task_tells_of_children_that_end_with_its_shell() {
    in_each_tier(|_, server| {
        for start in ["sleep 300 &", "nohup sleep 300 >/dev/null 2>&1 &", "setsid sleep 300 & disown;"] {
            let task = background(server, &format!("{start} echo started"));
            wait_for_end(server, task);
            let told = "; 1 background process was killed with it: leave out the `&`";
            for tool in ["ListBgTasks", "ReadBgOutput"] {
                let arguments = if tool == "ReadBgOutput" { json!({ "task_id": task }) } else { json!({}) };
                let text = server.text(tool, arguments);
                assert!(text.contains(told), "{start} {tool}: {text}");
            }
        }
        let task = background(server, "sleep 300 & sleep 300");
        let text = server.text("KillBgTask", json!({ "task_id": task }));
        assert!(!text.contains("leave out"), "{text}");
    });
}

#[test]
fn a_task_is_started_read_in_pieces_listed_and_killed() {
    in_each_tier(|_, server| {
        let mark = mark();
        let task = background(
            server,
            &format!("export MARK={mark}; echo one; read < <(sleep 0.2); echo two; sleep 300"),
        );
        let all = read_until(server, task, "two\n");
        assert_eq!(all, "one\ntwo\n");
        assert_eq!(read(server, task)["output"], "", "nothing comes twice");
        let text = server.text("ListBgTasks", json!({}));
        assert!(text.starts_with(&format!("[{task}] running for ")), "{text}");
        let text = server.text("KillBgTask", json!({ "task_id": task }));
        assert!(text.starts_with(&format!("Killed background task {task}: ")), "{text}");
        assert!(comes_true(Duration::from_secs(1), || processes_with(&mark).is_empty()));
        assert_eq!(read(server, task)["status"], "killed");
        let text = server.text("KillBgTask", json!({ "task_id": task }));
        assert!(text.contains("had ended already"), "{text}");
    });
}

#[test]
fn output_can_be_read_after_the_end_and_the_exit_code_is_told() {
    let program = Program::new();
    let mut server = start(&program);
    let task = background(&mut server, "echo result; exit 5");
    wait_for_end(&mut server, task);
    let got = read(&mut server, task);
    assert_eq!(
        (&got["output"], &got["exit_code"], &got["status"]),
        (&json!("result\n"), &json!(5), &json!("exited"))
    );
    // The task stays listed for a while.
    assert!(server.text("ListBgTasks", json!({})).contains("exit code 5"));
}

#[test]
fn a_ring_keeps_the_newest_megabyte_and_says_what_was_lost() {
    let program = Program::new();
    let mut server = start(&program);
    let task = background(&mut server, "seq 1 1000000");
    wait_for_end(&mut server, task);
    let whole: u64 = (1..=1_000_000_u64).map(|n| n.to_string().len() as u64 + 1).sum();
    let first = read(&mut server, task);
    let lost = first["lost_bytes"].as_u64().expect("a number");
    assert_eq!(lost, whole - 1024 * 1024);
    let mut all = first["output"].as_str().expect("a text").to_owned();
    let mut more = first["more"] == true;
    while more {
        let next = read(&mut server, task);
        all.push_str(next["output"].as_str().expect("a text"));
        more = next["more"] == true;
    }
    assert!(all.ends_with("\n999999\n1000000\n"));
    let numbers: Vec<u32> =
        all.lines().rev().take(100_000).map(|line| line.parse().expect("a number")).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] == pair[1] + 1), "nothing is missing between reads");
}

#[test]
fn the_whole_of_a_long_output_is_in_a_file_that_commands_read() {
    let program = Program::new();
    let mut server = start(&program);
    let task = background(&mut server, "seq 1 200000");
    wait_for_end(&mut server, task);
    let text = server.text("ReadBgOutput", json!({ "task_id": task }));
    assert!(text.contains("were overwritten before they were read"), "{text}");
    let (before, _) = text.split_once("; `tail` shows its end]").unwrap_or_else(|| panic!("{text}"));
    let (_, path) = before.rsplit_once(" is in ").expect("a path");
    let ends = bash(&mut server, &format!("head -n 1 '{path}'; tail -n 1 '{path}'"));
    assert_eq!(ends.succeeded(), "1\n200000\n");
    let task = background(&mut server, "echo short");
    wait_for_end(&mut server, task);
    assert!(!server.text("ReadBgOutput", json!({ "task_id": task })).contains(" is in "));
}

#[test]
fn no_more_tasks_run_at_once_than_the_policy_says() {
    let program = with_policy(Program::new(), "[shell]\nmax_background_tasks = 3\n");
    let mut server = start(&program);
    let tasks: Vec<_> = (0..3).map(|_| background(&mut server, "sleep 300")).collect();
    let refused = server.call("BackgroundBash", json!({ "command": "sleep 300" }));
    assert_eq!(refused["isError"], true);
    assert!(refused["content"][0]["text"].as_str().expect("a text").contains('3'), "{refused}");
    server.call("KillBgTask", json!({ "task_id": tasks[0] }));
    let next = background(&mut server, "sleep 300");
    assert_eq!(next, 4, "numbers are not given twice");
}

#[test]
fn sixteen_tasks_run_at_once_without_a_policy() {
    let program = Program::new();
    let mut server = start(&program);
    let tasks: Vec<_> =
        (0..16).map(|n| background(&mut server, &format!("echo task {n}; sleep 300"))).collect();
    assert_eq!(tasks, (1..=16).collect::<Vec<_>>());
    for (n, task) in tasks.iter().enumerate() {
        assert_eq!(read_until(&mut server, *task, "\n"), format!("task {n}\n"));
    }
    assert_eq!(server.call("BackgroundBash", json!({ "command": "true" }))["isError"], true);
}

#[test]
fn wrong_numbers_are_told_with_those_that_exist() {
    let program = Program::new();
    let mut server = start(&program);
    background(&mut server, "sleep 300");
    for tool in ["ReadBgOutput", "KillBgTask"] {
        for (id, why) in [
            (json!(99), "no task 99; known tasks: 1"),
            (json!(0), "task_id"),
            (json!("x"), "task_id"),
            (Value::Null, "task_id"),
        ] {
            let result = server.call(tool, json!({ "task_id": id }));
            let text = result["content"][0]["text"].as_str().expect("a text");
            assert_eq!(result["isError"], true, "{text}");
            assert!(text.contains(why), "{tool} {id}: {text}");
        }
    }
}

#[test]
fn tasks_of_one_server_are_not_another_s() {
    let program = Program::new();
    let (mut one, mut other) = (start(&program), start(&program));
    background(&mut one, "sleep 300");
    assert_eq!(other.text("ListBgTasks", json!({})), "No background tasks");
    assert_eq!(other.call("KillBgTask", json!({ "task_id": 1 }))["isError"], true);
    assert!(one.text("ListBgTasks", json!({})).contains("running"));
}

#[test]
fn a_task_obeys_what_a_call_obeys() {
    in_each_tier(|program, server| {
        program.put("workspace/.env", "SECRET=1");
        let outside = program.put("home/outside", "kept");
        let command = format!(
            "cat .env; echo changed > {0}; cat {0}; echo > .mcp.json; env | grep -c SCORPIOX; echo done",
            outside.display()
        );
        let task = background(server, &command);
        let all = read_until(server, task, "done\n");
        assert!(!all.contains("SECRET") && !all.contains("kept"), "{all}");
        assert_eq!(std::fs::read_to_string(outside).expect("a file"), "kept");
        assert!(!program.workspace().join(".mcp.json").is_file());
    });
}
