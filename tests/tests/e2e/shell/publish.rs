//! Tests of `publish`: ports of background commands on the loopback interface of the machine.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use scorpiox_tests::{Program, Started};
use serde_json::json;

use super::support::{bash, comes_true, in_tier, read_until, start, with_policy};

const LONG: Duration = Duration::from_secs(30);

/// Returns a free port that no connection of another test gets: the system takes theirs from 32768 on.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let ports = std::iter::repeat_with(|| 20_000 + NEXT.fetch_add(1, Ordering::Relaxed) % 10_000);
    ports.take(10_000).find(is_free).expect("a free port")
}

fn publishing(tier: &str, port: u16) -> Program {
    with_policy(in_tier(tier), &format!("[shell.profile.workspace]\npublish = [{port}]\n"))
}

/// Command of a server that answers every request with its directory's files.
fn server(port: u16, at: &str) -> String {
    format!("echo hello > page; exec python3 -u -m http.server {port} --bind {at}")
}

/// Starts a background command; returns its number and the text of the result.
fn begin(server: &mut Started, command: &str) -> (u64, String) {
    let result = server.call("BackgroundBash", json!({ "command": command }));
    assert_eq!(result["isError"], false, "{result}");
    let text = result["content"][0]["text"].as_str().expect("a text").to_owned();
    (result["structuredContent"]["task_id"].as_u64().expect("a number"), text)
}

/// Requests a page from a port of the machine.
fn page(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(LONG)).ok()?;
    stream.write_all(b"GET /page HTTP/1.0\r\n\r\n").ok()?;
    let mut all = String::new();
    stream.read_to_string(&mut all).ok()?;
    Some(all)
}

fn is_served(port: u16) -> bool {
    page(port).is_some_and(|page| page.ends_with("hello\n"))
}

fn is_open(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[test]
fn a_server_in_the_background_is_reached_until_it_ends() {
    for (tier, at) in [("T1", "127.0.0.1"), ("T1b", "127.0.0.1"), ("T1", "::1"), ("T1", "0.0.0.0")] {
        let port = free_port();
        let program = publishing(tier, port);
        let mut server_ = start(&program);
        let (task, said) = begin(&mut server_, &server(port, at));
        let told = format!(
            "[publish: http://127.0.0.1:{port}/ on this machine leads to port {port} of this command"
        );
        assert!(said.contains(&told), "{tier}: {said}");
        assert!(comes_true(LONG, || is_served(port)), "{tier} {at}");
        // It listens on the loopback interface alone.
        let table = fs::read_to_string("/proc/net/tcp").expect("a table");
        let listening = format!("0100007F:{port:04X} 00000000:0000 0A");
        assert!(table.contains(&listening), "{table}");
        server_.call("KillBgTask", json!({ "task_id": task }));
        assert!(!is_open(port), "{tier}: the port is withdrawn with the command");
        // A command in the foreground publishes nothing.
        let ran = bash(&mut server_, "sleep 0.1; echo done");
        assert!(!ran.text.contains("publish"), "{}", ran.text);
        // A command that ends by itself frees the port too.
        let (task, said) = begin(&mut server_, "true");
        assert!(said.contains("on this machine leads to"), "{tier}: {said}");
        read_until(&mut server_, task, "never");
        assert!(comes_true(LONG, || !is_open(port)), "{tier}");
    }
}

#[test]
fn a_taken_port_is_named_and_nothing_is_published() {
    let port = free_port();
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("a listener");
    let program = publishing("T1", port);
    let mut server_ = start(&program);
    let (_, said) = begin(&mut server_, "sleep 60");
    assert!(
        said.contains(&format!("[publish: port {port} of this machine was not taken: another program")),
        "{said}"
    );
    drop(other);
    let (first, said) = begin(&mut server_, "sleep 60");
    assert!(said.contains("on this machine leads to"), "{said}");
    let (_, said) = begin(&mut server_, "sleep 60");
    assert!(said.contains("another program or background command has it"), "one command at a time: {said}");
    server_.call("KillBgTask", json!({ "task_id": first }));
    let (_, said) = begin(&mut server_, "sleep 60");
    assert!(said.contains("on this machine leads to"), "{said}");
}

#[test]
fn a_port_is_withdrawn_when_the_server_dies_or_the_policy_narrows() {
    let port = free_port();
    let program = publishing("T1", port);
    let mut server_ = start(&program);
    begin(&mut server_, &server(port, "127.0.0.1"));
    assert!(comes_true(LONG, || is_served(port)));
    let new = program.put("home/.scorpiox/policy.new", "version = 1\n");
    fs::rename(&new, new.with_file_name("policy.toml")).expect("renamed");
    bash(&mut server_, "true");
    assert!(comes_true(LONG, || !is_open(port)), "the policy publishes nothing any more");
    let program = publishing("T1", port);
    let mut server_ = start(&program);
    begin(&mut server_, &server(port, "127.0.0.1"));
    assert!(comes_true(LONG, || is_served(port)));
    server_.kill();
    assert!(comes_true(LONG, || !is_open(port)), "the server was killed");
}

#[test]
fn tiers_without_a_network_say_that_nothing_is_published() {
    let port = free_port();
    let program = publishing("T2", port);
    let mut server_ = start(&program);
    let (_, said) = begin(&mut server_, "sleep 60");
    assert!(said.contains("sandbox T2 has no network of its own; T1 and T1b have"), "{said}");
    assert!(!is_open(port));
}

#[test]
fn ports_of_others_are_refused_by_the_policy() {
    for (list, said) in [
        ("[80]", "is 80; write a number from 1024 to 65535"),
        ("[70000]", "is 70000; write a number from 1024 to 65535"),
        ("[3128]", "the port of the proxy for commands"),
        ("[8080, 8080]", "has 8080 twice"),
        ("['8080']", "write a number from 1024 to 65535"),
        ("8080", "write a list of ports, such as [8080]"),
    ] {
        let program = with_policy(Program::new(), &format!("[shell.profile.workspace]\npublish = {list}\n"));
        let (status, out, error) = program.run(&["policy", "check"]);
        assert_eq!(status.code(), Some(2), "{list}: {out}{error}");
        let out = format!("{out}{error}");
        assert!(out.contains("line 3") && out.contains(said), "{list}: {out}");
    }
    let program = with_policy(Program::new(), "[shell.profile.workspace]\npublish = [8080, 3000]\n");
    let (_, shown, _) = program.run(&["policy", "show"]);
    assert!(shown.contains("publish = [8080, 3000] "), "{shown}");
    let (_, diff, _) = program.run(&["policy", "diff"]);
    assert!(diff.contains("8080"), "{diff}");
}
