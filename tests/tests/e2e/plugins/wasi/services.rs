//! Tests of components that serve HTTP, as tools: the arguments form a request, and the result is its
//! response.

use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use crate::plugins::{listed, refused, with};

fn service(manifest: &str) -> (Program, Started) {
    with(Program::new(), "service", manifest)
}

fn at(path: &str) -> Value {
    json!({ "path": path })
}

#[test]
fn a_request_goes_in_and_its_response_comes_out() {
    let (_program, mut server) = service("");
    assert_eq!(listed(&mut server), ["service.request"]);
    let answer = server.call(
        "service.request",
        json!({
            "method": "POST", "path": "/echo?a=b", "headers": { "Host": "example.com", "X-Who": "me" }, "body": "grüße",
        }),
    );
    let data = &answer["structuredContent"];
    assert_eq!((&data["status"], &answer["isError"]), (&json!(200), &json!(false)), "{answer}");
    assert_eq!(data["headers"], json!([["x-cookie", "a"], ["x-cookie", "b"]]));
    let body = data["body"].as_str().expect("a text");
    assert!(body.starts_with("POST /echo?a=b of example.com\n") && body.ends_with("\ngrüße"), "{body}");
    assert!(body.contains("\nx-who: me\n") && body.contains("\ncontent-length: 7\n"), "{body}");
    let text = answer["content"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with("200 OK\nx-cookie: a\nx-cookie: b\n\nPOST /echo"), "{text}");
    // All arguments are optional.
    let plain = server.call("service.request", json!({}));
    assert_eq!(plain["structuredContent"]["status"], 404, "{plain}");
    assert_eq!(plain["structuredContent"]["body"], "/");
}

#[test]
fn a_status_is_no_error_and_bytes_are_base64() {
    let (_program, mut server) = service("");
    let teapot = server.call("service.request", at("/teapot"));
    assert_eq!((&teapot["isError"], &teapot["structuredContent"]["status"]), (&json!(false), &json!(418)));
    let bytes = server.call("service.request", at("/bytes"));
    assert_eq!(bytes["structuredContent"]["body_base64"], "//4=", "{bytes}");
    let sent = json!({ "method": "POST", "path": "/echo", "body_base64": "YQBi" });
    let sent = server.call("service.request", sent);
    assert!(sent["structuredContent"]["body"].as_str().expect("a text").ends_with("\na\u{0}b"), "{sent}");
}

#[test]
fn no_answer_and_half_an_answer_are_errors_and_a_whole_one_stays() {
    let (_program, mut server) = service("[limits]\nwait_seconds = 2\noutput_kib = 64\n");
    for (path, expected) in [
        ("/silent", "It gave no answer."),
        ("/forgets", "It ended before its answer was whole."),
        ("/half", "It ended before its answer was whole."),
        ("/error", "It answered with an error: ErrorCode::LoopDetected."),
        ("/trap", "failed internally"),
        ("/half-trap", "failed internally"),
        ("/flood", "The body of its answer is larger than a result may be: `output_kib` of [limits]"),
        ("/waits", "waited for more than 2 s in all"),
    ] {
        let answer = server.call("service.request", at(path));
        assert!(refused(&answer).contains(expected), "{path}: {answer}");
    }
    let late = server.call("service.request", at("/late-trap"));
    assert_eq!(
        (&late["isError"], &late["structuredContent"]["body"]),
        (&json!(false), &json!("given")),
        "{late}"
    );
}

#[test]
fn other_arguments_are_refused_before_it_starts() {
    let (_program, mut server) = service("");
    for (arguments, expected) in [
        (json!({"url": "/"}), "url is not known; expected method, path, headers, body, body_base64"),
        (json!({"path": "echo"}), "does not begin with /"),
        (json!({"headers": {"a": "b\r\nc: d"}}), "the value of a has control characters"),
    ] {
        let answer = server.call("service.request", arguments);
        assert!(refused(&answer).contains(expected), "{answer}");
    }
}

#[test]
fn its_own_requests_need_an_approval() {
    let (_program, mut server) = service("");
    let answer = server.call("service.request", at("/fetch?example.com"));
    let body = answer["structuredContent"]["body"].as_str().expect("a text");
    assert!(body.contains("HttpRequestDenied"), "{answer}");
}
