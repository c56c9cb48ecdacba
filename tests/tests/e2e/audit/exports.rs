//! Tests of exported copies of the audit.

use std::collections::BTreeSet;
use std::fs;
use std::io::BufReader;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_tests::managed::managed;
use scorpiox_tests::program::unwrapped;
use scorpiox_tests::{Canonical as _, Program, Started};
use serde_json::json;

use super::{PATIENCE, create, folder, lines, start, text, with_policy};

/// Returns the path of an export target.
fn place(program: &Program) -> PathBuf {
    let kept = program.put("logs/.keep", "");
    kept.parent().expect("a folder").canonical()
}

/// Returns a program with this policy, in which `PLACE` is replaced by the export target.
fn exporting(policy: &str) -> (Program, PathBuf) {
    let program = Program::new();
    let place = place(&program);
    let policy = policy.replace("PLACE", place.to_str().expect("UTF-8"));
    program.put("home/.scorpiox/policy.toml", format!("version = 1\n{policy}"));
    (program, place)
}

fn ends(mut server: Started) {
    server.close_input();
    assert!(server.wait().0.success());
}

/// Starts a log server that yields the lines of the received messages.
fn log_server(listener: TcpListener) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let (mut from, sender) = (BufReader::new(socket.expect("a connection")), sender.clone());
            thread::spawn(move || {
                while let Some(message) = message(&mut from) {
                    let _ = sender.send(message);
                }
            });
        }
    });
    receiver
}

/// Returns the content after the header of the next message.
fn message(from: &mut impl std::io::BufRead) -> Option<String> {
    let mut length = Vec::new();
    from.read_until(b' ', &mut length).ok()?;
    let length: usize = String::from_utf8(length).ok()?.trim().parse().ok()?;
    let mut text = vec![0; length];
    from.read_exact(&mut text).ok()?;
    let text = String::from_utf8(text).expect("UTF-8");
    let (header, line) = text.split_once(" audit - ").expect("a header");
    assert!(header.starts_with("<110>1 20") && header.contains(" scorpiox-code "), "{header}");
    Some(line.to_owned())
}

fn received(server: &Receiver<String>, count: usize) -> Vec<String> {
    (0..count).map(|_| server.recv_timeout(PATIENCE).expect("a line")).collect()
}

#[test]
fn a_file_and_a_log_server_get_every_line_as_it_is() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let policy = format!(
        "[audit]\nexport = [\"PLACE/{{uid}}.jsonl\", \"tcp://127.0.0.1:{port}\"]\nmax_file_size = \"64KiB\"\n"
    );
    let (program, place) = exporting(&policy);
    let server = log_server(listener);
    let uid = rustix::process::geteuid().as_raw();
    let copy = place.join(format!("{uid}.jsonl"));
    for _ in 0..2 {
        let mut server = start(&program);
        assert!(!copy.exists() || text(&program).contains("TaskManager"), "nothing happens at start");
        create(&mut server, "a task");
        for _ in 0..150 {
            server.request("tools/call", json!({ "name": "ListBgTasks", "arguments": {} }));
        }
        server.skip(150);
        ends(server);
    }
    let whole = in_order(&program);
    assert_eq!(whole.lines().count(), 302);
    assert_eq!(fs::read_to_string(&copy).expect("a file"), whole);
    assert_eq!(copy.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
    assert_eq!(received(&server, 302), whole.lines().collect::<Vec<_>>());
    let file = copy.to_str().expect("UTF-8");
    let (status, out, err) = program.run(&["audit", "verify", "--file", file]);
    assert!(status.success() && out.starts_with("The copy is whole: 302 lines in 1 chain."), "{out}{err}");
    fs::write(&copy, whole.replacen("\"outcome\":\"ok\"", "\"outcome\":\"error\"", 1)).expect("writes");
    let (status, out, _) = program.run(&["audit", "verify", "--file", file]);
    assert_eq!(status.code(), Some(1), "{out}");
    assert!(out.contains("line 1: number 1 was changed"), "{out}");
    // A copy that starts later, or is empty, is complete only relative to a given start.
    let (first, rest) = whole.split_once('\n').expect("lines");
    fs::write(&copy, rest).expect("writes");
    let (status, out, _) = program.run(&["audit", "verify", "--file", file]);
    assert_eq!(status.code(), Some(1), "{out}");
    assert!(out.starts_with("The copy is NOT WHOLE: 301 lines in 1 chain.\n"), "{out}");
    let from = out.lines().find_map(|line| line.trim().strip_prefix("--from ")).expect("a hash").to_owned();
    let (status, out, _) = program.run(&["audit", "verify", "--file", file, "--from", &from]);
    assert!(status.success() && out.starts_with("The copy is whole: 301 lines"), "{out}");
    // The hash equals the one reported for the end of the older part.
    fs::write(&copy, format!("{first}\n")).expect("writes");
    let (status, out, _) = program.run(&["audit", "verify", "--file", file]);
    assert!(status.success() && out.contains(&format!("\n  last line: {from}\n")), "{out}");
    fs::write(&copy, "").expect("writes");
    let (status, out, _) = program.run(&["audit", "verify", "--file", file]);
    assert!(status.code() == Some(1) && out.contains("holds NO chain of an audit"), "{out}");
}

