//! Tests of `scorpiox-code stats`.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_tests::{Canonical as _, Program};
use serde_json::{Value, json};

use super::{PATIENCE, create, start};

fn servers(program: &Program) -> Vec<Value> {
    let (status, out, err) = program.run(&["stats", "--json"]);
    assert!(status.success(), "{err}");
    let mut told: Value = serde_json::from_str(&out).expect("JSON");
    told["servers"].as_array_mut().expect("servers").drain(..).collect()
}

/// Returns the usage figures as soon as they satisfy `is_so`.
fn once(program: &Program, is_so: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let begun = Instant::now();
    loop {
        let servers = servers(program);
        if is_so(&servers) {
            return servers;
        }
        assert!(begun.elapsed() < PATIENCE, "{servers:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn files(program: &Program) -> usize {
    fs::read_dir(program.home().join(".scorpiox/run")).expect("a folder").count()
}

#[test]
fn the_figures_of_a_running_server_are_shown() {
    let program = Program::new();
    let mut server = start(&program);
    for index in 0..20 {
        create(&mut server, &format!("task {index}"));
    }
    server.call("TaskManager", json!({ "action": "nonsense" }));
    server.call("ListBgTasks", json!({}));
    let told =
        once(&program, |servers| servers.first().is_some_and(|server| server["tools"][1]["calls"] == 21));
    let told = &told[0];
    assert_eq!((&told["pid"], &told["client"]), (&json!(server.child.id()), &json!("tests 1")));
    assert_eq!(told["workspace"], json!(program.workspace().canonical()));
    assert!(told["rss_bytes"].as_u64().is_some_and(|bytes| bytes > 1024 * 1024), "{told}");
    assert!(told["uptime_ms"].as_u64().is_some_and(|ms| ms > 0 && ms < 60_000), "{told}");
    let tasks = &told["tools"][1];
    assert_eq!(
        (&tasks["tool"], &tasks["errors"], &told["tools"][0]["tool"]),
        (&json!("TaskManager"), &json!(1), &json!("ListBgTasks"))
    );
    let times = ["p50_ms", "p90_ms", "p99_ms", "max_ms"].map(|name| tasks[name].as_f64().expect("a time"));
    assert!(times[0] > 0.0 && times.is_sorted(), "{tasks}");
    assert!(tasks["peak_memory_bytes"].as_u64().is_some_and(|bytes| bytes >= 64 * 1024), "{tasks}");
    let (_, text, _) = program.run(&["stats"]);
    // A long path wraps the line between the two words.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(" TaskManager ") && words.contains("for tests 1 "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    server.close_input();
    assert!(server.wait().0.success());
    assert_eq!(files(&program), 0);
    assert_eq!(program.run(&["stats"]).1, "no server is running, or none was called yet\n");
}

#[test]
fn a_server_without_calls_says_so() {
    let program = Program::new();
    let mut server = start(&program);
    server.ask("tools/list", json!({}));
    once(&program, |servers| servers.len() == 1);
    assert!(program.run(&["stats"]).1.contains("no calls yet"));
}

#[test]
fn what_a_killed_server_left_goes_with_the_next_look() {
    let program = Program::new();
    let (mut dead, mut alive) = (start(&program), start(&program));
    create(&mut dead, "a task");
    create(&mut alive, "a task");
    once(&program, |servers| servers.len() == 2);
    dead.kill();
    dead.wait();
    let told = once(&program, |servers| servers.len() == 1);
    assert_eq!(told[0]["pid"], alive.child.id());
    assert_eq!(files(&program), 2);
}
