//! Tests of named tokens and the tools that each token may call.

use crate::plugins::{guest, install, source};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;

use scorpiox_tests::Program;
use scorpiox_tests::http::{HttpServer, Response};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const ANN: &str = "token-of-ann-0123456789";
const BOB: &str = "token-of-bob-0123456789";

fn sha256(token: &str) -> String {
    Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a server that ann and bob may call, ann with the scope `run`. `more` is the rest of the policy.
fn program(more: &str) -> Program {
    let program = Program::new();
    let policy = format!(
        "version = 1\n[http.auth]\nkind = \"token\"\n[http.auth.tokens.ann]\nsha256 = \"{}\"\nscopes = [\"run\"]\n\
         [http.auth.tokens.bob]\nsha256 = \"{}\"\n{more}",
        sha256(ANN),
        sha256(BOB)
    );
    program.put("home/.scorpiox/policy.toml", policy);
    program
}

const RULES: &str = "[access.all]\nallow = [\"TaskManager\", \"PlanMode\"]\n[access.runners]\nscopes = [\"run\"]\n\
                     allow = [\"Bash\", \"BackgroundBash\", \"ReadBgOutput\", \"ListBgTasks\", \"KillBgTask\"]\n[access.not-bob]\nprincipals = [\"bob\"]\ndeny = [\"PlanMode\"]\n";

fn names(response: &Response) -> Vec<String> {
    let tools = response.json()["result"]["tools"].as_array().cloned().expect("a list");
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

#[cfg(unix)]
#[test]
fn a_principal_sees_and_calls_the_tools_of_its_rules() {
    let program = program(RULES);
    let mut server = program.serve_http(0);
    let ann = names(&server.shown(ANN).modern("tools/list", json!({})));
    assert_eq!(
        ann,
        ["Bash", "TaskManager", "PlanMode", "BackgroundBash", "ReadBgOutput", "ListBgTasks", "KillBgTask"]
    );
    assert_eq!(names(&server.shown(BOB).modern("tools/list", json!({}))), ["TaskManager"]);
    let listed = server.shown(BOB).modern("tools/list", json!({})).json();
    assert_eq!(listed["result"]["cacheScope"], "private", "lists differ by principal");
    // The refusal names the scope if only a scope is missing, and the policy line if a rule denies the call.
    let refused =
        server.shown(BOB).modern("tools/call", json!({ "name": "Bash", "arguments": { "command": "true" } }));
    assert_eq!((refused.status, refused.json()["id"].clone()), (403, json!(1)), "{refused:?}");
    let challenge = refused.header("www-authenticate").expect("a challenge");
    assert!(
        challenge.contains("error=\"insufficient_scope\"") && challenge.contains("scope=\"run\""),
        "{challenge}"
    );
    let denied = server
        .shown(BOB)
        .modern("tools/call", json!({ "name": "PlanMode", "arguments": { "action": "status" } }));
    assert_eq!((denied.status, denied.header("www-authenticate")), (403, None), "{denied:?}");
    assert!(denied.body.contains("[access.not-bob] (policy.toml line "), "{denied:?}");
    // The same holds in a session and in a batch, in which each message has its own response.
    for revision in ["2025-03-26", "2025-11-25"] {
        let session = server.shown(BOB);
        let id = initialized(&session.ask(server.post(&initialize(revision))));
        let call = server.in_session(&id, 2, "tools/call", &json!({ "name": "PlanMode", "arguments": {} }));
        assert_eq!(session.ask(call.clone()).status, 403, "{revision}");
        if revision == "2025-03-26" {
            let message = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "PlanMode" } });
            let answers = session.ask(call.body(json!([message]).to_string())).json();
            assert!(
                answers[0]["error"]["message"].as_str().is_some_and(|why| why.contains("not-bob")),
                "{answers}"
            );
        }
    }
    server.end();
    let log = audit(&program);
    let refused = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let refused: Vec<_> = refused.filter(|line| line["outcome"] == "refused").collect();
    assert!(refused.len() >= 4 && refused.iter().all(|line| line["principal"] == "bob"), "{log}");
    assert!(refused.iter().all(|line| line["uses"][0]["capability"] == "access"), "{log}");
}

