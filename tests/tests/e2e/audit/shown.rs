//! Tests of `scorpiox-code audit`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use scorpiox_tests::{Canonical as _, Program};
use serde_json::{Value, json};

use super::{create, folder, lines, start, with_policy};

/// Returns a program after calls of all kinds.
fn used() -> Program {
    let program = Program::new();
    let mut server = start(&program);
    create(&mut server, "a task");
    server.call("TaskManager", json!({ "action": "nonsense" }));
    server.call("ReadDocs", json!({ "url": "http://10.0.0.1/" }));
    server.call("ListBgTasks", json!({}));
    lines(&program, 4);
    program
}

fn tools(program: &Program, arguments: &[&str]) -> Vec<String> {
    let arguments: Vec<_> = ["audit", "--json"].into_iter().chain(arguments.iter().copied()).collect();
    let (status, out, err) = program.run(&arguments);
    assert!(status.success(), "{err}");
    let tool =
        |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["tool"].as_str().map(str::to_owned);
    out.lines().filter_map(tool).collect()
}

#[test]
fn lines_are_chosen_by_what_they_have() {
    let program = used();
    let all = ["TaskManager", "TaskManager", "ReadDocs", "ListBgTasks"];
    for (arguments, expected) in [
        (&[][..], &all[..]),
        (&["--tool", "task*"], &all[..2]),
        (&["--tool", "Task"], &[]),
        (&["--client", "tests"], &all),
        (&["--client", "claude*"], &[]),
        (&["--failed"], &all[1..3]),
        (&["--denied"], &all[2..3]),
        (&["--since", "1h"], &all),
        (&["--since", "2026-01-01"], &all),
        (&["--since", "0s"], &[]),
        (&["--last", "2"], &all[2..]),
        #[cfg(unix)]
        (&["--user", &rustix::process::geteuid().as_raw().to_string()], &all),
        (&["--user", "nobody-here"], &[]),
        (&["--line", "built-in"], &["TaskManager", "ReadDocs"]),
        (&["--line", "policy.toml:12"], &[]),
        (&["--last", "0", "--failed", "--tool", "Read*"], &all[2..3]),
    ] {
        assert_eq!(tools(&program, arguments), expected, "{arguments:?}");
    }
    let (status, _, err) = program.run(&["audit", "--since", "yesterday"]);
    assert!(!status.success() && err.contains("90s, 30m, 2h, 7d"), "{err}");
    let (status, _, err) = program.run(&["audit", "--line", "12"]);
    assert!(!status.success() && err.contains("policy.toml:12"), "{err}");
    let (_, out, _) = program.run(&["audit", "--tool", "TaskManger"]);
    assert_eq!(out, "no recorded call matches; did you mean --tool TaskManager?\n");
    let (_, out, _) = program.run(&["audit", "--client", "tets"]);
    assert_eq!(out, "no recorded call matches; did you mean --client tests?\n");
    let (_, out, _) = program.run(&["audit", "--tool", "TaskManager", "--since", "0s"]);
    assert_eq!(out, "no recorded call matches\n");
}

