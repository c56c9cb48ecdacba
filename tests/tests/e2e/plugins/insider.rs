//! Tests of a plugin that uses the project's own interfaces, within the limits of its approval.

use scorpiox_tests::program::{ALLOWS_COMMANDS, modern};
use scorpiox_tests::site::{Answer, Site};
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::{refused, with};

const ALL: &str =
    "[capabilities.store]\nwhy = \"a\"\n[capabilities.clock]\nwhy = \"a\"\n[capabilities.ask]\nwhy = \"a\"\n";

/// Returns a manifest that requests all interfaces, with this host.
fn manifest(host: &str) -> String {
    format!(
        "{ALL}[capabilities.files]\nwhy = \"a\"\nread = [\"workspace\"]\n\
         [capabilities.web]\nwhy = \"a\"\nhosts = [\"{host}\"]\n\
         [capabilities.shell]\nwhy = \"a\"\nprofile = \"readonly\"\n\
         [capabilities.sampling]\nwhy = \"a\"\ncalls = 2\ntokens = 100\n"
    )
}

fn program() -> Program {
    // The user has neither a terminal nor a desktop.
    let program = Program::new().with("PATH", "/usr/bin:/bin");
    let policy = format!("version = 1\n{ALLOWS_COMMANDS}[web]\nallow_private = [\"127.0.0.1/32\"]\n");
    program.put("home/.scorpiox/policy.toml", policy);
    program
}

fn insider(host: &str) -> (Program, Started) {
    with(program(), "insider", &manifest(host))
}

fn give(server: &mut Started, function: &str, arguments: Value) -> Value {
    let result = server.call(&format!("insider.{function}"), arguments);
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"]["result"].clone()
}

fn fail(server: &mut Started, function: &str, arguments: Value) -> String {
    refused(&server.call(&format!("insider.{function}"), arguments)).to_owned()
}

#[test]
fn an_interface_that_is_not_asked_for_is_named_before_anything_is_approved() {
    let program = program();
    let bytes = std::fs::read(super::guest("insider")).expect("the component");
    let source = super::source(&program, "insider", ALL, &bytes);
    let (status, _, err) = program.run(&["plugin", "add", &source]);
    assert!(!status.success() && err.contains("has to request [capabilities.files]"), "{err}");
}

#[test]
fn files_pages_and_commands_are_narrowed_to_what_was_approved() {
    let site = Site::start(|_| Answer::of("text/plain", "a page"));
    let authority = site.url("").trim_start_matches("http://").trim_end_matches('/').to_owned();
    let (program, mut server) = insider(&authority);
    let a = program.put("workspace/a.txt", "text").display().to_string();
    let secret = program.put("home/secret.txt", "secret").display().to_string();
    let env = program.put("workspace/.env", "A=1").display().to_string();
    assert_eq!(give(&mut server, "read-file", json!({ "path": a })), json!("text"));
    assert!(fail(&mut server, "read-file", json!({ "path": secret })).contains("outside of the folders"));
    assert!(fail(&mut server, "read-file", json!({ "path": env })).contains("**/.env!("));
    assert_eq!(give(&mut server, "fetch", json!({"url": site.url("/")})), json!("200 a page"));
    let refused = fail(&mut server, "fetch", json!({"url": "http://127.0.0.1:1/"}));
    assert!(refused.contains("none of the hosts that were approved"), "{refused}");
    assert!(fail(&mut server, "render", json!({"url": site.url("/")})).contains("plugins have no browser"));
    // The profile from the approval applies, not the profile of the client's own commands.
    if cfg!(windows) {
        let refused = fail(&mut server, "run-command", json!({"command": "echo hi"}));
        assert!(refused.contains("without a sandbox nothing holds them to that"), "{refused}");
    } else {
        assert_eq!(give(&mut server, "run-command", json!({"command": "echo hi"})), json!("hi\n"));
        give(&mut server, "run-command", json!({"command": "touch made.txt || true"}));
        assert!(!program.workspace().join("made.txt").exists());
    }
    assert!(give(&mut server, "now", json!({})).as_u64() > Some(1_700_000_000_000));
}

