//! Tests of the audit files: size limits, several servers, crashes and full disks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use scorpiox_tests::program::unwrapped;
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::super::faults::Disk;
use super::{create, folder, lines, start, text, with_policy};

fn list(server: &mut Started, count: usize) {
    for _ in 0..count {
        server.request("tools/call", json!({ "name": "ListBgTasks", "arguments": {} }));
    }
    server.skip(count);
}

fn mode(path: &Path) -> u32 {
    path.metadata().expect("it is there").permissions().mode() & 0o777
}

#[test]
fn two_servers_that_fill_files_at_once_lose_no_line() {
    const CALLS: usize = 3000;
    let program = with_policy("[audit]\nmax_file_size = \"64KiB\"\nmax_files = 1000\n");
    let mut servers = [start(&program), start(&program)];
    thread::scope(|scope| {
        for server in &mut servers {
            scope.spawn(|| (0..CALLS / 100).for_each(|_| list(server, 100)));
        }
    });
    let lines = lines(&program, 2 * CALLS);
    assert_eq!(lines.len(), 2 * CALLS);
    for server in &servers {
        assert_eq!(lines.iter().filter(|line| line["pid"] == server.child.id()).count(), CALLS);
    }
    let files: Vec<_> = fs::read_dir(folder(&program))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert!(files.len() > 5, "{files:?}");
    assert!(files.iter().all(|file| mode(file) == 0o600) && mode(&folder(&program)) == 0o700, "{files:?}");
    let (_, out, _) = program.run(&["audit", "--json"]);
    assert_eq!(out.lines().count(), 2 * CALLS);
    verified(&program, 2 * CALLS);
}

/// Asserts that the chain is intact and has this number of lines.
fn verified(program: &Program, count: usize) {
    let (status, out, err) = program.run(&["audit", "verify"]);
    assert!(status.success() && err.is_empty(), "{out}{err}");
    assert!(out.starts_with(&format!("The audit is whole: {count} line")), "{out}");
}

#[test]
fn the_oldest_lines_go_when_there_are_too_many() {
    let program = with_policy("[audit]\nmax_file_size = \"64KiB\"\nmax_files = 2\n");
    for _ in 0..30 {
        // A stopped server has flushed everything, and its files are not larger than necessary.
        let mut server = start(&program);
        list(&mut server, 100);
        server.close_input();
        assert!(server.wait().0.success());
    }
    let sizes = || -> Vec<u64> {
        let entries = fs::read_dir(folder(&program)).expect("a folder");
        entries.map(|entry| entry.expect("an entry").metadata().expect("a file").len()).collect()
    };
    // Two files and the head.
    assert_eq!(sizes().len(), 3, "{:?}", sizes());
    assert!(sizes().iter().sum::<u64>() < 4 * 64 * 1024, "{:?}", sizes());
    let (status, out, _) = program.run(&["audit", "verify"]);
    assert!(status.success() && out.contains("\nIt begins with number "), "{out}");
}

#[test]
fn a_server_that_is_killed_leaves_whole_lines_and_others_go_on() {
    let program = Program::new();
    let mut first = start(&program);
    create(&mut first, "a task");
    lines(&program, 1);
    list(&mut first, 200);
    first.kill();
    first.wait();
    let mut second = start(&program);
    create(&mut second, "another");
    second.close_input();
    assert!(second.wait().0.success());
    let (_, out, err) = program.run(&["audit", "--json"]);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |server: &Started| lines.iter().filter(|line| line["pid"] == server.child.id()).count();
    assert!(of(&first) >= 1 && of(&second) == 1, "{out}");
    assert_eq!(lines[0]["tool"], "TaskManager");
    assert_eq!(lines.last().expect("a line")["tool"], "TaskManager");
    // A kill may truncate the line that the kernel is writing, but no other line.
    assert!(err.is_empty() || err == "1 damaged line was left out\n", "{err}");
    verified(&program, lines.len());
}

