//! Tests of limits for each principal: concurrent calls, calls in a minute and calls in a day, across all
//! servers.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_test_support::postgres::{PASSWORD, Postgres};
use scorpiox_tests::Program;
use scorpiox_tests::http::{HttpServer, Response};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::database::{serve, store};

const ANN: &str = "token-of-ann-0123456789";
const BOB: &str = "token-of-bob-0123456789";
const PATIENCE: Duration = Duration::from_secs(60);

fn policy(more: &str) -> String {
    let hash =
        |token: &str| -> String { Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect() };
    format!(
        "version = 1\n[http.auth]\nkind = \"token\"\n[http.auth.tokens.ann]\nsha256 = \"{}\"\n\
         [http.auth.tokens.bob]\nsha256 = \"{}\"\n{more}",
        hash(ANN),
        hash(BOB)
    )
}

fn call(server: &HttpServer, token: &str, tool: &str, arguments: Value) -> Response {
    server.shown(token).modern("tools/call", json!({ "name": tool, "arguments": arguments }))
}

fn create(server: &HttpServer, token: &str, text: &str) -> Response {
    call(server, token, "TaskManager", json!({ "action": "create", "text": text }))
}

/// Returns the seconds to wait that a refused call reports.
fn wait(refused: &Response) -> u64 {
    assert_eq!(refused.status, 429, "{refused:?}");
    let seconds = refused.header("retry-after").and_then(|text| text.parse().ok()).expect("seconds");
    assert_eq!(refused.json()["error"]["data"]["retryAfter"], seconds);
    seconds
}

#[test]
fn calls_within_a_minute_are_bounded_for_each_principal() {
    let program = Program::new();
    let limits = "[limits.writers]\ntools = [\"TaskManager\"]\ncalls_per_minute = 3\n";
    program.put("home/.scorpiox/policy.toml", policy(limits));
    let mut server = program.serve_http(0);
    for number in 0..3 {
        assert_eq!(create(&server, ANN, &number.to_string()).status, 200);
    }
    let refused = create(&server, ANN, "too many");
    assert!((1..=20).contains(&wait(&refused)), "{refused:?}");
    let why = refused.json()["error"]["message"].as_str().expect("a sentence").to_owned();
    assert!(
        why.starts_with(
            "ann has no call left of 3 a minute, which is what [limits.writers] (policy.toml line "
        ),
        "{why}"
    );
    // An unknown tool counts only toward rules about all tools, and this policy has none.
    assert_eq!(call(&server, ANN, "NoSuchTool", json!({})).status, 400);
    // The tool is the same in a session, in a batch and under another name.
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } } });
    let begun = server.shown(ANN).ask(server.post(&initialize));
    let session = begun.header("mcp-session-id").expect("a session").to_owned();
    let params = json!({ "name": "TaskManager", "arguments": { "action": "create", "text": "x" } });
    let in_session = server.in_session(&session, 1, "tools/call", &params);
    wait(&server.shown(ANN).ask(in_session.clone()));
    let message = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
    let batch = server
        .shown(ANN)
        .ask(in_session.body(json!([message, { "jsonrpc": "2.0", "id": 3, "method": "ping" }]).to_string()));
    let answers = batch.json();
    let errors = answers.as_array().expect("answers").iter().filter(|answer| answer["error"].is_object());
    assert_eq!(errors.count(), 1, "{answers}");
    // Other principals and other tools are not affected.
    assert_eq!(call(&server, ANN, "PlanMode", json!({ "action": "status" })).status, 200);
    assert_eq!(create(&server, BOB, "of bob").status, 200);
    let listed = server.shown(BOB).text("TaskManager", json!({ "action": "list" }));
    assert!(listed.contains("of bob") && !listed.contains("too many"), "{listed}");
    server.end();
    let audit = fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).expect("an audit");
    let lines = audit.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let refused: Vec<_> = lines.filter(|line| line["fault"] == "limit").collect();
    assert_eq!(refused.len(), 3, "{audit}");
    for line in refused {
        assert_eq!((&line["principal"], &line["tool"]), (&json!("ann"), &json!("TaskManager")));
        assert_eq!(line["uses"][0]["capability"], "limits");
    }
}