#[cfg(unix)] // without a sandbox, no profile exists that a grant could name
#[test]
fn what_is_granted_to_the_authors_name_holds_under_another_one() {
    let program = program();
    let manifest = manifest("example.com").replace("\"readonly\"", "\"workspace\"");
    let bytes = std::fs::read(super::guest("insider")).expect("the component");
    let source = super::source(&program, "insider", &manifest, &bytes);
    let (_, hash, err) = program.run(&["plugin", "hash", &source, "--name", "other"]);
    let add = ["plugin", "add", &source, "--name", "other", "--yes", hash.trim()];
    let (status, out, added) = program.run(&add);
    assert!(status.success(), "{out}{err}{added}");
    let writes = |name: &str| {
        let mut server = program.start();
        server.initialize("2025-11-25");
        let command = json!({ "command": format!("touch {name} || true") });
        let result = server.call("other.run-command", command);
        assert_eq!(result["isError"], false, "{result}");
        program.workspace().join(name).exists()
    };
    assert!(writes("before.txt"));
    let policy = format!(
        "version = 1\n{ALLOWS_COMMANDS}[grant.\"plugin/insider\"]\nshell = {{ profile = \"readonly\" }}\n"
    );
    program.put("home/.scorpiox/policy.toml", policy);
    assert!(!writes("after.txt"));
}

#[test]
fn what_another_tool_fetched_is_not_seen_past_an_approval() {
    let site = Site::start(|_| Answer::html("<html><body><p>a page of some length</p></body></html>"));
    let (_program, mut server) = insider("example.com");
    server.text("ReadDocs", json!({"url": site.url("/page")}));
    let refused = fail(&mut server, "fetch", json!({"url": site.url("/page")}));
    assert!(refused.contains("none of the hosts that were approved"), "{refused}");
}

#[test]
fn a_trap_after_storing_keeps_nothing() {
    let (_program, mut server) = insider("example.com");
    let put = |value: &str, trap| json!({"key": "k", "value": value, "trap": trap});
    give(&mut server, "put", put("first", false));
    let trapped = fail(&mut server, "put", put("second", true));
    assert!(trapped.contains("Data that it stored is rolled back"), "{trapped}");
    assert_eq!(give(&mut server, "get", json!({"key": "k"})), json!("first"));
}

#[test]
fn what_it_stored_goes_with_it_when_that_is_asked_for() {
    let (program, mut server) = insider("example.com");
    give(&mut server, "put", json!({"key": "k", "value": "kept", "trap": false}));
    server.call("TaskManager", json!({"action": "create", "text": "another's"}));
    drop(server);
    let reinstalled = |arguments: &[&str]| {
        let (removed, out, err) = program.run(arguments);
        assert!(removed.success(), "{out}{err}");
        let bytes = std::fs::read(super::guest("insider")).expect("the component");
        super::install(&program, &super::source(&program, "insider", &manifest("example.com"), &bytes));
        let mut server = program.start();
        server.initialize("2025-11-25");
        (out, give(&mut server, "get", json!({"key": "k"})), server)
    };
    let (_, kept, _) = reinstalled(&["plugin", "remove", "insider"]);
    assert_eq!(kept, json!("kept"));
    let (out, kept, mut server) = reinstalled(&["plugin", "remove", "insider", "--purge"]);
    assert!(out.contains("What it stored in 1 workspace is gone."), "{out}");
    assert_eq!(kept, json!(null));
    assert!(server.text("TaskManager", json!({"action": "list"})).contains("another's"));
}

#[test]
fn a_question_reaches_the_person_through_the_clients_form() {
    let (program, first) = insider("example.com");
    drop(first);
    let mut server = program.start();
    server.initialize_with("2025-11-25", json!({"elicitation": {}}));
    let call = json!({"name": "insider.ask-person", "arguments": {"text": "Which?", "choices": ["A", "B"]}});
    let id = server.request("tools/call", call.clone());
    let form = server.notification("elicitation/create");
    assert!(form["params"].to_string().contains("The plugin insider asks: Which?"), "{form}");
    let accept = json!({"action": "accept", "content": {"q1": "B"}});
    server.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": accept}));
    assert_eq!(server.answer(id)["result"]["structuredContent"]["result"], json!([["B"]]));
    let id = server.request("tools/call", call);
    let form = server.notification("elicitation/create");
    server.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": {"action": "decline"}}));
    // A decline this fast cannot come from a user; the client answered by itself.
    let result = server.answer(id)["result"].take();
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("Unavailable") && text.contains("before anybody could read"), "{text}");
}

#[test]
fn in_the_newest_revision_the_call_is_made_again_with_the_answer() {
    let (program, first) = insider("example.com");
    drop(first);
    let mut server = program.start();
    let call = json!({"name": "insider.ask-person", "arguments": {"text": "Which?", "choices": ["A", "B"]}});
    let with_forms = |params: Value| {
        let mut params = modern(params);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
        params
    };
    let first = server.ask("tools/call", with_forms(call.clone()));
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let mut again = call;
    again["requestState"] = first["result"]["requestState"].clone();
    again["inputResponses"] = json!({"form": {"action": "accept", "content": {"q1": "A"}}});
    let second = server.ask("tools/call", with_forms(again));
    assert_eq!(second["result"]["structuredContent"]["result"], json!([["A"]]), "{second}");
}

