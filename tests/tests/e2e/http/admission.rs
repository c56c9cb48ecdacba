//! Tests of admission: the head of a request is checked in a fixed order, and each refusal says how to fix
//! the request.

use scorpiox_tests::Program;
use scorpiox_tests::http::Response;
use serde_json::{Value, json};

fn ping() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })
}

fn says(response: &Response, status: u16, words: &str) {
    assert!(response.status == status && response.body.contains(words), "{status} {words:?}: {response:?}");
}

#[test]
fn requests_are_refused_in_one_order() {
    let program = Program::new();
    let server = program.serve_http(0);
    let good = server.post(&ping());
    // Each request has all the mistakes of the ones below it.
    let bad_json = good.clone().body("{");
    let wrong_accept = bad_json.clone().with("Accept", "application/json");
    let wrong_type = wrong_accept.clone().with("Content-Type", "text/plain");
    let wrong_token = wrong_type.clone().with("Authorization", "Bearer scorpiox_wrong");
    let no_token = wrong_type.clone().without("Authorization");
    let wrong_origin = wrong_token.clone().with("Origin", "https://evil.example.com");
    let wrong_host = wrong_origin.clone().with("Host", "evil.example.com");
    for (request, status, words) in [
        (wrong_host.clone().path("/other"), 404, "the endpoint is /mcp"),
        (wrong_host.clone().method("PUT"), 405, "POST"),
        (wrong_host, 403, "is not asked as \\\"evil.example.com\\\""),
        (wrong_origin, 403, "https://evil.example.com"),
        (wrong_token, 401, "config --http"),
        (no_token, 401, "a token is needed"),
        (wrong_type, 415, "text/plain"),
        (wrong_accept, 406, "text/event-stream"),
        (bad_json, 400, "-32700"),
        (good, 400, "a session is needed"),
    ] {
        says(&server.ask(&request), status, words);
    }
    let challenge = server.ask(&server.post(&ping()).without("Authorization"));
    assert_eq!(challenge.header("www-authenticate"), Some("Bearer"));
    assert_eq!(server.ask(&server.post(&ping()).method("PATCH")).header("allow"), Some("POST, GET, DELETE"));
}

#[test]
fn only_pages_and_names_of_this_machine_are_known() {
    let program = Program::new();
    let server = program.serve_http(0);
    let port = server.address.port();
    let good = server.modern("server/discover", json!({}));
    for host in ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"] {
        let request = good.clone().with("Host", &format!("{host}:{port}"));
        assert_eq!(server.ask(&request).status, 200, "{host}");
        let page = format!("http://{}:{port}", host.to_lowercase());
        assert_eq!(server.ask(&request.with("Origin", &page)).status, 200, "{page}");
    }
    for host in ["localhost.example.com", "127.0.0.1.example.com", "example.com:localhost", "", "[::1"] {
        assert_eq!(server.ask(&good.clone().with("Host", host)).status, 403, "{host}");
    }
    for page in ["null", "http://localhost", "https://localhost", "http://localhost:1", ""] {
        assert_eq!(server.ask(&good.clone().with("Origin", page)).status, 403, "{page}");
    }
    let own = format!("http://localhost:{port}");
    assert_eq!(server.ask(&good.clone().with("Origin", &own).and("Origin", &own)).status, 403, "twice");
    assert_ne!(server.ask(&good.clone().and("Host", "localhost")).status, 200, "twice");
    assert_ne!(server.ask(&good.without("Host")).status, 200, "no host");
}

#[test]
fn the_token_is_this_persons_alone_and_stays() {
    let program = Program::new();
    let token = program.serve_http(0).token.clone();
    assert!(token.starts_with("scorpiox_") && token.len() > 40, "{token}");
    assert_eq!(program.serve_http(0).token, token);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let path = program.home().join(".scorpiox/http/token");
        let mode = |path: &std::path::Path| std::fs::metadata(path).expect("a file").permissions().mode();
        assert_eq!(mode(&path) & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o660)).expect("a mode");
        let (status, _, errors) = program.run(&["serve", "--http", "127.0.0.1:0"]);
        assert!(!status.success() && errors.contains("token"), "others can have written it: {errors}");
    }
}

#[test]
fn addresses_that_other_machines_reach_are_refused() {
    let program = Program::new();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let (status, _, errors) = program.run(&["serve", "--http", address]);
        assert!(!status.success() && errors.contains("other machines"), "{address}: {errors}");
    }
    let (status, _, errors) = program.run(&["serve", "--http", "localhost"]);
    assert!(!status.success() && errors.contains("localhost"), "{errors}");
}
