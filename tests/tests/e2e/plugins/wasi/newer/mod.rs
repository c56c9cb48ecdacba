//! Tests of components for WASI 0.3: permissions and limits are the same as for WASI 0.2.

#[cfg(unix)] // links, and paths that begin with /
mod files;
mod http;
mod resources;
mod tasks;

use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::try_of;
use crate::plugins::{listed, refused, with};

/// Starts a server with the component that tries every WASI function.
fn newer(program: Program, manifest: &str) -> (Program, Started) {
    with(program, "newer", manifest)
}

/// Returns the result of a function, or its own error without the server's explanation of a refusal.
fn try_to(server: &mut Started, function: &str, arguments: Value) -> Result<Value, String> {
    try_of(server, "newer", function, arguments)
}

#[test]
fn asynchronous_functions_are_tools_and_what_no_json_can_carry_is_left_out() {
    let (program, mut server) = newer(Program::new(), "");
    let tools = listed(&mut server);
    for name in ["newer.sleep", "newer.bytes", "newer.bytes-or"] {
        assert!(tools.iter().any(|tool| tool == name), "{name} is not in {tools:?}");
    }
    assert!(!tools.iter().any(|tool| tool == "newer.numbers" || tool == "newer.later"), "{tools:?}");
    let (_, shown, _) = program.run(&["plugin", "show", "newer"]);
    let text = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("numbers cannot be a tool: the result is a stream"), "{shown}");
    assert!(text.contains("later cannot be a tool: the result is a future"), "{shown}");
    assert_eq!(try_to(&mut server, "sleep", json!({"milliseconds": 20})), Ok(json!(20)));
}

#[test]
fn without_a_grant_nothing_is_reached() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let program = Program::new().with("SECRET_TOKEN", "hunter2");
    program.put("workspace/a.txt", "text");
    let (_program, mut server) = newer(program, "");
    let mut go = |function: &str, arguments| try_to(&mut server, function, arguments);
    assert_eq!(go("folders", json!({})), Ok(json!(["/"])));
    assert_eq!(go("read-file", json!({"path": "/etc/passwd"})), Err("NotPermitted".into()));
    assert_eq!(go("variables", json!({})), Ok(json!([])));
    assert_eq!(go("arguments", json!({})), Ok(json!(["newer"])));
    assert_eq!(go("times", json!({})), Ok(json!([0, 1, 1])));
    let first = go("random", json!({"count": 16})).expect("bytes");
    assert_eq!(go("random", json!({"count": 16})), Ok(first), "chance is the same each time");
    for (function, arguments) in
        [("connect", json!({ "port": port })), ("look-up", json!({"name": "localhost"}))]
    {
        let refused = go(function, arguments).expect_err("refused");
        assert!(
            refused.contains("AccessDenied") || refused.contains("PermanentResolverFailure"),
            "{refused}"
        );
    }
    let request = json!({"method": "GET", "authority": format!("127.0.0.1:{port}"), "path": "/", "body": ""});
    let denied = go("request", request).expect_err("refused");
    assert!(denied.contains("HttpRequestDenied"), "{denied}");
    listener.set_nonblocking(true).expect("sets");
    assert!(listener.accept().is_err(), "somebody connected");
}

#[test]
fn what_was_granted_is_there() {
    let program = Program::new().with("GREETING", "hello").with("SECRET_TOKEN", "hunter2");
    let manifest = "[capabilities.env]\nwhy = \"greets\"\nnames = [\"GREETING\"]\n\
                    [capabilities.clock]\nwhy = \"dates\"\n[capabilities.random]\nwhy = \"dice\"\n";
    let (_program, mut server) = newer(program, manifest);
    assert_eq!(try_to(&mut server, "variables", json!({})), Ok(json!([["GREETING", "hello"]])));
    let times = try_to(&mut server, "times", json!({})).expect("times");
    assert!(times[0].as_u64() > Some(1_700_000_000) && times[1].as_u64() < times[2].as_u64(), "{times}");
    let first = try_to(&mut server, "random", json!({"count": 16})).expect("bytes");
    assert_ne!(try_to(&mut server, "random", json!({"count": 16})), Ok(first));
}

#[test]
fn a_program_takes_words_and_input_and_prints() {
    let (_program, mut server) = with(Program::new(), "newer-program", "[limits]\noutput_kib = 64\n");
    assert_eq!(listed(&mut server), ["newer-program.run"]);
    let mut run = |arguments| server.call("newer-program.run", arguments);
    let text = |result: &Value| result["content"][0]["text"].as_str().expect("a text").to_owned();
    let fine = run(json!({"args": ["a", "b c"], "stdin": "in\n"}));
    assert_eq!((text(&fine), &fine["isError"]), ("[\"a\", \"b c\"] \"in\\n\"\n".to_owned(), &json!(false)));
    let later = run(json!({"args": ["later"]}));
    assert_eq!(text(&later), "[\"later\"] \"\"\nand more\n", "what it left to do was done");
    let failed = run(json!({"args": ["fail"]}));
    let said = refused(&failed);
    assert!(
        said.starts_with("The program ended with an exit code other than 0.\n")
            && said.ends_with("it went wrong"),
        "{said}"
    );
    assert!(refused(&run(json!({"args": ["exit", "7"]}))).starts_with("The program ended with exit code 7."));
    assert_eq!(text(&run(json!({"args": ["exit", "0"]}))), "[\"exit\", \"0\"] \"\"\n");
    let flood = text(&run(json!({"args": ["flood"]})));
    assert!(
        flood.contains("a result has at most 65,536 bytes: `output_kib` of [limits] in plugin.toml"),
        "{flood}"
    );
}
