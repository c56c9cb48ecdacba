//! Tests of processes that stay, that ignore signals, or that exit too early.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use scorpiox_tests::{Program, Started};
use serde_json::json;

use super::support::{
    background, bash, bash_for, comes_true, descendants, in_each_tier, mark, processes_with, read_until,
    start,
};

/// Asserts that shortly after a call, no process with this mark is left.
#[track_caller]
fn assert_none_left(mark: &str) {
    let gone = comes_true(Duration::from_secs(1), || processes_with(mark).is_empty());
    assert!(gone, "still there: {:?}", processes_with(mark));
}

#[test]
fn a_child_in_the_background_is_killed_and_counted_and_does_not_hold_the_call_up() {
    in_each_tier(|_, server| {
        let mark = mark();
        let begin = Instant::now();
        let ran = bash(server, &format!("sleep 300 {mark} 2>/dev/null & exec -a {mark} sleep 300 & echo hi"));
        assert_eq!(ran.succeeded(), "hi\n");
        assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
        assert!(ran.text.contains("killed; use BackgroundBash"), "{}", ran.text);
        assert!(ran.data["killed_processes"].as_u64() >= Some(1), "{}", ran.text);
        assert_none_left(&mark);
    });
}

#[test]
fn daemons_that_leave_session_group_and_parent_are_killed() {
    in_each_tier(|_, server| {
        let mark = mark();
        let daemon = format!(
            "export MARK={mark}; (setsid bash -c '(trap \"\" TERM HUP INT; exec sleep 300) & ' </dev/null >/dev/null 2>&1 &); sleep 0.1; echo started"
        );
        let ran = bash(server, &daemon);
        assert_eq!(ran.succeeded(), "started\n");
        assert_none_left(&mark);
    });
}

#[test]
fn a_tree_that_ignores_signals_ends_after_the_grace() {
    in_each_tier(|_, server| {
        let mark = mark();
        let command = format!(
            "export MARK={mark}; trap '' TERM HUP INT; for i in 1 2 3; do (trap '' TERM; while :; do sleep 60; done) & done; echo waiting; while :; do sleep 60; done"
        );
        let begin = Instant::now();
        let ran = bash_for(server, &command, 200);
        assert_eq!(ran.data["timed_out"], true, "{}", ran.text);
        assert_eq!(ran.data["signal"], "SIGKILL", "{}", ran.text);
        assert_eq!(ran.output(), "waiting\n");
        assert!(ran.text.contains("[timed out after 200 ms, killed by SIGKILL"), "{}", ran.text);
        let time = begin.elapsed();
        assert!(time > Duration::from_secs(2) && time < Duration::from_secs(5), "{time:?}");
        assert_none_left(&mark);
    });
}

#[test]
fn who_minds_the_first_signal_may_tidy_up() {
    let program = Program::new();
    let mut server = start(&program);
    let begin = Instant::now();
    let ran = bash_for(&mut server, "trap 'echo tidy; exit 7' TERM; while :; do sleep 0.05; done", 200);
    // Bash may first report that its own child was killed.
    assert!(ran.output().ends_with("tidy\n"), "{}", ran.text);
    assert_eq!((ran.exit_code(), ran.data["timed_out"] == true), (7, true), "{}", ran.text);
    assert!(begin.elapsed() < Duration::from_millis(1500), "{:?}", begin.elapsed());
}

#[test]
fn an_end_just_at_the_timeout_is_one_or_the_other() {
    let program = Program::new();
    let mut server = start(&program);
    let (mut ended, mut timed_out) = (0, 0);
    for round in 0..60 {
        let time = 20 + round % 20;
        let ran = bash_for(&mut server, "sleep 0.026; exit 9", time);
        if ran.data["timed_out"] == true {
            timed_out += 1;
            assert!(ran.is_error && ran.text.contains("timed out after"), "{}", ran.text);
        } else {
            ended += 1;
            assert_eq!(ran.exit_code(), 9, "{}", ran.text);
        }
    }
    assert!(ended > 0 && timed_out > 0, "{ended} ended, {timed_out} timed out");
}

#[test]
fn a_cancelled_call_ends_its_processes_at_once() {
    in_each_tier(|_, server| {
        let mark = mark();
        let command = format!("export MARK={mark}; trap '' TERM; echo on; sleep 300 & wait; wait");
        let id = server.request("tools/call", json!({ "name": "Bash", "arguments": { "command": command } }));
        assert!(comes_true(Duration::from_secs(10), || !processes_with(&mark).is_empty()));
        server.notify("notifications/cancelled", json!({ "requestId": id }));
        assert_none_left(&mark);
        // The slot of the call is free, and the call has no response.
        assert_eq!(bash(server, "echo next").succeeded(), "next\n");
        assert!(server.received.iter().all(|message| message["id"] != id));
    });
}

#[test]
fn progress_tells_the_newest_line() {
    let program = Program::new();
    let mut server = start(&program);
    let command = "for i in 1 2 3 4 5 6 7 8; do echo step $i; sleep 0.3; done";
    let id = server.request(
        "tools/call",
        json!({ "name": "Bash", "arguments": { "command": command }, "_meta": { "progressToken": "p" } }),
    );
    let first = server.notification("notifications/progress");
    assert_eq!(first["params"]["progressToken"], "p");
    let message = first["params"]["message"].as_str().expect("a message").to_owned();
    assert!(message.contains("step "), "{first}");
    let second = server.notification("notifications/progress");
    assert_ne!(second["params"]["message"].as_str(), Some(message.as_str()));
    assert!(second["params"]["progress"].as_f64() > first["params"]["progress"].as_f64());
    assert_eq!(server.answer(id)["result"]["isError"], false);
}