#[test]
fn servers_that_are_killed_again_and_again_leave_a_whole_chain() {
    let program = with_policy("[audit]\nmax_file_size = \"64KiB\"\nmax_files = 1000\n");
    let mut other = start(&program);
    for _ in 0..10 {
        let mut server = start(&program);
        create(&mut server, "a task");
        for _ in 0..100 {
            server.request("tools/call", json!({ "name": "ListBgTasks", "arguments": {} }));
        }
        server.kill();
        server.wait();
        list(&mut other, 20);
    }
    other.close_input();
    assert!(other.wait().0.success());
    let (_, out, _) = program.run(&["audit", "--json"]);
    verified(&program, out.lines().count());
}

#[test]
fn what_is_done_to_lines_is_found_and_told() {
    let program = Program::new();
    let mut server = start(&program);
    list(&mut server, 20);
    lines(&program, 20);
    let file = folder(&program).join("audit.jsonl");
    let whole = fs::read_to_string(&file).expect("a file");
    let rows: Vec<_> = whole.lines().collect();
    let changed = whole.replacen("\"outcome\":\"ok\"", "\"outcome\":\"error\"", 1);
    let of = |rows: &[&str]| rows.join("\n") + "\n";
    let (missing, cut) = (of(&[&rows[..4], &rows[6..]].concat()), of(&rows[..17]));
    let moved = of(&[&rows[..4], &[rows[5], rows[4]], &rows[6..]].concat());
    let unended = rows.join("\n");
    let added = whole.replacen('\n', "\n{\"tool\":\"Bash\",\"outcome\":\"ok\"}\n", 1);
    for (text, told) in [
        (changed, "audit.jsonl line 1: number 1 was changed"),
        (missing, "audit.jsonl line 5: numbers 5 to 6 are missing before it"),
        (cut, "numbers 18 to 20 are missing at the end"),
        (moved, "audit.jsonl line 6: number 5 was moved or copied here"),
        (added, "audit.jsonl line 2: is not of the chain: added, or changed"),
        (unended, "audit.jsonl line 20: number 20 lost the line feed behind it"),
    ] {
        fs::write(&file, text).expect("writes");
        let (status, out, _) = program.run(&["audit", "verify"]);
        assert_eq!(status.code(), Some(1), "{out}");
        assert!(out.starts_with("The audit is BROKEN: ") && out.contains(told), "{told}: {out}");
        assert_eq!(out.lines().filter(|line| line.starts_with("  ")).count(), 1, "{out}");
    }
    fs::write(&file, &whole).expect("writes");
    verified(&program, 20);
    // Another server continues after the cut, and the gap remains detectable.
    fs::write(&file, rows[..17].join("\n") + "\n").expect("writes");
    let mut other = start(&program);
    create(&mut other, "a task");
    lines(&program, 18);
    let (status, out, _) = program.run(&["audit", "verify"]);
    assert!(!status.success() && out.contains("numbers 18 to 20 are missing before it"), "{out}");
}

#[test]
fn the_last_lines_are_written_when_the_server_ends() {
    for signal in [None, Some(Signal::TERM)] {
        let program = Program::new();
        let mut server = start(&program);
        list(&mut server, 50);
        // A signal terminates the server immediately if it arrives before the handler is installed.
        lines(&program, 1);
        list(&mut server, 50);
        match signal {
            None => server.close_input(),
            Some(signal) => server.signal(signal),
        }
        assert!(server.wait().0.success());
        assert_eq!(text(&program).lines().count(), 100);
    }
}

#[test]
fn a_full_disk_breaks_no_call_and_lines_come_when_there_is_space() {
    let disk = Disk::new(0);
    let own = disk.own_home();
    let program = Program::new().with("SCORPIOX_HOME", own.to_str().expect("UTF-8"));
    let mut server = disk.start(&program, 0);
    server.initialize("2025-11-25");
    list(&mut server, 500);
    let file = own.join("audit/audit.jsonl");
    let written = || fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(written(), "");
    disk.free_space(&server);
    // Later calls retry the write at most once a second.
    let (begun, mut more) = (Instant::now(), 0);
    while written().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(10));
        list(&mut server, 1);
        more += 1;
        thread::sleep(Duration::from_millis(50));
    }
    server.close_input();
    assert!(server.wait().0.success());
    let (_, out, err) = program.run(&["audit", "--json"]);
    assert_eq!((out.lines().count(), err.as_str()), (500 + more, ""));
}

/// Returns a program with a home in which the audit cannot be written.
fn without_audit(policy: &str) -> Program {
    let program = with_policy(policy);
    program.put("home/.scorpiox/audit", "in the way");
    program
}

