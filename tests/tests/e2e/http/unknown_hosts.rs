//! Tests of `unknown_hosts` over HTTP: an approver is asked about a host, and the answer is the caller's alone.

use std::thread;
use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use scorpiox_tests::http::HttpServer;
use serde_json::json;

use super::admin::{ANN, BOB, get, lines, policy};
use super::admin_approvals::{PAGE, answer, approver, enter, shown};

const CURL: &str = "curl -s -o /dev/null -w '%{http_connect}\\n'";

/// Starts a server that asks about unknown hosts like this, with the approver lead.
fn asking(word: &str) -> (Program, HttpServer, String) {
    let program = Program::new().with("PATH", "/usr/bin:/bin");
    let (lead, keys) = approver(&program, "lead");
    let profile = format!("[shell.profile.workspace]\nunknown_hosts = \"{word}\"\n");
    program.put("home/.scorpiox/policy.toml", policy(&format!("{profile}{keys}")));
    let server = program.serve_http(0);
    (program, server, lead)
}

fn run(server: &HttpServer, token: &str, options: &str, host: &str) -> String {
    let command = format!("{CURL} {options} https://{host}/; true");
    server.shown(token).text("Bash", json!({ "command": command }))
}

/// Answers an approval as the lead does in a browser.
fn decide(server: &HttpServer, lead: &str, number: u64, decision: &str) {
    let cookie = enter(server, lead);
    let (value, number) = (shown(server, &cookie, number), number.to_string());
    let fields = [("number", &*number), ("shown", &value), ("answer", decision), ("credential", lead)];
    let done = answer(server, &cookie, &fields);
    assert_eq!(done.status, 200, "{done:?}");
}

#[test]
fn a_host_that_an_approver_allowed_is_reached_by_its_caller_alone() {
    let (program, mut server, lead) = asking("ask");
    // The command ends before the answer. The question stays.
    let said = run(&server, BOB, "--max-time 2", "packages.example.com");
    assert!(said.contains("packages.example.com:443 was not reached: "), "{said}");
    assert!(said.contains("Approval 1 waits") && said.contains("Run the command again"), "{said}");
    let cookie = enter(&server, &lead);
    let listed = get(&server, PAGE, Some(&cookie)).body;
    for part in ["Approval 1: connect to a host", "packages.example.com", "443", "<dd>bob</dd>"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    decide(&server, &lead, 1, "approve");
    for _ in 0..2 {
        // The name does not exist, so the proxy fails later than at its list.
        let said = run(&server, BOB, "--max-time 20", "packages.example.com");
        assert!(said.starts_with("502"), "{said}");
    }
    // Another port, and another caller.
    let said = run(&server, BOB, "--max-time 2", "packages.example.com:8443");
    assert!(said.contains("Approval 2 waits"), "{said}");
    let said = run(&server, ANN, "--max-time 2", "packages.example.com");
    assert!(said.contains("Approval 3 waits"), "{said}");
    decide(&server, &lead, 3, "deny");
    let said = run(&server, ANN, "--max-time 20", "packages.example.com");
    assert!(said.starts_with("403") && said.contains("was asked, and denied it"), "{said}");
    server.end();
    let used = lines(&program, "Bash").iter().map(ToString::to_string).collect::<String>();
    assert!(used.contains("approval 1 by lead (page, once)"), "{used}");
}

#[test]
fn a_connection_waits_for_the_answer_of_an_approver() {
    let (_program, mut server, lead) = asking("ask");
    thread::scope(|scope| {
        let call = scope.spawn(|| run(&server, BOB, "", "packages.example.com"));
        let cookie = enter(&server, &lead);
        let end = Instant::now() + Duration::from_secs(60);
        while !get(&server, PAGE, Some(&cookie)).body.contains("Approval 1") {
            assert!(Instant::now() < end, "nobody is asked");
            thread::yield_now();
        }
        decide(&server, &lead, 1, "approve");
        let said = call.join().expect("an answer");
        assert!(said.starts_with("502"), "{said}");
    });
    server.end();
}

#[test]
fn without_an_approver_who_may_answer_the_host_is_refused() {
    let program = Program::new().with("PATH", "/usr/bin:/bin");
    let profile = "[shell.profile.workspace]\nunknown_hosts = \"ask\"\n";
    program.put("home/.scorpiox/policy.toml", policy(profile));
    let mut server = program.serve_http(0);
    let said = run(&server, BOB, "", "packages.example.com");
    assert!(said.starts_with("403") && said.contains("requires the answer of an approver"), "{said}");
    server.end();
}

#[test]
fn callers_answer_about_their_own_hosts_only_where_the_policy_says_so() {
    let (_program, mut server, _) = asking("ask-weak");
    let capabilities = json!({ "elicitation": {} });
    let post = server.post(&json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}
        }
    }));
    let bearer = format!("Bearer {BOB}");
    let begun = server.ask(&post.with("Authorization", &bearer));
    let session = begun.header("mcp-session-id").expect("a session").to_owned();
    let command = format!("{CURL} https://packages.example.com/; true");
    let call = json!({
        "name": "Bash", "arguments": {"command": command}, "_meta": {"progressToken": "p"}
    });
    let mut stream = server.connect();
    stream.send(&server.in_session(&session, 2, "tools/call", &call).with("Authorization", &bearer).bytes());
    stream.head();
    let form = loop {
        let message = stream.message().expect("a message");
        if message["method"] == "elicitation/create" {
            break message;
        }
    };
    let text = form["params"]["message"].as_str().expect("a message");
    assert!(text.contains("packages.example.com") && text.contains("unknown_hosts of workspace"), "{text}");
    let said = json!({
        "jsonrpc": "2.0", "id": form["id"], "result": {"action": "accept", "content": {"q1": "Allow this call"}}
    });
    let accepted =
        server.ask(&server.post(&said).with("Authorization", &bearer).with("Mcp-Session-Id", &session));
    assert_eq!(accepted.status, 202, "{accepted:?}");
    let answer = loop {
        let message = stream.message().expect("a message");
        if message["id"] == 2 {
            break message;
        }
    };
    let said = answer["result"]["content"][0]["text"].as_str().expect("text");
    assert!(said.starts_with("502"), "{said}");
    server.end();
}
