//! Tests of floods of requests, which must not displace the audit lines of others.

use std::fs;

use scorpiox_tests::Program;
use scorpiox_tests::http::Request;
use serde_json::{Value, json};

use super::admin::{ANN, policy};

/// Maximum length of a line about an unknown caller, with the folders of a test.
const MAX_LINE_BYTES: usize = 1000;

fn lines(program: &Program) -> Vec<(usize, Value)> {
    let text = fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).unwrap_or_default();
    text.lines().map(|line| (line.len(), serde_json::from_str(line).expect("a whole line"))).collect()
}

#[test]
fn unknown_callers_share_one_budget_of_lines_over_all_workspaces_and_reasons() {
    let program = Program::new();
    let mut more = String::new();
    for name in ["web", "docs"] {
        let folder = program.put(&format!("{name}/.keep"), "").parent().expect("a folder").to_owned();
        more += &format!("[workspace.{name}]\npath = {}\n", json!(folder));
    }
    program.put("home/.scorpiox/policy.toml", policy(&more));
    let mut server = program.serve_http(0);
    let hostile = "\"".repeat(300);
    let nobody = server.modern("server/discover", json!({})).without("Authorization");
    let form = |path: &str, body: &str| {
        let form = nobody.clone().path(path).body(body).without("Accept");
        form.with("Content-Type", "application/x-www-form-urlencoded")
    };
    let own = format!("http://{}", server.address);
    let kinds: Vec<Request> =
        ["/mcp".to_owned(), "/w/web/mcp".to_owned(), "/w/docs/mcp".to_owned(), format!("/w/{hostile}/mcp")]
            .iter()
            .flat_map(|path| {
                [
                    nobody.clone().path(path),
                    nobody.clone().path(path).with("Authorization", "Bearer no-token-of-ours-0123"),
                    nobody.clone().path(path).with("Host", &hostile),
                    nobody.clone().path(path).with("Origin", &format!("http://{hostile}")),
                ]
            })
            .chain([
                form("/admin/login", "token=x"),
                form("/admin/logout", ""),
                form("/admin/login", "").with("Origin", &own),
                form("/admin/login", "token=nobody").with("Origin", &own),
                form("/admin/login", &"x".repeat(33_000)).with("Origin", &own),
            ])
            .collect();
    let rounds = 20;
    for _ in 0..rounds {
        for kind in &kinds {
            let status = server.ask(kind).status;
            assert!((400..500).contains(&status), "{status}");
        }
    }
    let known = server.shown(ANN).ask(server.modern("server/discover", json!({})).path("/w/none/mcp"));
    assert_eq!(known.status, 404);
    server.end();
    let lines = lines(&program);
    let of_ann = lines.iter().filter(|(_, line)| line["principal"] == "ann").count();
    assert_eq!(of_ann, 1, "a known caller has its line");
    let unknown: Vec<_> = lines
        .iter()
        .filter(|(_, line)| line["outcome"] == "refused" && line["principal"].is_null())
        .collect();
    // The flood takes seconds, so at most one more minute begins.
    assert!((60..=63).contains(&unknown.len()), "{} lines", unknown.len());
    let longest = unknown.iter().map(|(length, _)| *length).max().expect("a line");
    assert!(longest <= MAX_LINE_BYTES, "{longest} bytes");
    let more = |line: &Value| line["more_calls"].as_u64().unwrap_or_default();
    let all: u64 = unknown.iter().map(|(_, line)| 1 + more(line)).sum();
    assert_eq!(all, rounds * kinds.len() as u64);
    let (_, summary) = unknown.iter().find(|(_, line)| more(line) > 0).expect("a summary");
    let by_fault = summary["more_faults"].as_object().expect("faults");
    assert_eq!(by_fault.values().filter_map(Value::as_u64).sum::<u64>(), more(summary));
    assert!(
        ["no-token", "too-many-tries", "forbidden"].iter().all(|fault| by_fault.contains_key(*fault)),
        "{summary}"
    );
    let (code, out, err) = program.run(&["audit", "verify"]);
    assert!(code.success() && out.contains("is whole"), "{out}{err}");
}

/// Lists, and requests that fail, cost a principal nothing, and each is counted.
#[test]
fn lists_and_failing_requests_of_a_principal_share_lines() {
    const REQUESTS: u64 = 150;
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", policy(""));
    let mut server = program.serve_http(0);
    for _ in 0..REQUESTS {
        server.shown(ANN).modern("prompts/list", json!({}));
        server.shown(ANN).modern("resources/read", json!({ "uri": "none://x" }));
    }
    server.end();
    for method in ["prompts/list", "resources/read"] {
        let lines = lines(&program);
        let own: Vec<_> = lines.iter().filter(|(_, line)| line["tool"] == method).collect();
        let more: u64 = own.iter().filter_map(|(_, line)| line["more_calls"].as_u64()).sum();
        assert_eq!(own.len() as u64 + more, REQUESTS, "{method}: {own:?}");
        // After 60 lines, one a second stands for the others.
        assert!((60..100).contains(&own.len()), "{method}: {} lines", own.len());
    }
}
