//! Tests of outgoing requests: to approved hosts, under the operator's policy.

use scorpiox_tests::Program;
use scorpiox_tests::site::{Answer, Site};
use serde_json::{Value, json};

use super::{outsider, try_to};

pub(crate) fn program(policy: &str) -> Program {
    let program = Program::new();
    let text = format!("version = 1\n[web]\nallow_private = [\"127.0.0.1/32\"]\n{policy}");
    program.put("home/.scorpiox/policy.toml", text);
    program
}

pub(crate) fn site() -> (Site, String) {
    let site = Site::start(|asked| match asked.path.as_str() {
        "/moved" => Answer::redirect("http://127.0.0.1:1/elsewhere"),
        "/echo" => Answer::of("text/plain", format!("{} {}", asked.method, asked.body)),
        "/silence" => Answer::silence(),
        _ => Answer::of("text/plain", "a page"),
    });
    let url = site.url("/");
    let authority = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    (site, authority)
}

pub(crate) fn manifest(host: &str) -> String {
    format!("[capabilities.web]\nwhy = \"pages\"\nhosts = [\"{host}\"]\n")
}

fn request(method: &str, authority: &str, path: &str, body: &str) -> Value {
    json!({"method": method, "scheme": "http", "authority": authority, "path": path, "body": body})
}

#[test]
fn an_approved_host_is_asked_with_any_method() {
    let (site, authority) = site();
    let (_program, mut server) = outsider(program(""), &manifest(&authority));
    let mut go = |arguments| try_to(&mut server, "request", arguments);
    assert_eq!(go(request("GET", &authority, "/a?b=c", "")), Ok(json!([200, "a page"])));
    let body = "x".repeat(100_000);
    assert_eq!(go(request("POST", &authority, "/echo", &body)), Ok(json!([200, format!("POST {body}")])));
    assert_eq!(go(request("DELETE", &authority, "/echo", "")), Ok(json!([200, "DELETE "])));
    // A redirect is returned as a response. Following it is a new request with its own policy check.
    assert_eq!(go(request("GET", &authority, "/moved", "")).expect("an answer")[0], 302);
    assert_eq!(site.count("/a?b=c"), 1);
}

#[test]
fn hosts_that_were_not_approved_are_refused() {
    let (site, authority) = site();
    let (_, port) = authority.split_once(':').expect("a port");
    let (_program, mut server) = outsider(program(""), &manifest("*.example.com"));
    for host in [
        authority.clone(),
        format!("localhost:{port}"),
        format!("127.1:{port}"),
        format!("2130706433:{port}"),
        format!("0x7f000001:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("example.com@{authority}"),
        format!("evilexample.com:{port}"),
        "example.com".to_owned(),
        "a.example.com:8080".to_owned(),
    ] {
        let refused = try_to(&mut server, "request", request("GET", &host, "/", "")).expect_err(&host);
        let known = ["HttpRequestDenied", "HttpRequestUriInvalid", "authority cannot be set"];
        assert!(known.iter().any(|known| refused.contains(known)), "{host}: {refused}");
    }
    assert!(site.asked().is_empty());
}

#[test]
fn the_operators_policy_holds_for_approved_hosts_too() {
    let (site, authority) = site();
    let (_program, mut server) = outsider(program("deny = [\"127.0.0.0/8\"]\n"), &manifest(&authority));
    let refused = try_to(&mut server, "request", request("GET", &authority, "/", "")).expect_err("refused");
    assert!(refused.contains("HttpRequestDenied"), "{refused}");
    let told = server.call("outsider.request", request("GET", &authority, "/", ""));
    let told = told["content"][0]["text"].as_str().expect("a text").to_owned();
    let line = format!("This server refused web {authority}: ");
    assert!(told.contains(&line) && told.contains("policy.toml line "), "{told}");
    let closed = Program::new();
    let (_closed, mut server) = outsider(closed, &manifest(&authority));
    let refused = try_to(&mut server, "request", request("GET", &authority, "/", "")).expect_err("private");
    assert!(refused.contains("HttpRequestDenied"), "{refused}");
    assert!(site.asked().is_empty());
}

#[test]
fn a_request_that_nobody_answers_ends_with_the_call() {
    let (_site, authority) = site();
    let limits = format!("{}[limits]\nwait_seconds = 1\n", manifest(&authority));
    let (_program, mut server) = outsider(program(""), &limits);
    let late = try_to(&mut server, "request", request("GET", &authority, "/silence", "")).expect_err("late");
    assert!(late.contains("waited for more than 1 s"), "{late}");
    assert_eq!(
        try_to(&mut server, "request", request("GET", &authority, "/", "")),
        Ok(json!([200, "a page"]))
    );
}