#[test]
fn without_a_place_for_lines_calls_work_and_the_operator_is_told() {
    let program = without_audit("");
    let mut server = start(&program);
    create(&mut server, "a task");
    let (status, out, _) = program.run(&["doctor"]);
    let out = unwrapped(&out);
    assert_eq!(status.code(), Some(1), "{out}");
    assert!(
        out.lines().any(|line| line.contains("FAIL") && line.contains("calls are not recorded")),
        "{out}"
    );
    let (status, _, err) = program.run(&["call", "ListBgTasks"]);
    assert!(status.success() && err.contains("calls are not recorded"), "{err}");
    // It ends, and its line cannot wait beside the log either.
    assert!(err.contains("lines of the audit that are lost: 1"), "{err}");
    assert_eq!(err.lines().count(), 2, "{err}");
}

#[test]
fn where_lines_are_required_no_call_runs_without_one() {
    let program = without_audit("[audit]\nrequired = true\n");
    let mut server = start(&program);
    let refused = server.call("TaskManager", json!({ "action": "create", "text": "a task" }));
    assert_eq!(refused["isError"], true);
    let words = refused["content"][0]["text"].as_str().expect("a text");
    assert!(words.contains("was not run") && words.contains("audit.jsonl cannot be written"), "{words}");
    fs::remove_file(folder(&program)).expect("it is there");
    let tasks = server.text("TaskManager", json!({ "action": "list", "query": "" }));
    assert!(!tasks.contains("a task"), "{tasks}");
    // The lines are written before the response, so there is no need to wait. The refused call has a line
    // too.
    let outcomes: Vec<_> = lines(&program, 0).iter().map(|line| line["outcome"].clone()).collect();
    assert_eq!(outcomes, ["refused", "ok"]);
}

#[test]
fn links_are_not_followed() {
    let program = Program::new();
    let target = program.put("home/target", "mine\n");
    fs::create_dir_all(folder(&program)).expect("folders");
    std::os::unix::fs::symlink(&target, folder(&program).join("audit.jsonl")).expect("a link");
    let mut server = start(&program);
    create(&mut server, "a task");
    server.close_input();
    assert!(server.wait().0.success());
    assert_eq!(fs::read_to_string(&target).expect("a file"), "mine\n");
}

/// A process that ends while another one holds the lock leaves its lines to the next one that writes.
#[test]
fn lines_of_short_processes_are_kept_while_another_one_holds_the_lock() {
    let program = Program::new();
    let create = |name: &str| {
        let arguments = format!("{{\"action\": \"create\", \"text\": \"{name}\"}}");
        let (status, out, err) = program.run(&["call", "TaskManager", &arguments]);
        assert!(status.success(), "{out}{err}");
        err
    };
    create("first");
    let head =
        fs::File::options().read(true).write(true).open(folder(&program).join("audit.head")).expect("a head");
    rustix::fs::flock(&head, rustix::fs::FlockOperation::LockExclusive).expect("a lock");
    for name in ["second", "third"] {
        let said = create(name);
        assert!(
            said.contains("lines of the audit that wait for the next process that writes to it: 1"),
            "{said}"
        );
    }
    assert_eq!(lines(&program, 1).len(), 1);
    rustix::fs::flock(&head, rustix::fs::FlockOperation::Unlock).expect("unlocked");
    for command in [&["audit", "verify"][..], &["doctor"]] {
        let said = program.run(command).1.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("Not in the audit yet: 2 lines in 2 files audit.left-NUMBER"), "{said}");
        assert!(said.contains("call TaskManager '{\"action\": \"list\"}'"), "{said}");
    }
    create("fourth");
    let lines = lines(&program, 4);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines.iter().all(|line| line["tool"] == "TaskManager" && line["outcome"] == "ok"), "{lines:?}");
    let (status, out, err) = program.run(&["audit", "verify"]);
    assert!(status.success() && out.contains("4 lines") && !out.contains("audit.left"), "{out}{err}");
    let left = fs::read_dir(folder(&program)).expect("a folder").flatten();
    assert!(!left.into_iter().any(|entry| entry.file_name().to_string_lossy().contains("left")));
}
