//! Tests of several isolated workspaces in one process.

use scorpiox_tests::Program;
use scorpiox_tests::http::HttpServer;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const ANN: &str = "token-of-ann-0123456789";
const BOB: &str = "token-of-bob-0123456789";

fn program() -> Program {
    let program = Program::new();
    let sha256 =
        |token: &str| Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    program.put("web/site.txt", "of web");
    program.put("docs/page.txt", "of docs");
    program.put(
        "web/.claude/skills/only-web/SKILL.md",
        "---\nname: only-web\ndescription: Of web\n---\nThe text of web.",
    );
    let folder =
        |name: &str| json!(dunce::canonicalize(program.home().join("..").join(name)).expect("a folder"));
    let policy = format!(
        "version = 1\n[http.auth]\nkind = \"token\"\n[http.auth.tokens.ann]\nsha256 = \"{}\"\n[http.auth.tokens.bob]\n\
         sha256 = \"{}\"\n[workspace.web]\npath = {}\n[workspace.docs]\npath = {}\nprincipals = [\"bob\"]\n\
         [workspace.default]\nprincipals = [\"ann\"]\n",
        sha256(ANN),
        sha256(BOB),
        folder("web"),
        folder("docs"),
    );
    program.put("home/.scorpiox/policy.toml", policy);
    program
}

fn call(server: &HttpServer, token: &str, path: &str, tool: &str, arguments: Value) -> (u16, String) {
    let request = server.modern("tools/call", json!({ "name": tool, "arguments": arguments })).path(path);
    let response = server.shown(token).ask(request);
    (response.status, response.body)
}

#[test]
fn a_workspace_is_there_for_those_who_may_work_in_it() {
    let program = program();
    let server = program.serve_http(0);
    let status = |token: &str, path: &str| {
        server.shown(token).ask(server.modern("server/discover", json!({})).path(path)).status
    };
    for (path, ann, bob) in [
        ("/mcp", 200, 404),
        ("/w/default/mcp", 200, 404),
        ("/w/web/mcp", 200, 200),
        ("/w/docs/mcp", 404, 200),
        ("/w/none/mcp", 404, 404),
    ] {
        assert_eq!((status(ANN, path), status(BOB, path)), (ann, bob), "{path}");
    }
    // An unauthenticated client cannot find out the existing workspaces.
    assert_eq!((status("wrong", "/w/web/mcp"), status("wrong", "/w/none/mcp")), (401, 401));
}

#[test]
fn nothing_of_one_workspace_is_found_in_another() {
    let program = program();
    let mut server = program.serve_http(0);
    let add = json!({ "action": "create", "query": "", "text": "of web" });
    let (status, said) = call(&server, ANN, "/w/web/mcp", "TaskManager", add);
    assert_eq!(status, 200, "{said}");
    let list = json!({ "action": "list", "query": "" });
    assert!(
        call(&server, BOB, "/w/web/mcp", "TaskManager", list.clone()).1.contains("of web"),
        "one store a workspace"
    );
    assert!(!call(&server, BOB, "/w/docs/mcp", "TaskManager", list.clone()).1.contains("of web"));
    assert!(!call(&server, ANN, "/mcp", "TaskManager", list).1.contains("of web"));
    let prompts =
        |path: &str| server.shown(BOB).ask(server.modern("prompts/list", json!({})).path(path)).body;
    assert!(prompts("/w/web/mcp").contains("only-web") && !prompts("/w/docs/mcp").contains("only-web"));
    // A session belongs to its workspace.
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let begin = server.post(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }));
    let begun = server.shown(BOB).ask(begin.path("/w/web/mcp"));
    let id = begun.header("mcp-session-id").expect("a session").to_owned();
    let list = server.in_session(&id, 1, "tools/list", &json!({}));
    assert_eq!(server.shown(BOB).ask(list.clone().path("/w/web/mcp")).status, 200);
    assert_eq!(server.shown(BOB).ask(list.path("/w/docs/mcp")).status, 404);
    server.end();
    let log = std::fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).expect("an audit");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |folder: &str| {
        lines
            .iter()
            .filter(|line| line["workspace"].as_str().is_some_and(|path| path.ends_with(folder)))
            .count()
    };
    assert!(of("web") >= 2 && of("docs") >= 1, "{log}");
}

#[test]
fn a_folder_that_is_not_there_is_said_at_the_start() {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", "version = 1\n[workspace.web]\npath = \"/nowhere/web\"\n");
    let (status, _, said) = program.run(&["serve", "--http", "127.0.0.1:0"]);
    assert!(!status.success() && said.contains("/nowhere/web") && said.contains("[workspace.web]"), "{said}");
}

#[cfg(unix)]
#[test]
fn commands_and_callbacks_of_one_workspace_are_not_there_in_another() {
    let program = program();
    let server = program.serve_http(0);
    let at = |path: &str, tool: &str, arguments: Value| call(&server, BOB, path, tool, arguments).1;
    let started = at("/w/web/mcp", "BackgroundBash", json!({ "command": "pwd; sleep 600" }));
    assert!(started.contains("task 1"), "{started}");
    let timer = json!({ "action": "set", "message": "of web", "delay_seconds": 600, "repeat_count": 1 });
    at("/w/web/mcp", "SetCallback", timer);
    for (path, is_there) in [("/w/web/mcp", true), ("/w/docs/mcp", false)] {
        let listed = at(path, "ListBgTasks", json!({}));
        assert_eq!(listed.contains("sleep 600"), is_there, "{path}: {listed}");
        let callbacks = at(path, "SetCallback", json!({ "action": "list" }));
        assert_eq!(callbacks.contains("of web"), is_there, "{path}: {callbacks}");
    }
    for tool in ["ReadBgOutput", "KillBgTask"] {
        let answer = at("/w/docs/mcp", tool, json!({ "task_id": 1 }));
        assert!(answer.contains("no task 1") || answer.contains("no background tasks"), "{tool}: {answer}");
    }
    // Task IDs are separate for each workspace.
    assert!(at("/w/docs/mcp", "BackgroundBash", json!({ "command": "pwd; sleep 601" })).contains("task 1"));
    let begun = std::time::Instant::now();
    let read = loop {
        let read = at("/w/docs/mcp", "ReadBgOutput", json!({ "task_id": 1 }));
        if !read.contains("no new output") || begun.elapsed() > std::time::Duration::from_secs(20) {
            break read;
        }
    };
    assert!(read.contains("docs") && !read.contains("/web"), "{read}");
    at("/w/docs/mcp", "KillBgTask", json!({ "task_id": 1 }));
    assert!(at("/w/web/mcp", "ListBgTasks", json!({})).contains("running"));
}

#[test]
fn who_asks_the_policy_is_told_what_the_server_does() {
    let program = program();
    for (folder, who, is_open) in [
        ("workspace", "ann", true),
        ("workspace", "bob", false),
        ("docs", "bob", true),
        ("docs", "ann", false),
    ] {
        let path = dunce::canonicalize(program.home().join("..").join(folder)).expect("a folder");
        let path = path.to_str().expect("UTF-8");
        let (status, said, _) = program.run(&["policy", "why", "workspace", path, "--as", who]);
        assert_eq!(status.success(), is_open, "{folder} as {who}: {said}");
        assert!(said.contains("[workspace."), "{folder} as {who}: {said}");
    }
}