#[test]
fn calls_at_once_are_bounded_and_the_next_one_may_begin_when_one_ends() {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", policy("[limits.all]\nin_flight = 1\n"));
    let server = program.serve_http(0);
    thread::scope(|scope| {
        let running = scope.spawn(|| {
            call(
                &server,
                ANN,
                "Bash",
                json!({ "command": "touch began; until test -e end; do sleep 0.05; done" }),
            )
            .status
        });
        until("the command runs", || program.workspace().join("began").exists());
        assert_eq!(wait(&call(&server, ANN, "TaskManager", json!({ "action": "list" }))), 1);
        assert_eq!(create(&server, BOB, "x").status, 200);
        program.put("workspace/end", "");
        assert_eq!(running.join().expect("an answer"), 200);
    });
    assert_eq!(create(&server, ANN, "x").status, 200);
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Returns requests of each kind that a limit of zero calls or a rule refuses, each with its status while
/// calls are served.
fn refused_requests(server: &HttpServer) -> Vec<(&'static str, u16, u16)> {
    let tool = |name: &str| json!({ "name": name, "arguments": {} });
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } } });
    let begun = server.shown(ANN).ask(server.post(&initialize));
    let session = begun.header("mcp-session-id").expect("a session").to_owned();
    let in_session = |method: &str, params: Value| {
        server.shown(ANN).ask(server.in_session(&session, 7, method, &params)).status
    };
    let modern = |method: &str, params: Value| server.shown(ANN).modern(method, params).status;
    vec![
        ("a tool", 429, modern("tools/call", tool("TaskManager"))),
        ("what is no tool", 429, modern("tools/call", tool("NoSuchTool"))),
        ("a method", 429, modern("prompts/list", json!({}))),
        ("a tool in a session", 429, in_session("tools/call", tool("TaskManager"))),
        ("a method in a session", 429, in_session("resources/list", json!({}))),
        ("a tool of others", 403, server.shown(BOB).modern("tools/call", tool("PlanMode")).status),
    ]
}

const SPENT: &str = "[limits.all]\nprincipals = [\"ann\"]\ncalls_per_minute = 1\n\
                     [access.most]\nallow = [\"*\"]\n[access.no]\nprincipals = [\"bob\"]\ndeny = [\"PlanMode\"]\n";

/// Another server may have capacity: a proxy retries there on 503, but not on 429 or 403.
#[test]
fn a_server_that_serves_no_call_says_so_before_it_looks_at_limits() {
    let spent = |more: &str| {
        let program = Program::new();
        program.put("home/.scorpiox/policy.toml", policy(&format!("{SPENT}{more}")));
        let server = program.serve_http(0);
        assert_eq!(create(&server, ANN, "the one that there is").status, 200);
        for (what, served, status) in refused_requests(&server) {
            assert_eq!(status, served, "{what}");
        }
        (program, server)
    };
    let all_say_so = |server: &HttpServer, why: &str| {
        for (what, _, status) in refused_requests(server) {
            assert_eq!(status, 503, "{why}: {what}");
        }
    };
    let (program, mut server) = spent("");
    program.put(
        "home/.scorpiox/policy.toml",
        policy(&format!("{SPENT}# changed\n[limits.more]\nin_flight = 9\n")),
    );
    let of_bob = || call(&server, BOB, "TaskManager", json!({ "action": "list" })).status;
    until("the change is seen", || of_bob() == 503);
    all_say_so(&server, "the policy was changed");
    server.end();
    let audit = fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).expect("an audit");
    let last = audit.lines().filter(|line| line.contains("the policy was changed")).count();
    assert!(last >= 3, "{audit}");

    let (program, server) = spent("[audit]\nrequired = true\n");
    let folder = program.home().join(".scorpiox/audit");
    fs::rename(&folder, program.home().join("audit-was")).expect("renamed");
    fs::write(&folder, "").expect("written");
    all_say_so(&server, "the audit is blocked");
}