#[cfg(unix)]
fn audit(program: &Program) -> String {
    std::fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).expect("an audit")
}

fn initialize(revision: &str) -> Value {
    let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

fn initialized(response: &Response) -> String {
    response.header("mcp-session-id").unwrap_or_else(|| panic!("{response:?}")).to_owned()
}

#[cfg(unix)]
#[test]
fn what_one_principal_has_is_not_there_for_another() {
    let program = program("");
    let mut server = program.serve_http(0);
    // A session.
    let id = initialized(&server.shown(ANN).ask(server.post(&initialize("2025-11-25"))));
    let list = server.in_session(&id, 1, "tools/list", &json!({}));
    assert_eq!(server.shown(BOB).ask(list.clone()).status, 404);
    assert_eq!(server.shown(BOB).ask(list.clone().method("DELETE").body("")).status, 404);
    assert_eq!(server.shown(BOB).ask(server.listen(&id)).status, 404);
    assert_eq!(server.shown(ANN).ask(list.clone()).status, 200);
    // A background command.
    let started = server.shown(ANN).text("BackgroundBash", json!({ "command": "echo of-ann; sleep 600" }));
    assert!(started.contains("task 1"), "{started}");
    assert!(server.shown(ANN).text("ListBgTasks", json!({})).contains("of-ann"));
    assert!(!server.shown(BOB).text("ListBgTasks", json!({})).contains("of-ann"));
    for tool in ["ReadBgOutput", "KillBgTask"] {
        let answer = server.shown(BOB).text(tool, json!({ "task_id": 1 }));
        assert!(answer.contains("no task 1") || answer.contains("no background tasks"), "{tool}: {answer}");
    }
    // A principal's own state survives a restart and stays hidden from other principals.
    server.end();
    let server = program.serve_http(0);
    let list = server.in_session(&id, 1, "tools/list", &json!({}));
    assert_eq!(server.shown(BOB).ask(list.clone()).status, 404);
    assert_eq!(server.shown(ANN).ask(list).status, 200);
}

/// Another principal, or a page in a browser, could connect.
#[cfg(unix)]
#[test]
fn ports_of_commands_are_not_published() {
    let program = program("[shell.profile.workspace]\npublish = [18080]\n");
    let server = program.serve_http(0);
    let started = server.shown(ANN).text("BackgroundBash", json!({ "command": "sleep 600" }));
    assert!(started.contains("over HTTP, ports of commands are never published"), "{started}");
}

#[test]
fn a_state_of_a_request_is_good_for_its_principal_alone() {
    let program = program("");
    let server = program.serve_http(0);
    let questions = json!({ "questions": [{ "text": "Which?", "options": ["a", "b"] }] });
    let arguments = json!({ "questions_json": questions.to_string() });
    let capable = json!({ "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} } });
    let params = json!({ "name": "AskUserQuestion", "arguments": arguments, "_meta": capable });
    let asked = server.shown(ANN).modern("tools/call", params.clone()).json();
    let state = asked["result"]["requestState"].as_str().unwrap_or_else(|| panic!("{asked}"));
    let key = asked["result"]["inputRequests"]
        .as_object()
        .and_then(|asks| asks.keys().next())
        .expect("a question")
        .clone();
    let mut answered = params;
    answered["requestState"] = json!(state);
    answered["inputResponses"] = json!({ key: { "action": "decline" } });
    let stranger = server.shown(BOB).modern("tools/call", answered.clone());
    assert_eq!(stranger.code(), -32602, "{stranger:?}");
    let own = server.shown(ANN).modern("tools/call", answered);
    assert_eq!(own.json()["result"]["resultType"], "complete", "{own:?}");
}

#[test]
fn a_token_with_a_name_is_the_only_one_that_is_good() {
    let program = program("");
    program.put("home/.scorpiox/http/token", "scorpiox_0123456789abcdef0123456789abcdef");
    let server = program.serve_http(0);
    assert_eq!(server.shown(ANN).modern("server/discover", json!({})).status, 200);
    for other in ["scorpiox_0123456789abcdef0123456789abcdef", &sha256(ANN), "", "token-of-ann"] {
        let refused = server.shown(other).modern("server/discover", json!({}));
        assert_eq!(refused.status, 401, "{other}");
        assert!(
            refused.header("www-authenticate").is_some_and(|told| told.contains("invalid_token")),
            "{refused:?}"
        );
    }
}

#[test]
fn who_tries_too_many_tokens_waits_and_keeps_nobody_out() {
    let program = program("");
    let server = program.serve_http(0);
    let tried: Vec<u16> = (0..80)
        .map(|number| server.shown(&format!("wrong-{number}")).modern("server/discover", json!({})).status)
        .collect();
    let first = tried.iter().position(|status| *status == 429).expect("a pause");
    assert!(first >= 30 && tried[..first].iter().all(|status| *status == 401), "{tried:?}");
    let refused = server.shown("wrong").modern("server/discover", json!({}));
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    assert_eq!(server.shown(ANN).modern("server/discover", json!({})).status, 200);
}

#[test]
fn without_authentication_it_serves_this_machine_alone() {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", "version = 1\n[http.auth]\nkind = \"none\"\n");
    let server = program.serve_http(0);
    assert_eq!(server.ask(&server.modern("server/discover", json!({})).without("Authorization")).status, 200);
    assert_eq!(
        server.ask(&server.modern("server/discover", json!({})).with("Host", "evil.example.com")).status,
        403
    );
    let (status, _, said) = program.run(&["serve", "--http", "0.0.0.0:0"]);
    assert!(!status.success() && said.contains("lets everybody call"), "{said}");
}

#[test]
fn other_machines_are_served_only_with_encryption() {
    let program = program("");
    let (status, _, said) = program.run(&["serve", "--http", "0.0.0.0:0"]);
    assert!(!status.success() && said.contains("[http.tls]") && said.contains("proxies"), "{said}");
    // A declared proxy terminates TLS; plain connections from other addresses are refused.
    let policy = std::fs::read_to_string(program.home().join(".scorpiox/policy.toml")).expect("a policy");
    let with = |proxy: &str| {
        policy.replace("[http.auth]\n", &format!("[http]\nproxies = [\"{proxy}\"]\n[http.auth]\n"))
    };
    program.put("home/.scorpiox/policy.toml", with("192.0.2.1"));
    let mut server = program.serve_http_at("0.0.0.0:0");
    server.address.set_ip([127, 0, 0, 1].into());
    let mut stranger = server.connect();
    stranger.send(&server.modern("server/discover", json!({})).bytes());
    assert_eq!(stranger.rest(), "", "it is no proxy");
    drop(server);
    program.put("home/.scorpiox/policy.toml", with("127.0.0.0/8"));
    let mut server = program.serve_http_at("0.0.0.0:0");
    server.address.set_ip([127, 0, 0, 1].into());
    assert_eq!(server.shown(ANN).modern("server/discover", json!({})).status, 200);
}

#[test]
fn a_page_that_the_policy_names_may_call_from_a_browser() {
    let program = program("[http]\norigins = [\"https://chat.example.com\"]\n");
    let server = program.serve_http(0);
    let page = "https://chat.example.com";
    let ask = server.modern("server/discover", json!({})).with("Origin", page);
    let asked = server.ask(
        &ask.clone()
            .method("OPTIONS")
            .without("Authorization")
            .body("")
            .with("Access-Control-Request-Headers", "mcp-method"),
    );
    assert_eq!((asked.status, asked.header("access-control-allow-origin")), (204, Some(page)), "{asked:?}");
    assert_eq!(asked.header("access-control-allow-headers"), Some("mcp-method"));
    let answered = server.shown(ANN).ask(ask.clone());
    assert_eq!(
        (answered.status, answered.header("access-control-allow-origin")),
        (200, Some(page)),
        "{answered:?}"
    );
    let other = server.ask(&ask.method("OPTIONS").with("Origin", "https://evil.example.com"));
    assert_eq!((other.status, other.header("access-control-allow-origin")), (403, None), "{other:?}");
}

#[test]
fn a_made_token_is_let_in_by_the_lines_that_are_printed_with_it() {
    let program = Program::new();
    let (status, printed, _) = program.run(&["token", "ann@example.com", "--scope", "run"]);
    assert!(status.success());
    let (token, lines) = printed.split_once('\n').expect("two parts");
    program.put("home/.scorpiox/policy.toml", format!("version = 1\n[http.auth]\nkind = \"token\"\n{lines}"));
    let server = program.serve_http(0);
    assert_eq!(server.shown(token).modern("server/discover", json!({})).status, 200);
    assert!(!printed.contains(&sha256("")) && printed.contains(&sha256(token)));
    let (status, _, said) = program.run(&["token", "a b"]);
    assert!(!status.success() && said.contains("not the name of a token"), "{said}");
}

#[test]
fn names_that_nobody_has_are_noted() {
    let program = program(
        "[access.a]\nprincipals = [\"an\"]\nscopes = [\"runs\"]\ngroups = [\"g\"]\nallow = [\"TaskManger\"]\n",
    );
    let (status, out, _) = program.run(&["policy", "check"]);
    assert!(status.success(), "{out}");
    for note in [
        "[access.a] names the principal an",
        "did you mean ann?",
        "names the scope runs",
        "names the group g",
        "[access.a] names TaskManger",
        "did you mean TaskManager?",
    ] {
        assert!(out.contains(note), "{note}: {out}");
    }
}

#[test]
fn instructions_tell_of_nothing_that_is_closed() {
    let program = program("[access.all]\nallow = [\"TaskManager\"]\n");
    let server = program.serve_http(0);
    let told = server.shown(ANN).modern("server/discover", json!({})).json();
    let told = told["result"]["instructions"].as_str().expect("instructions").to_lowercase();
    assert!(told.contains("to-do lists") && !told.contains("shell commands"), "{told}");
}

#[test]
fn the_rule_that_decides_about_a_principal_is_explained() {
    let program = program(RULES);
    let why = |arguments: &[&str]| {
        let (status, out, error) = program.run(&[&["policy", "why", "tool"], arguments].concat());
        (status.code(), format!("{out}{error}"))
    };
    let (code, said) = why(&["PlanMode", "--as", "ann"]);
    assert!(code == Some(0) && said.contains("[access.all] (policy.toml line "), "{said}");
    let (code, said) = why(&["PlanMode", "--as", "bob"]);
    assert!(code == Some(1) && said.contains("[access.not-bob]"), "{said}");
    // The scopes of ann's token in the policy are taken into account.
    assert_eq!(why(&["Bash", "--as", "ann"]).0, Some(0));
    let (code, said) = why(&["Bash", "--as", "bob"]);
    assert!(code == Some(1) && said.contains("scopes run"), "{said}");
    assert_eq!(why(&["Bash", "--as", "bob", "--scope", "run"]).0, Some(0));
}

#[test]
fn a_rule_that_asks_is_explained_as_it_holds_over_http() {
    let rule = "[[rules]]\nname = \"quiet\"\ntools = [\"TaskManager\"]\nthen = \"ask\"\n";
    let program = program(rule);
    let why = |arguments: &[&str]| {
        let (status, out, error) = program.run(&[&["policy", "why", "tool"], arguments].concat());
        (status.code(), format!("{out}{error}"))
    };
    let (code, said) = why(&["TaskManager"]);
    assert!(code == Some(0) && said.contains("asks before each call"), "{said}");
    let (code, said) = why(&["TaskManager", "--as", "ann"]);
    assert!(code == Some(1) && said.contains("`self = true` lets the caller"), "{said}");
    let server = program.serve_http(0);
    let call = json!({ "name": "TaskManager", "arguments": { "action": "list", "query": "" } });
    let refused = server.shown(ANN).modern("tools/call", call).body;
    assert!(refused.contains("or with `self = true`, the caller"), "{refused}");
    let itself = format!("{rule}self = true\n");
    let program = self::program(&itself);
    let (status, out, _) = program.run(&["policy", "why", "tool", "TaskManager", "--as", "ann"]);
    assert!(status.success() && out.contains("asks before each call"), "{out}");
}

/// An approver answers for a caller over HTTP, and nobody for their own calls.
#[cfg(unix)]
#[test]
fn an_approver_answers_for_callers_and_not_for_their_own_calls() {
    let program = program("");
    let made = |name: &str, more: &str| {
        let (status, _, said) = program.run(&["plugin", "keygen", name, "--no-password"]);
        assert!(status.success(), "{said}");
        let public = std::fs::read_to_string(program.workspace().join(format!("{name}.pub"))).expect("a key");
        let key = public.lines().nth(1).expect("a key").to_owned();
        format!("[approvers.{name}]\nkey = \"{key}\"\n{more}")
    };
    let approvers = [made("lead", "principal = \"ann\"\n"), made("deputy", "")].concat();
    let rule = "[[rules]]\nname = \"quiet\"\ntools = [\"TaskManager\"]\nthen = \"ask\"\n";
    let policy = std::fs::read_to_string(program.home().join(".scorpiox/policy.toml")).expect("a policy");
    program.put("home/.scorpiox/policy.toml", format!("{policy}{rule}{approvers}"));
    let program = program.with("ANSWER_WITHIN", "2");
    let mut server = program.serve_http(0);
    let call = |server: &HttpServer, token: &str| {
        server.shown(token).text("TaskManager", json!({ "action": "list", "query": "" }))
    };
    let answered = |number: &str, name: &str| {
        let key = format!("{name}.key");
        program.run(&["approvals", "approve", number, "--yes", "--key", &key])
    };
    // No form reaches the caller: only an approver answers.
    for (token, number, approver, refused) in [(BOB, "1", "lead", None), (ANN, "2", "deputy", Some("lead"))] {
        let said = call(&server, token);
        assert!(said.contains(&format!("approvals approve {number} --key")), "{said}");
        if let Some(own) = refused {
            let (status, _, said) = answered(number, own);
            assert!(!status.success() && said.contains("would not be accepted"), "{said}");
        }
        // The approval is for this caller alone.
        let (status, _, said) = answered(number, approver);
        assert!(status.success(), "{said}");
        let said = call(&server, token);
        assert!(!said.contains("was not run"), "{said}");
    }
    let said = call(&server, BOB);
    assert!(said.contains("approvals approve 3"), "an approval is used up: {said}");
    server.end();
}

#[cfg(unix)]
#[test]
fn a_refused_call_is_recorded_with_the_client_and_whatever_it_was_called() {
    let program = program(RULES).with("TOOL_PREFIX", "mine-");
    let mut server = program.serve_http(0);
    let info = json!({ "io.modelcontextprotocol/clientInfo": { "name": "tester", "version": "7" } });
    let call = |name: &str| json!({ "name": name, "arguments": { "command": "true" }, "_meta": info });
    for name in ["Bash", "mine-Bash"] {
        let refused = server.shown(BOB).modern("tools/call", call(name));
        assert_eq!(refused.status, 403, "{refused:?}");
        let challenge = refused.header("www-authenticate").unwrap_or_default();
        assert!(challenge.contains("scope=\"run\""), "{name}: {challenge}");
    }
    // Two requests are refused before a tool runs: a mismatching header and an unknown session.
    let other = server.modern("tools/call", call("TaskManager")).with("Mcp-Name", "PlanMode");
    assert_eq!(server.shown(ANN).ask(other).status, 400);
    let without = server.in_session("none", 1, "tools/call", &json!({ "name": "TaskManager" }));
    assert_eq!(server.shown(BOB).ask(without).status, 404);
    let one = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ReadDocs"}}"#;
    let batch = server.in_session("none", 1, "ping", &json!({})).body(format!("[{one}, 1, {one}]"));
    assert_eq!(server.shown(BOB).ask(batch).status, 404);
    let none = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#;
    let none = server.modern("tools/call", json!({})).body(none);
    assert_eq!(server.shown(ANN).ask(none).status, 400);
    // The same holds for other requests that have lines when they run.
    let unnamed = server.modern("resources/read", json!({ "uri": "skill://x/SKILL.md" })).without("Mcp-Name");
    assert_eq!(server.shown(ANN).ask(unnamed).status, 400);
    let without = server.in_session("none", 1, "prompts/get", &json!({ "name": "x" }));
    assert_eq!(server.shown(BOB).ask(without).status, 404);
    let none = r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":[]}"#;
    assert_eq!(server.shown(ANN).ask(server.modern("prompts/get", json!({})).body(none)).status, 400);
    let listed = server.in_session("none", 1, "tools/list", &json!({}));
    assert_eq!(server.shown(BOB).ask(listed).status, 404);
    server.end();
    let log = audit(&program);
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let by_rule: Vec<_> = lines.iter().filter(|line| line["fault"] == "policy").collect();
    assert!(
        by_rule.iter().map(|line| &line["tool"]).eq(["Bash", "Bash"])
            && by_rule.iter().all(|line| line["client"].to_string().contains("tester")),
        "{lines:?}"
    );
    let unread: Vec<_> = lines.iter().filter(|line| line["fault"] == "bad-request").collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let who: Vec<_> = unread.iter().map(|line| [&line["tool"], &line["principal"]].map(text)).collect();
    let expected = [
        ["TaskManager", "ann"],
        ["TaskManager", "bob"],
        ["ReadDocs", "bob"],
        ["ReadDocs", "bob"],
        ["tools/call", "ann"],
        ["resources/read", "ann"],
        ["prompts/get", "bob"],
        ["prompts/get", "ann"],
    ];
    assert_eq!(who, expected);
}

#[test]
fn what_a_principal_may_not_have_is_no_news_to_it() {
    let rules = "[access.ann]\nprincipals = [\"ann\"]\nallow = [\"*\"]\n\
                 [access.all]\nallow = [\"TaskManager\", \"SetCallback\"]\n";
    let program = program(rules);
    let component = std::fs::read(guest("kinds")).expect("the component");
    let source = source(&program, "kinds", "", &component);
    let server = program.serve_http(0);
    let opened = [ANN, BOB].map(|token| {
        let asker = server.shown(token);
        let id = initialized(&asker.ask(server.post(&initialize("2025-11-25"))));
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        asker.ask(server.post(&ready).with("Mcp-Session-Id", &id));
        assert_eq!(asker.ask(server.in_session(&id, 1, "tools/list", &json!({}))).status, 200);
        let mut listening = server.connect();
        let listen = server.listen(&id).with("Authorization", &format!("Bearer {token}"));
        listening.send(&listen.bytes());
        assert_eq!(listening.head().status, 200);
        listening
    });
    let [mut ann, mut bob] = opened;
    install(&program, &source);
    let told = ann.message().expect("a message");
    assert_eq!(told["method"], "notifications/tools/list_changed");
    // The next notification that both receive comes from a callback.
    let timer = json!({ "action": "set", "message": "tea", "delay_seconds": 1, "repeat_count": 1 });
    server.shown(BOB).text("SetCallback", timer);
    let told = bob.message().expect("a message");
    assert!(told.to_string().contains("tea"), "{told}");
    // Nor does bob learn of a plugin that awaits approval.
    let (status, _, said) = program.run(&["plugin", "deny", "kinds"]);
    assert!(status.success(), "{said}");
    let why = |token: &str| server.shown(token).modern("tools/call", json!({ "name": "kinds.sum" })).body;
    assert!(why(ANN).contains("denied by the user"), "{}", why(ANN));
    assert!(why(BOB).contains("is not known"), "{}", why(BOB));
}

#[cfg(unix)]
#[test]
fn calls_are_counted_by_principal() {
    let program = program(RULES);
    let mut server = program.serve_http(0);
    let list = json!({ "action": "list", "query": "" });
    server.shown(ANN).text("TaskManager", list.clone());
    server.shown(BOB).text("TaskManager", list);
    server.shown(BOB).modern("tools/call", json!({ "name": "Bash", "arguments": { "command": "true" } }));
    let begun = std::time::Instant::now();
    // The server writes its usage figures at intervals.
    let posted = loop {
        let (_, out, _) = program.run(&["stats", "--json"]);
        let posted: Value = serde_json::from_str(&out).expect("JSON");
        let principals = posted["servers"][0]["principals"].clone();
        if principals[1]["refused"] == 1 || begun.elapsed() > std::time::Duration::from_secs(20) {
            break principals;
        }
    };
    let of = |index: usize| [&posted[index]["principal"], &posted[index]["calls"], &posted[index]["refused"]];
    assert_eq!(of(0), [&json!("ann"), &json!(1), &json!(0)], "{posted}");
    assert_eq!(of(1), [&json!("bob"), &json!(2), &json!(1)], "{posted}");
    server.end();
    let (_, report, _) = program.run(&["audit", "report"]);
    let section = report.split("By principal").nth(1).unwrap_or_else(|| panic!("{report}"));
    assert!(section.lines().any(|line| line.starts_with("bob ") && line.contains(" 2 ")), "{report}");
}

/// The server's own folder is a workspace of everybody, unless the policy says otherwise.
#[test]
fn a_workspace_that_others_reach_by_the_servers_own_folder_is_noted() {
    let program = program("");
    let rules = std::fs::read_to_string(program.home().join(".scorpiox/policy.toml")).expect("a policy");
    let payroll =
        format!("[workspace.payroll]\npath = {}\nprincipals = [\"ann\"]\n", json!(program.workspace()));
    let default = "[workspace.default]\nprincipals = [\"ann\"]\n";
    // Another workspace, whose path is a link to the folder around it.
    let link = program.home().join("link");
    #[cfg(unix)]
    std::os::unix::fs::symlink(program.workspace().parent().expect("a folder"), &link).expect("a link");
    let linked = format!("{default}[workspace.linked]\npath = {}\n", json!(link));
    for (more, is_noted) in [("", true), (default, false), (&*linked, cfg!(unix))] {
        program.put("home/.scorpiox/policy.toml", format!("{rules}\n{payroll}{more}"));
        for command in [&["policy", "check"][..], &["doctor"]] {
            let (_, told, _) = program.run(command);
            let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(
                told.contains("the folder of [workspace.payroll] (policy.toml line"),
                is_noted,
                "{told}"
            );
            assert_eq!(told.contains("whoever may use that reaches what is here"), is_noted, "{told}");
        }
    }
}

#[test]
fn what_would_be_refused_at_the_start_is_said_before() {
    let folders = tempfile::tempdir().expect("a folder");
    let outer = dunce::canonicalize(folders.path()).expect("a folder");
    std::fs::create_dir(outer.join("inner")).expect("a folder");
    let workspace =
        |name: &str, folder: &std::path::Path| format!("[workspace.{name}]\npath = {}\n", json!(folder));
    let missing = outer.join("c.pem");
    let tls = format!("[http.tls]\ncertificate = {0}\nkey = {0}\n", json!(missing));
    let both = workspace("a", &outer) + &workspace("b", &outer.join("inner"));
    let program = program(&format!("{tls}{both}"));
    let (_, checked, _) = program.run(&["policy", "check"]);
    let refused = format!("serve --http would refuse to start: {}", missing.display());
    assert!(checked.contains(&refused), "{checked}");
    assert!(
        checked.contains("[workspace.b]") && checked.contains("lies in that of [workspace.a]"),
        "{checked}"
    );
    let (status, looked, _) = program.run(&["doctor"]);
    assert!(!status.success() && looked.contains("serve --http would refuse to start"), "{looked}");
    let cases = "allow tool Bash as ann\nallow tool TaskManager as bob\nallow tool Bash as bob scope run\n";
    program.put("workspace/cases", cases);
    let (status, told, error) = program.run(&["policy", "test", "cases"]);
    assert!(status.success(), "{told}{error}");
}

#[cfg(unix)]
#[test]
fn a_token_of_ones_own_has_sixteen_characters_and_no_blank() {
    for (token, is_good) in
        [("0123456789abcde", false), ("0123456789abcdef", true), ("0123456789 abcdefgh", false)]
    {
        let program = Program::new();
        let file = program.put("home/.scorpiox/http/token", format!("{token}\n"));
        std::fs::set_permissions(file.parent().expect("a folder"), PermissionsExt::from_mode(0o700))
            .expect("a mode");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("a mode");
        let (status, said, errors) = program.run(&["config", "claude-code", "--http", "127.0.0.1:7300"]);
        assert_eq!(status.success() && said.contains(token), is_good, "{token}: {said}{errors}");
        assert!(is_good || errors.contains("at least 16 characters"), "{errors}");
    }
}