#[test]
fn a_command_that_says_nothing_gives_a_sign_of_life() {
    let program = Program::new();
    let mut server = start(&program);
    let id = server.request(
        "tools/call",
        json!({ "name": "Bash", "arguments": { "command": "sleep 16" }, "_meta": { "progressToken": "p" } }),
    );
    let begin = Instant::now();
    let sign = server.notification("notifications/progress");
    assert!(begin.elapsed() > Duration::from_secs(14), "{:?}", begin.elapsed());
    let message = sign["params"]["message"].as_str().expect("a message");
    assert!(message.contains("running for 15"), "{sign}");
    assert_eq!(server.answer(id)["result"]["isError"], false);
}

#[test]
fn nothing_survives_the_server() {
    type End = fn(&mut Started);
    let ends: [(&str, End); 3] = [
        ("the end of its input", Started::close_input),
        ("SIGTERM", |server| server.signal(Signal::TERM)),
        ("SIGKILL", |server| server.kill()),
    ];
    for (what, end) in ends {
        in_each_tier(|_, server| {
            let mark = mark();
            let stubborn = format!(
                "export MARK={mark}; trap '' TERM HUP; setsid sleep 300 & echo on; sleep 300; sleep 300"
            );
            for _ in 0..3 {
                let task = background(server, &stubborn);
                read_until(server, task, "on");
            }
            server.request("tools/call", json!({ "name": "Bash", "arguments": { "command": stubborn } }));
            assert!(comes_true(Duration::from_secs(10), || processes_with(&mark).len() >= 12));
            let helpers = descendants(server.child.id());
            assert!(!helpers.is_empty());
            let begin = Instant::now();
            end(server);
            server.wait();
            let gone = || processes_with(&mark).is_empty() && helpers.iter().all(|(pid, _)| is_gone(*pid));
            assert!(comes_true(Duration::from_secs(1).saturating_sub(begin.elapsed()), gone), "after {what}");
        });
    }
}

fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie has ended; its parent has not reaped it yet.
    stat.is_empty() || stat.contains(") Z ")
}

#[test]
fn the_next_command_works_after_the_helper_was_killed() {
    in_each_tier(|_, server| {
        let mark = mark();
        let task = background(server, &format!("export MARK={mark}; echo on; sleep 300"));
        read_until(server, task, "on");
        let helpers = descendants(server.child.id());
        let children: Vec<_> =
            helpers.iter().filter(|(pid, _)| parent(*pid) == Some(server.child.id())).collect();
        let [(helper, _)] = children[..] else { panic!("one helper: {helpers:?}") };
        let pid = Pid::from_raw(i32::try_from(*helper).expect("a number")).expect("a process");
        kill_process(pid, Signal::KILL).expect("it is there");
        let stat = || std::fs::read_to_string(format!("/proc/{helper}/stat")).unwrap_or_default();
        let is_gone = || stat().is_empty() || stat().contains(") Z ");
        assert!(comes_true(Duration::from_secs(10), is_gone), "{}", stat());
        assert_eq!(bash(server, "echo again").succeeded(), "again\n");
        let listed = server.call("ListBgTasks", json!({}));
        let status = &listed["structuredContent"]["tasks"][0]["status"];
        assert!(*status == "lost" || *status == "killed" || *status == "running", "{listed}");
        // In T2, the task's supervisor survives the helper and can still be stopped.
        server.call("KillBgTask", json!({ "task_id": task }));
        assert_none_left(&mark);
    });
}

/// Covers a server that was just killed, and temporary directories that are closed even to their owner.
#[test]
fn what_a_killed_server_left_is_gone_before_the_next_command_and_what_is_in_use_stays() {
    in_each_tier(|program, server| {
        let folders = || {
            let entries =
                std::fs::read_dir(program.home().join(".scorpiox/tmp")).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name()).collect::<std::collections::BTreeSet<_>>()
        };
        let leaves = "mkdir -p \"$TMPDIR/closed/in\" && echo x > \"$TMPDIR/closed/in/file\" && chmod 0 \"$TMPDIR/closed\" ; true";
        let mut other = start(program);
        bash(&mut other, leaves);
        let in_use = folders();
        let mut killed = start(program);
        bash(&mut killed, leaves);
        let left: Vec<_> = folders().difference(&in_use).cloned().collect();
        assert!(!left.is_empty(), "it has one");
        killed.child.kill().and_then(|()| killed.child.wait()).expect("killed");
        let mut next = start(program);
        assert_eq!(bash(&mut next, "echo again").succeeded(), "again\n");
        let found = folders();
        assert!(left.iter().all(|left| !found.contains(left)), "{left:?} of {found:?}");
        assert!(found.is_superset(&in_use), "{in_use:?} of {found:?}");
        for server in [&mut other, server] {
            assert_eq!(bash(server, "echo x > \"$TMPDIR/kept\" && cat \"$TMPDIR/kept\"").succeeded(), "x\n");
        }
    });
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}