#[test]
fn a_server_whose_store_is_away_says_so_before_it_says_what_was_used_up() {
    let mut database = Postgres::start();
    let program = Program::new();
    let more = store(&database.database());
    let limits = "[limits.minute]\ntools = [\"TaskManager\"]\ncalls_per_minute = 1\n[limits.day]\ntools = [\"PlanMode\"]\ncalls_per_day = 1\n";
    program.put("home/.scorpiox/policy.toml", policy(&format!("{more}{limits}")));
    let server = serve(&program);
    let plan = || call(&server, ANN, "PlanMode", json!({ "action": "status" }));
    assert_eq!((create(&server, ANN, "x").status, plan().status), (200, 200));
    assert_eq!((create(&server, ANN, "x").status, plan().status), (429, 429));
    database.kill();
    for refused in [create(&server, ANN, "x"), plan()] {
        assert!(refused.status == 429 || refused.status == 503, "{refused:?}");
    }
    // The state of the store is cached for a second.
    until("it says that its store is away", || create(&server, ANN, "x").status == 503);
    let refused = plan();
    assert!(refused.status == 503 && refused.body.contains("cannot be reached"), "{refused:?}");
    database.begin();
    until("it says again what was used up", || create(&server, ANN, "x").status == 429);
}

#[test]
fn calls_of_what_is_no_tool_and_requests_of_other_methods_count_too() {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", policy("[limits.all]\ncalls_per_minute = 3\n"));
    let mut server = program.serve_http(0);
    let made_up: Vec<_> =
        (0..5).map(|number| call(&server, ANN, &format!("Made{number}"), json!({})).status).collect();
    assert_eq!(made_up, [400, 400, 400, 429, 429]);
    assert_eq!(create(&server, ANN, "x").status, 429);
    assert_eq!(create(&server, BOB, "x").status, 200);
    let listed: Vec<_> = (0..4).map(|_| server.shown(BOB).modern("prompts/list", json!({})).status).collect();
    assert_eq!(listed, [200, 200, 429, 429]);
    wait(&create(&server, BOB, "x"));
    // Every client may list the tools.
    assert_eq!(server.shown(BOB).modern("tools/list", json!({})).status, 200);
    server.end();
    let audit = fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).expect("an audit");
    let lines = audit.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let refused: Vec<_> =
        lines.filter(|line| line["fault"] == "limit").map(|line| line["tool"].clone()).collect();
    assert_eq!(refused.iter().filter(|tool| *tool == "prompts/list").count(), 2, "{audit}");
}

#[test]
fn who_is_refused_much_does_not_rotate_the_audit_away() {
    const BATCHES: u64 = 5;
    const CALLS: u64 = 400;
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", policy("[limits.all]\ncalls_per_minute = 1\n"));
    let mut server = program.serve_http(0);
    assert_eq!(create(&server, ANN, "what is to be found later").status, 200);
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } } });
    let begun = server.shown(ANN).ask(server.post(&initialize));
    let session = begun.header("mcp-session-id").expect("a session").to_owned();
    // Calls of an existing tool and of an unknown one.
    for batch in 0..BATCHES {
        let tool = if batch % 2 == 0 { "TaskManager" } else { "NoSuchTool" };
        let calls: Vec<_> = (1..=CALLS)
            .map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool } }))
            .collect();
        let request = server.in_session(&session, 1, "ping", &json!({})).body(json!(calls).to_string());
        let answers = server.shown(ANN).ask(request).json();
        assert_eq!(answers.as_array().map(Vec::len), Some(CALLS as usize), "{answers}");
    }
    server.end();
    let audit = fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).expect("an audit");
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let refused: Vec<_> = lines.iter().filter(|line| line["fault"] == "limit").collect();
    assert!((60..120).contains(&refused.len()), "{} lines", refused.len());
    let all: u64 = refused.iter().map(|line| 1 + line["more_calls"].as_u64().unwrap_or_default()).sum();
    assert_eq!(all, BATCHES * CALLS, "each is told of");
    let run = |arguments: &[&str]| {
        let (status, said, _) = program.run(arguments);
        assert!(status.success(), "{said}");
        said
    };
    run(&["audit", "verify"]);
    assert!(run(&["audit", "--last", "1"]).contains(" more)"));
    assert!(run(&["audit", "report"]).contains("2000"));
}

