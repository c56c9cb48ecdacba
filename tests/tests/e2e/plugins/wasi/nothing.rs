//! Tests of WASI without a grant: its functions exist but reach nothing.

use scorpiox_tests::Program;
use serde_json::{Value, json};

use super::{outsider, try_to};
use crate::plugins::refused;

#[test]
fn there_are_no_folders_no_variables_and_no_time() {
    let program = Program::new().with("SECRET_TOKEN", "hunter2");
    program.put("workspace/a.txt", "text");
    let (_program, mut server) = outsider(program, "");
    assert_eq!(try_to(&mut server, "folders", json!({})), Ok(json!(["/"])));
    let told = |named: &str| {
        format!(
            "not-permitted\nThis server refused files read {named}: it has no files; [capabilities.files] of its \
             plugin.toml asks for them."
        )
    };
    for path in ["/etc/passwd", "a.txt", "notes/a.txt"] {
        assert_eq!(refused(&server.call("outsider.read-file", json!({ "path": path }))), told(path));
    }
    assert_eq!(refused(&server.call("outsider.names-in", json!({"path": "/"}))), told("/"));
    assert_eq!(try_to(&mut server, "variables", json!({})), Ok(json!([])));
    assert_eq!(try_to(&mut server, "arguments", json!({})), Ok(json!(["outsider"])));
    assert_eq!(try_to(&mut server, "working-folder", json!({})), Ok(Value::Null));
    assert_eq!(try_to(&mut server, "times", json!({})), Ok(json!([0, 1, 1])));
    assert_eq!(try_to(&mut server, "wait-for-input", json!({})), Err("StreamError::Closed".into()));
}

#[test]
fn files_of_the_language_itself_are_no_refusal() {
    let (program, mut server) = outsider(Program::new(), "");
    for at in ["/python/app.py", "0", "bundled/x/__pycache__"] {
        assert_eq!(refused(&server.call("outsider.read-file", json!({ "path": at }))), "not-permitted");
    }
    let lines = crate::audit::lines(&program, 4);
    let uses = lines[1]["uses"].as_array().expect("uses");
    assert!(uses.iter().any(|used| used["allowed"] == false), "the audit has it: {}", lines[1]);
}

#[test]
fn chance_is_the_same_each_time() {
    let (_program, mut server) = outsider(Program::new(), "");
    let first = try_to(&mut server, "random", json!({"count": 16})).expect("bytes");
    let again = try_to(&mut server, "random", json!({"count": 16})).expect("bytes");
    assert_eq!(first, again);
    let seeds = try_to(&mut server, "seeds", json!({})).expect("seeds");
    assert_eq!(try_to(&mut server, "seeds", json!({})), Ok(seeds));
    let flood = try_to(&mut server, "random", json!({"count": 2_000_000})).expect_err("too many");
    assert!(flood.contains("failed internally"), "{flood}");
}

#[test]
fn sockets_and_names_and_requests_are_refused() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (_program, mut server) = outsider(Program::new(), "");
    for (function, arguments) in [
        ("connect", json!({ "port": port })),
        ("listen", json!({})),
        ("datagram", json!({})),
        ("look-up", json!({"name": "localhost"})),
    ] {
        let refused = try_to(&mut server, function, arguments).expect_err("refused");
        assert!(
            refused.contains("access-denied") || refused.contains("permanent-resolver-failure"),
            "{refused}"
        );
    }
    let looked_up = server.call("outsider.look-up", json!({"name": "api.example.com"}));
    let said = looked_up["content"][0]["text"].as_str().expect("a text");
    let expected = "\nThis server refused sockets api.example.com: a plugin looks up no names; with hosts = \
                    [\"api.example.com\"] in [capabilities.web] of plugin.toml it can send requests there";
    assert!(said.contains(expected), "{said}");
    listener.set_nonblocking(true).expect("sets");
    assert!(listener.accept().is_err(), "somebody connected");
    let request = json!({
        "method": "GET", "scheme": "http", "authority": format!("127.0.0.1:{port}"), "path": "/", "body": ""
    });
    let refused = try_to(&mut server, "request", request).expect_err("refused");
    assert!(refused.contains("HttpRequestDenied"), "{refused}");
    assert!(listener.accept().is_err(), "somebody connected");
}

#[test]
fn what_was_granted_is_there_and_nothing_else() {
    let program = Program::new().with("GREETING", "hello").with("SECRET_TOKEN", "hunter2");
    let manifest = "[capabilities.env]\nwhy = \"greets\"\nnames = [\"GREETING\", \"ABSENT\"]\n\
                    [capabilities.clock]\nwhy = \"dates\"\n[capabilities.random]\nwhy = \"dice\"\n";
    let (_program, mut server) = outsider(program, manifest);
    assert_eq!(try_to(&mut server, "variables", json!({})), Ok(json!([["GREETING", "hello"]])));
    let times = try_to(&mut server, "times", json!({})).expect("times");
    assert!(times[0].as_u64() > Some(1_700_000_000) && times[1].as_u64() < times[2].as_u64(), "{times}");
    let first = try_to(&mut server, "random", json!({"count": 16})).expect("bytes");
    assert_ne!(first, try_to(&mut server, "random", json!({"count": 16})).expect("bytes"));
}

#[test]
fn what_is_printed_is_for_the_operator() {
    let program = Program::new().with("SCORPIOX_LOG", "info");
    let (program, _server) = outsider(program, "");
    let arguments = json!({"text": "a line\u{1b}[31m\nanother"}).to_string();
    let (status, out, said) = program.run(&["call", "outsider.print", &arguments]);
    assert!(status.success() && !out.contains("a line"), "{out}{said}");
    // The plugin's name is at the start of the line, so a long text cannot push it out.
    for expected in ["a line [31m", "another", "a complaint"] {
        let line = format!(" INFO plugin/outsider: {expected}");
        assert!(said.lines().any(|said| said == line), "{line:?} is not in {said}");
    }
    assert!(!said.contains("\u{1b}[31m"), "{said:?}");
}

#[test]
fn a_guest_that_ends_itself_ends_one_call() {
    let (_program, mut server) = outsider(Program::new(), "");
    let left = try_to(&mut server, "leave", json!({"code": 3})).expect_err("it left");
    assert!(left.starts_with("outsider.leave failed. It printed:\nit leaves\nThen it ended: "), "{left}");
    assert!(left.contains("the tool ended itself with exit code 3"), "{left}");
    let hoard = try_to(&mut server, "hoard", json!({})).expect_err("it is stopped");
    assert!(hoard.contains("failed internally"), "{hoard}");
    assert_eq!(try_to(&mut server, "folders", json!({})), Ok(json!(["/"])));
}

#[test]
fn the_host_keeps_little_of_what_is_never_sent() {
    let (_program, mut server) = outsider(Program::new(), "");
    let taken = try_to(&mut server, "keep-methods", json!({"count": 50, "bytes": 20_000_000}));
    assert_eq!(taken, Ok(json!(0)));
    assert_eq!(try_to(&mut server, "keep-methods", json!({"count": 50, "bytes": 20})), Ok(json!(50)));
}