#[test]
fn where_nobody_can_be_asked_the_plugin_is_told() {
    let (_program, mut server) = insider("example.com");
    let ask = json!({"text": "Which?", "choices": ["A", "B"]});
    assert!(fail(&mut server, "ask-person", ask).contains("Unavailable"));
    let none = json!({"text": "Which?", "choices": []});
    assert!(fail(&mut server, "ask-person", none).contains("Invalid"));
    let model = json!({"prompt": "Hello", "tokens": 10, "times": 1});
    assert!(fail(&mut server, "ask-model", model).contains("does not let its model be asked"));
}

#[test]
fn the_clients_model_is_asked_within_the_budget() {
    let (program, first) = insider("example.com");
    drop(first);
    let mut server = program.start();
    server.initialize_with("2025-11-25", json!({"sampling": {}}));
    let call = |times: u32| json!({"name": "insider.ask-model", "arguments": {"prompt": "Hello", "tokens": 1000, "times": times}});
    let answer = |server: &mut Started, asked: &Value| {
        let content = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hi."}});
        server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": content}));
    };
    let id = server.request("tools/call", call(2));
    let first = server.notification("sampling/createMessage");
    assert_eq!(first["params"]["maxTokens"], 100, "{first}");
    assert_eq!(first["params"]["messages"][0]["content"]["text"], "Hello");
    answer(&mut server, &first);
    let second = server.notification("sampling/createMessage");
    assert!(second["params"]["maxTokens"].as_u64() < Some(100), "{second}");
    answer(&mut server, &second);
    assert_eq!(server.answer(id)["result"]["structuredContent"]["result"], json!(["Hi.", "Hi."]));
    // A third request exceeds the budget of calls.
    let id = server.request("tools/call", call(3));
    for _ in 0..2 {
        let asked = server.notification("sampling/createMessage");
        answer(&mut server, &asked);
    }
    let exhausted = server.answer(id);
    assert!(refused(&exhausted["result"]).contains("Exhausted"), "{exhausted}");
    // The user rejects the request.
    let id = server.request("tools/call", call(1));
    let asked = server.notification("sampling/createMessage");
    let error = json!({"code": -1, "message": "User rejected sampling request"});
    server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}));
    assert!(refused(&server.answer(id)["result"]).contains("User rejected"));
}

#[test]
fn what_it_says_is_shown_without_what_acts_on_a_terminal() {
    let (program, _server) = insider("example.com");
    let arguments = json!({"text": "a\u{1b}[31m line"}).to_string();
    let (_, _, said) = program.run(&["call", "insider.say", &arguments]);
    assert!(said.contains("a [31m line") && !said.contains("\u{1b}[31m"), "{said:?}");
    // The plugin's name is at the start of the line: a long text cannot push it out, and the plugin cannot
    // forge a line of the server.
    let arguments = json!({"text": format!("{}\u{202e}\u{2028}x", "y".repeat(5000))}).to_string();
    let (_, _, said) = program.run(&["call", "insider.say", &arguments]);
    let lines: Vec<_> = said.lines().filter(|line| line.contains("yyy")).collect();
    assert!(lines.len() == 1 && lines[0].contains("plugin/insider: yyy"), "{said:?}");
    assert!(!said.contains(['\u{202e}', '\u{2028}']), "{said:?}");
}

#[test]
fn a_file_that_says_it_is_huge_ends_no_server() {
    let (program, mut server) = insider("example.com");
    let path = program.put("workspace/sparse", "");
    let file = std::fs::File::options().write(true).open(&path).expect("opens");
    file.set_len(8 << 40).expect("grows");
    let refused = fail(&mut server, "read-file", json!({"path": path.display().to_string()}));
    assert!(refused.contains("TooLarge"), "{refused}");
    assert!(give(&mut server, "now", json!({})).as_u64().is_some());
}

#[test]
fn commands_count_as_waiting() {
    let limits = format!("{}[limits]\nwait_seconds = 1\n", manifest("example.com"));
    let (_program, mut server) = with(program(), "insider", &limits);
    let begun = std::time::Instant::now();
    server.call("insider.run-command", json!({"command": "sleep 20"}));
    assert!(begun.elapsed().as_secs() < 15, "{:?}", begun.elapsed());
}