#[test]
fn a_call_that_is_refused_for_the_audits_lock_names_who_holds_it_and_is_exported() {
    let (program, place) = exporting("[audit]\nrequired = true\nexport = [\"PLACE/x.jsonl\"]\n");
    let mut server = start(&program);
    create(&mut server, "a task");
    lines(&program, 1);
    let head = folder(&program).join("audit.head");
    let lock = fs::File::open(&head).expect("the head");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("a lock");
    let refused = server.call("ListBgTasks", json!({}));
    let said = refused["content"][0]["text"].as_str().expect("a text").to_owned();
    let holds = format!(" holds {} and does not let go of it", head.canonical().display());
    // If the file system does not reveal the lock holder, the error names no process.
    let by = [format!("process {} (", std::process::id()), "another process".to_owned()];
    assert!(said.contains(&holds) && by.iter().any(|by| said.contains(by)), "{said}");
    let (_, out, _) = program.run(&["doctor"]);
    assert!(out.replace("\n        ", " ").contains("does not let go of it"), "{out}");
    let copy = place.join("x.jsonl");
    let begun = Instant::now();
    let exported = loop {
        let text = fs::read_to_string(&copy).unwrap_or_default();
        if text.lines().count() >= 2 {
            break text;
        }
        assert!(begun.elapsed() < PATIENCE, "{text}");
        thread::sleep(Duration::from_millis(5));
    };
    let line: serde_json::Value =
        serde_json::from_str(exported.lines().last().expect("a line")).expect("JSON");
    assert_eq!((&line["tool"], &line["fault"]), (&json!("ListBgTasks"), &json!("not-recorded")));
    assert!(line.get("n").is_none(), "{line}");
    drop(lock);
    create(&mut server, "another");
    ends(server);
    let (status, out, err) = program.run(&["audit", "verify"]);
    assert!(status.success() && out.starts_with("The audit is whole: 3 lines"), "{out}{err}");
    let (status, out, err) = program.run(&["audit", "verify", "--file", copy.to_str().expect("UTF-8")]);
    assert!(status.success() && out.contains("Not checked: 1 line of calls that were refused"), "{out}{err}");
}

/// Returns the text of the audit, oldest file first.
fn in_order(program: &Program) -> String {
    let entries = fs::read_dir(folder(program)).expect("a folder");
    let mut full: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("audit-")))
        .collect();
    full.sort_unstable();
    full.push(folder(program).join("audit.jsonl"));
    full.iter().map(|path| fs::read_to_string(path).expect("a file")).collect()
}