#[test]
fn a_day_is_counted_at_all_servers_and_kept_for_who_asks() {
    let database = Postgres::start();
    let program = Program::new();
    let limits = "[limits.all]\nprincipals = [\"ann\"]\ncalls_per_day = 6\n";
    program.put("home/.scorpiox/policy.toml", policy(&(store(&database.database()) + limits)));
    let [mut one, mut other] = [serve(&program), serve(&program)];
    for _ in 0..4 {
        assert_eq!((create(&one, ANN, "x").status, create(&one, BOB, "x").status), (200, 200));
    }
    // The other server learns of these calls although it received none, and adds its own.
    let tried = std::cell::Cell::new(0);
    until("the day is over", || {
        let answer = call(&other, ANN, "TaskManager", json!({ "action": "list" }));
        tried.set(tried.get() + u64::from(answer.status == 200));
        thread::sleep(Duration::from_millis(if answer.status == 200 && tried.get() >= 2 { 1000 } else { 0 }));
        answer.status == 429
    });
    assert!(wait(&create(&other, ANN, "x")) <= 24 * 60 * 60);
    assert_eq!(create(&other, BOB, "x").status, 200);
    // The counts survive a shutdown.
    one.end();
    other.end();
    let stats = |arguments: &[&str]| {
        let mut command: Command = program.command();
        command.env("SCORPIOX_STORE_PASSWORD", PASSWORD).arg("stats").args(arguments);
        let output = command.output().expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let told: Value = serde_json::from_str(&stats(&["--days", "1", "--json"])).expect("JSON");
    let used = told["used"].as_array().expect("rows");
    let row = |principal: &str, tool: &str| {
        used.iter()
            .find(|row| row["principal"] == principal && row["tool"] == tool)
            .unwrap_or_else(|| panic!("{told}"))
    };
    assert!(row("ann", "TaskManager")["calls"].as_u64() >= Some(5), "{told}");
    assert!(
        row("bob", "TaskManager")["stored"].as_u64() > Some(0)
            && row("bob", "")["received"].as_u64() > Some(0),
        "{told}"
    );
    let shown = stats(&["--days", "31"]);
    assert!(shown.contains("principal") && shown.contains("bob"), "{shown}");
}

#[test]
fn a_day_holds_for_calls_at_once_at_one_server_and_at_two() {
    let database = Postgres::start();
    for (servers, calls, most) in [(1, 40, 25), (2, 80, 40)] {
        let program = Program::new();
        let limits = format!("[limits.all]\nprincipals = [\"ann\"]\ncalls_per_day = {most}\n");
        program.put("home/.scorpiox/policy.toml", policy(&(store(&database.database()) + &limits)));
        let servers: Vec<_> = (0..servers).map(|_| serve(&program)).collect();
        let answers: Vec<u16> = thread::scope(|scope| {
            let all: Vec<_> = (0..calls)
                .map(|at| {
                    let server = &servers[at % servers.len()];
                    scope.spawn(move || call(server, ANN, "TaskManager", json!({ "action": "list" })).status)
                })
                .collect();
            all.into_iter().map(|one| one.join().expect("an answer")).collect()
        });
        let through = answers.iter().filter(|status| **status == 200).count();
        assert!(through <= most && through > most / 2, "{through} of {most}: {answers:?}");
        assert!(answers.iter().all(|status| [200, 429].contains(status)), "{answers:?}");
        // A call that is refused as invalid is not counted.
        for _ in 0..most {
            assert_ne!(call(&servers[0], BOB, "NoSuchTool", json!({})).status, 429);
        }
    }
}
