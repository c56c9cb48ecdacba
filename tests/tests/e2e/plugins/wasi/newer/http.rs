//! Tests of HTTP in WASI 0.3: requests to approved hosts, and components that serve requests.

use scorpiox_tests::Program;
use serde_json::{Value, json};

use super::super::requests::{manifest, program, site};
use super::{newer, try_to};
use crate::plugins::{listed, refused, with};

const WAITS: &str = "[limits]\nwait_seconds = 2\n";

fn request(method: &str, authority: &str, path: &str, body: &str) -> Value {
    json!({"method": method, "authority": authority, "path": path, "body": body})
}

#[test]
fn an_approved_host_is_asked_and_no_other() {
    let (site, authority) = site();
    let (_program, mut server) = newer(program(""), &(manifest(&authority) + WAITS));
    let mut go = |arguments| try_to(&mut server, "request", arguments);
    assert_eq!(go(request("GET", &authority, "/a?b=c", "")), Ok(json!([200, "a page"])));
    let body = "x".repeat(100_000);
    assert_eq!(go(request("POST", &authority, "/echo", &body)), Ok(json!([200, format!("POST {body}")])));
    let late = go(request("GET", &authority, "/silence", "")).expect_err("late");
    assert!(late.contains("waited for more than 2 s"), "{late}");
    let asked = site.asked().len();
    let denied = go(request("GET", "example.com", "/", "")).expect_err("refused");
    assert!(denied.contains("HttpRequestDenied"), "{denied}");
    let long = go(request("GET", &authority, &format!("/{}", "a".repeat(20_000)), "")).expect_err("refused");
    assert_eq!(long, "path cannot be set");
    let long = go(request(&"M".repeat(100), &authority, "/", "")).expect_err("refused");
    assert_eq!(long, "method cannot be set");
    assert_eq!(site.asked().len(), asked);
}

#[test]
fn a_refusal_reaches_the_model_with_the_line_that_decides() {
    let (site, authority) = site();
    let (_program, mut server) = newer(program("deny = [\"127.0.0.0/8\"]\n"), &manifest(&authority));
    let told = server.call("newer.request", request("GET", &authority, "/", ""));
    let told = refused(&told);
    let line = format!("This server refused web {authority}: ");
    assert!(told.contains(&line) && told.contains("policy.toml line "), "{told}");
    assert!(site.asked().is_empty());
}

#[test]
fn a_field_that_may_only_be_a_header_is_refused_as_a_trailer() {
    let (site, authority) = site();
    let (_program, mut server) = newer(program(""), &manifest(&authority));
    let mut go = |name| {
        let asked = json!({"authority": authority, "name": name});
        server.call("newer.request-with-trailer", asked)
    };
    assert_eq!(go("x-sum")["isError"], false);
    let asked = site.asked().len();
    for name in ["authorization", "content-length", "set-cookie"] {
        let answer = go(name);
        let told = refused(&answer);
        let why =
            format!("HTTP allows the field {name} only in headers, and the plugin sent it as a trailer");
        assert!(told.contains(&format!("This server refused web {authority}: {why}")), "{told}");
    }
    assert_eq!(site.asked().len(), asked);
}

#[test]
fn a_component_that_serves_http_answers_requests() {
    let limits = "[limits]\nwait_seconds = 2\noutput_kib = 64\n";
    let (_program, mut server) = with(Program::new(), "newer-service", limits);
    assert_eq!(listed(&mut server), ["newer-service.request"]);
    let mut go = |arguments| server.call("newer-service.request", arguments);
    let answer = go(json!({
        "method": "POST", "path": "/echo?a=b", "headers": { "Host": "example.com", "X-Who": "me" }, "body": "grüße",
    }));
    let data = &answer["structuredContent"];
    assert_eq!((&data["status"], &answer["isError"]), (&json!(200), &json!(false)), "{answer}");
    assert_eq!(data["headers"], json!([["x-cookie", "a"], ["x-cookie", "b"]]));
    let body = data["body"].as_str().expect("a text");
    assert!(
        body.contains("example.com") && body.contains("/echo?a=b") && body.ends_with("\ngrüße"),
        "{body}"
    );
    assert!(body.contains("\nx-who: me\n") && body.contains("\ncontent-length: 7\n"), "{body}");
    assert_eq!(go(json!({}))["structuredContent"]["status"], 404);
    assert_eq!(go(json!({"path": "/bytes"}))["structuredContent"]["body_base64"], "//4=");
    for (path, expected) in [
        ("/half", "waited for more than 2 s in all"),
        ("/error", "It answered with an error: ErrorCode::LoopDetected."),
        ("/trap", "failed internally"),
        ("/half-trap", "failed internally"),
        ("/flood", "The body of its answer is larger than a result may be: `output_kib` of [limits]"),
        ("/waits", "waited for more than 2 s in all"),
    ] {
        let answer = go(json!({ "path": path }));
        assert!(refused(&answer).contains(expected), "{path}: {answer}");
    }
    let late = go(json!({"path": "/late-trap"}));
    assert_eq!((&late["isError"], &late["structuredContent"]["body"]), (&json!(false), &json!("given")));
}