#[test]
fn where_lines_are_required_no_call_runs_while_an_export_takes_none() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let program = with_policy(&format!("[audit]\nrequired = true\nexport = [\n\"tcp://{address}\",\n]\n"));
    let mut server = start(&program);
    let call = json!({ "action": "create", "text": "a task" });
    let refused = server.call("TaskManager", call.clone());
    assert_eq!(refused["isError"], true);
    assert_eq!(
        refused["content"][0]["text"].as_str().expect("a text"),
        format!(
            "The call was not run: the operator's policy requires a line in the audit for each call, and the export \
             to tcp://{address} (policy.toml line 5) takes no lines: Connection refused (os error 111)."
        )
    );
    let (status, out, _) = program.run(&["doctor"]);
    assert_eq!(status.code(), Some(1));
    let told = |out: &str, what: &str| unwrapped(out).lines().any(|line| line.contains(what));
    assert!(
        told(&out, &format!("the export to tcp://{address} (policy.toml line 5) takes no lines")),
        "{out}"
    );
    let log = log_server(TcpListener::bind(address).expect("the same port"));
    let begun = Instant::now();
    let mut refusals = 1;
    while server.call("TaskManager", call.clone())["isError"] == true {
        assert!(begun.elapsed() < PATIENCE);
        refusals += 1;
        thread::sleep(Duration::from_millis(50));
    }
    let (_, out, _) = program.run(&["doctor"]);
    assert!(told(&out, &format!("lines are exported to tcp://{address} (policy.toml line 5)")), "{out}");
    let local = lines(&program, refusals + 1);
    assert_eq!(local.iter().filter(|line| line["outcome"] == "refused").count(), refusals);
    ends(server);
    assert_eq!(received(&log, refusals + 1), text(&program).lines().collect::<Vec<_>>());
}

#[test]
fn without_that_calls_go_on_and_what_was_missed_is_sent_by_the_next_server() {
    let (program, place) = exporting("[audit]\nexport = [\"PLACE/later/x.jsonl\"]\n");
    let (status, _, err) = program.run(&["call", "ListBgTasks"]);
    assert!(status.success(), "{err}");
    assert!(err.contains("x.jsonl (policy.toml line 3) takes no lines: the folder "), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    fs::create_dir(place.join("later")).expect("a folder");
    let (status, _, err) = program.run(&["call", "ListBgTasks"]);
    assert!(status.success() && err.is_empty(), "{err}");
    assert_eq!(fs::read_to_string(place.join("later/x.jsonl")).expect("a file"), text(&program));
    assert_eq!(text(&program).lines().count(), 2);
}

#[test]
fn servers_that_are_killed_again_and_again_leave_a_copy_that_has_every_line() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (program, place) = exporting(&format!(
        "[audit]\nmax_file_size = \"64KiB\"\nmax_files = 1000\nexport = [\"PLACE/x.jsonl\", \"tcp://127.0.0.1:{port}\"]\n"
    ));
    let log = log_server(listener);
    let mut other = start(&program);
    for _ in 0..8 {
        let mut server = start(&program);
        create(&mut server, "a task");
        for _ in 0..100 {
            server.request("tools/call", json!({ "name": "ListBgTasks", "arguments": {} }));
        }
        server.kill();
        server.wait();
        create(&mut other, "another");
    }
    ends(other);
    let (_, out, _) = program.run(&["audit", "--json"]);
    let copy = place.join("x.jsonl");
    let whole: BTreeSet<_> = out.lines().map(str::to_owned).collect();
    let mut seen = BTreeSet::new();
    while seen.len() < whole.len() {
        seen.insert(log.recv_timeout(PATIENCE).expect("a line"));
    }
    assert_eq!(seen, whole);
    let (status, told, err) = program.run(&["audit", "verify", "--file", copy.to_str().expect("UTF-8")]);
    assert!(status.success(), "{told}{err}");
    assert!(told.starts_with(&format!("The copy is whole: {} lines in 1 chain.", whole.len())), "{told}");
}