#[test]
fn calls_that_a_line_of_the_policy_decided_are_found_by_it() {
    let program = with_policy("[web]\ndeny = [\"*.example.com\",\n\"bad.example.org\"]\n");
    let mut server = start(&program);
    for host in ["www.example.com", "bad.example.org", "www.example.com"] {
        server.call("ReadDocs", json!({ "url": format!("http://{host}/") }));
    }
    lines(&program, 3);
    for (line, count) in [
        ("policy.toml:3", 2),
        ("policy.toml:4", 1),
        ("policy.toml:2", 0),
        ("x.toml:3", 0),
        ("policy.toml line 3", 2),
    ] {
        assert_eq!(tools(&program, &["--line", line]).len(), count, "{line}");
    }
    // A plain text is found within the words of a rule.
    for (words, count) in [("example.com", 2), ("BAD.example", 1), ("*bad*", 1), ("bad*", 0), ("nothing", 0)]
    {
        assert_eq!(tools(&program, &["--rule", words]).len(), count, "{words}");
    }
    let (status, out, _) = program.run(&["audit", "report", "--since", "7d"]);
    assert!(status.success(), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    assert!(out.starts_with("Audit report: 3 calls, from 20"), "{out}");
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    for row in [
        &["ReadDocs", "3", "0", "3", "0", "0", "0", "3"][..],
        &["policy.toml", "line", "3:", "deny", "=", "[\"*.example.…", "0", "2"],
        &["policy.toml", "line", "4:", "\"bad.example.org\"]", "0", "1"],
        &["0", "1", "web", "bad.example.org:80"],
        &["2", "policy.toml", "line", "3:", "deny", "=", "[\"*.example.com\",", "web", "www.example.com:80"],
    ] {
        assert!(rows.iter().any(|told| told == row), "{row:?}: {out}");
    }
    let (_, none, _) = program.run(&["audit", "report", "--since", "0s"]);
    assert_eq!(none, "no recorded call matches\n");
}

#[test]
fn tools_and_outcomes_are_whole_within_the_columns() {
    let program = Program::new();
    let mut server = start(&program);
    create(&mut server, "a task");
    server.call("ListBgTasks", json!({}));
    server.call("BackgroundBash", json!({ "command": "" }));
    server.ask("tools/call", json!({ "name": "NoSuchTool", "arguments": {} }));
    server.ask("tools/call", json!({ "name": "BackgroundBash", "arguments": [] }));
    lines(&program, 5);
    let (_, out, _) = program.run(&["audit"]);
    for whole in [" TaskManager ", " BackgroundBash ", " refused: unknown-tool ", " refused: bad-request "] {
        assert!(out.contains(whole), "{whole} is not in\n{out}");
    }
    assert!(out.starts_with("time (UTC) ") && out.lines().all(|line| line.chars().count() <= 80), "{out}");
}

#[test]
fn the_table_is_for_people_and_safe_for_their_terminal() {
    let program = used();
    let evil = "{\"time\":\"\\u001b[2J\",\"tool\":\"ev\\u001b]0;il\\u202e\",\"client\":{\"name\":\"a\u{9b}b\"}}\n{\"dama";
    let file = folder(&program).join("audit.jsonl");
    fs::write(&file, fs::read_to_string(&file).expect("a file") + evil + "\n").expect("writes");
    let (status, out, err) = program.run(&["audit"]);
    assert!(status.success() && err.contains("1 damaged line was left out"), "{err}");
    for piece in ["time (UTC)", "tests 1", "web 10.0.0.1:80: ", "ev\\u{1b}]0;", "a\\u{9b}b"] {
        assert!(out.contains(piece), "{piece} is not in\n{out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let (_, json, _) = program.run(&["audit", "--json"]);
    for shown in [&out, &json] {
        assert!(!shown.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{shown:?}");
    }
    let (_, none, _) = Program::new().run(&["audit"]);
    assert_eq!(none, "no recorded call matches\n");
}

#[test]
fn lines_of_one_workspace_are_shown_also_when_it_is_gone() {
    let program = used();
    let workspace = program.workspace().canonical().display().to_string();
    let all = tools(&program, &["--workspace", &workspace]);
    assert_eq!(all.len(), 4, "{all:?}");
    assert_eq!(tools(&program, &["--workspace", "/somewhere/else"]), [""; 0]);
    let other = program.home().join("gone");
    fs::create_dir(&other).expect("a folder");
    let mut command = program.command();
    let mut server = scorpiox_tests::Started::spawn({
        command.current_dir(&other);
        command
    });
    server.initialize("2025-11-25");
    create(&mut server, "of the other");
    lines(&program, 5);
    server.close_input();
    server.wait();
    fs::remove_dir_all(&other).expect("removes");
    let other = other.parent().expect("a folder").canonical().join("gone");
    assert_eq!(tools(&program, &["--workspace", other.to_str().expect("Unicode")]), ["TaskManager"]);
}

#[test]
fn calls_are_shown_as_they_come() {
    let program = used();
    let mut command = program.command();
    command.args(["audit", "--follow", "--json", "--last", "1"]).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let mut shown = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut next = || -> Value {
        let line = shown.next().expect("a line").expect("text");
        serde_json::from_str(&line).expect("JSON")
    };
    assert_eq!(next()["tool"], "ListBgTasks");
    let mut server = start(&program);
    create(&mut server, "one more");
    assert_eq!(next()["tool"], "TaskManager");
    child.kill().and_then(|()| child.wait()).expect("it was there");
}

#[test]
fn files_of_others_are_looked_at_with_all_filters() {
    let program = used();
    let text = fs::read_to_string(folder(&program).join("audit.jsonl")).expect("a file");
    let ben = text.replace("\"tool\":\"ReadDocs\"", "\"tool\":\"ReadImage\"");
    // Prefixes of a log server, a repeated line, and an unrelated line.
    let mixed: String = text.lines().map(|line| format!("Nov 22 10:00 host {line}\n{line}\n")).collect();
    let (one, other) = ("ana.jsonl", "ben.jsonl");
    program.put(&format!("workspace/{one}"), mixed + "a line of something else\n");
    program.put(&format!("workspace/{other}"), ben);
    fs::remove_dir_all(folder(&program)).expect("removes");
    let both = ["--file", one, "--file", other];
    assert!(tools(&program, &[]).is_empty());
    assert_eq!(tools(&program, &both[..2]), ["TaskManager", "TaskManager", "ReadDocs", "ListBgTasks"]);
    for (arguments, expected) in [
        (&["--tool", "Read*"][..], &["ReadDocs", "ReadImage"][..]),
        (&["--denied"], &["ReadDocs", "ReadImage"]),
        (&["--line", "built-in", "--tool", "Read*"], &["ReadDocs", "ReadImage"]),
        (&["--user", "nobody-here"], &[]),
        (&["--last", "1"], &["ListBgTasks"]),
    ] {
        assert_eq!(tools(&program, &[&both[..], arguments].concat()), expected, "{arguments:?}");
    }
    let (status, out, err) = program.run(&[&["audit"], &both[..]].concat());
    assert!(status.success() && out.starts_with("time (UTC) ") && out.contains("user, client"), "{out}");
    assert!(err.contains("1 line that is none of an audit was left out"), "{err}");
    let (status, out, err) = program.run(&[&["audit", "report", "--tool", "Read*"], &both[..]].concat());
    assert!(
        status.success() && out.contains("Audit report: 2 calls") && out.contains("ReadImage"),
        "{out}{err}"
    );
    for (arguments, says) in [
        (&["--file", "absent"][..], "absent cannot be read"),
        (&["--file", "."], "name the files in it, such as audit*.jsonl"),
        (&["--file", one, "--follow"], "cannot be used with"),
    ] {
        let (status, _, err) = program.run(&[&["audit"], arguments].concat());
        assert!(!status.success() && err.contains(says), "{arguments:?}: {err}");
    }
}