/// The log and its head are removed, or an older copy is put back, while no server runs.
#[test]
fn an_exported_line_that_was_removed_is_missing_whatever_was_written_since() {
    for is_put_back in [false, true] {
        let (program, _) = exporting("[audit]\nexport = [\"PLACE/x.jsonl\"]\n");
        let call = || {
            let mut server = start(&program);
            create(&mut server, "a task");
            ends(server);
        };
        let files = ["audit.jsonl", "audit.head"].map(|name| folder(&program).join(name));
        call();
        let old = files.each_ref().map(|file| fs::read(file).expect("a file"));
        (0..2).for_each(|_| call());
        for (file, old) in files.iter().zip(old) {
            fs::remove_file(file).expect("a file");
            if is_put_back {
                fs::write(file, old).expect("writes");
            }
        }
        for _ in 0..5 {
            let (status, out, _) = program.run(&["audit", "verify"]);
            assert_eq!(status.code(), Some(1), "{out}");
            assert!(out.contains(".position says that number 3 was exported"), "{out}");
            call();
        }
    }
}

#[test]
fn a_server_that_does_not_read_does_not_hold_up_calls_nor_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let program = with_policy(&format!("[audit]\narguments = true\nexport = [\"tcp://127.0.0.1:{port}\"]\n"));
    let mut server = start(&program);
    let long = json!({ "id": "x".repeat(15_000) });
    // The kernel accepts the connection, and the server never reads.
    for _ in 0..1000 {
        server.request("tools/call", json!({ "name": "KillBgTask", "arguments": long }));
    }
    server.skip(1000);
    lines(&program, 1000);
    assert!(text(&program).len() > 10 << 20, "more than the system takes for a program");
    let begun = Instant::now();
    ends(server);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    drop(listener);
}

#[test]
fn a_policy_that_exports_to_where_commands_can_write_is_refused() {
    let program = Program::new();
    let workspace = program.workspace().canonical();
    let home = program.home().canonical();
    for (path, why) in [
        (workspace.join("x.jsonl"), "where commands can write"),
        (home.join("open/x.jsonl"), "where commands can write"),
        (home.join(".scorpiox/audit/audit.jsonl"), "among this program's own files"),
    ] {
        program.put(
            "home/.scorpiox/policy.toml",
            format!(
                "version = 1\n[shell.profile.workspace]\nwrite = [\"@workspace\", \"@tmp\", \"~/open\"]\n[audit]\nexport = [\n\
                 \"journald\",\n\"{}\",\n]\n",
                path.display()
            ),
        );
        let (status, _, err) = program.run(&["policy", "check"]);
        let said = format!(
            "policy.toml line 7: `export` in [audit] leads to {}, {why}; name a path outside",
            path.display()
        );
        assert!(!status.success() && unwrapped(&err).replace("\n  ", " ").contains(&said), "{said}: {err}");
    }
}

#[test]
fn a_person_adds_places_to_those_of_the_administrator() {
    let program = Program::new();
    let place = place(&program);
    let mine = place.join("mine.jsonl");
    program.put(
        "home/.scorpiox/policy.toml",
        format!("version = 1\n[audit]\nexport = [\"{}\"]\n", mine.display()),
    );
    let own = program.home().join(".scorpiox").display().to_string();
    let program = program.with("SCORPIOX_HOME", &own);
    let all = format!("version = 1\n[audit]\nexport = [\n\"{}/{{uid}}.jsonl\",\n]\n", place.display());
    let program = managed(program, &all, "");
    let (status, shown, err) = program.run(&["policy", "show"]);
    assert!(status.success(), "{err}");
    let line =
        |path: &str, source: &str| shown.lines().any(|line| line.contains(path) && line.ends_with(source));
    assert!(line("/{uid}.jsonl\",", "# /etc/scorpiox/policy.toml line 4"), "{shown}");
    assert!(line("/mine.jsonl\",", "# policy.toml line 3"), "{shown}");
    let (status, out, err) = program.run(&["call", "ListBgTasks"]);
    assert!(status.success(), "{out}{err}");
    let uid = text(&program);
    let uid = serde_json::from_str::<serde_json::Value>(uid.trim()).expect("a line")["uid"].to_string();
    for copy in [mine, place.join(format!("{uid}.jsonl"))] {
        assert_eq!(fs::read_to_string(&copy).expect("a copy"), text(&program), "{}", copy.display());
    }
}
