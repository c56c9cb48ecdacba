//! Tests of `[[narrow]]` for principals and groups.

use std::thread;
use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use scorpiox_tests::http::{HttpServer, Response};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const ANN: &str = "token-of-ann-0123456789";
const BOB: &str = "token-of-bob-0123456789";

fn program(more: &str) -> Program {
    let hash =
        |token: &str| -> String { Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect() };
    let program = Program::new();
    let policy = format!(
        "version = 1\n[http.auth]\nkind = \"token\"\n[http.auth.tokens.ann]\nsha256 = \"{}\"\n\
         [http.auth.tokens.bob]\nsha256 = \"{}\"\ngroups = [\"contractors\"]\n{more}",
        hash(ANN),
        hash(BOB)
    );
    program.put("home/.scorpiox/policy.toml", policy);
    program.put("workspace/finance/a", "the-secret");
    program
}

fn call(server: &HttpServer, token: &str, tool: &str, arguments: Value) -> Response {
    server.shown(token).modern("tools/call", json!({ "name": tool, "arguments": arguments }))
}

fn text(response: &Response) -> String {
    let answer = response.json();
    match answer["error"]["message"].as_str() {
        Some(message) => message.to_owned(),
        None => answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
    }
}

#[test]
fn a_restriction_holds_for_the_group_that_it_names() {
    let program = program(
        "[[narrow]]\nname = \"contractors\"\ngroups = [\"contractors\"]\n[narrow.tools]\ndeny = [\"TaskManager\"]\n\
         [narrow.shell.profile.workspace]\ndeny = [\"finance/\"]\n",
    );
    let mut server = program.serve_http(0);
    for _ in 0..2 {
        for (token, is_restricted) in [(ANN, false), (BOB, true)] {
            let listed = server.shown(token).modern("tools/list", json!({}));
            assert_eq!(listed.body.contains("\"name\":\"TaskManager\""), !is_restricted, "{listed:?}");
            let tasks = text(&call(&server, token, "TaskManager", json!({ "action": "list" })));
            assert_eq!(tasks.contains("There are no tasks"), !is_restricted, "{tasks}");
            let shown = text(&call(&server, token, "Bash", json!({ "command": "cat finance/a" })));
            assert_eq!(shown.contains("the-secret"), !is_restricted, "{shown}");
        }
    }
    server.end();
}

#[test]
fn a_repository_that_is_broken_closes_only_its_workspace() {
    let program = program("");
    let own = program.put("other/site.txt", "");
    let other = dunce::canonicalize(own.parent().expect("a folder")).expect("a folder");
    let policy = program.home().join(".scorpiox/policy.toml");
    let known = std::fs::read_to_string(&policy).expect("a policy");
    std::fs::write(policy, format!("{known}[workspace.other]\npath = {}\n", json!(other))).expect("written");
    let mut server = program.serve_http(0);
    program.put("workspace/.scorpiox/policy.toml", "version = 1\n[tools]\ndeny = 3\n");
    let refused = text(&call(&server, ANN, "TaskManager", json!({ "action": "list" })));
    assert!(refused.contains("All tools are refused in this workspace"), "{refused}");
    let request =
        server.modern("tools/call", json!({ "name": "TaskManager", "arguments": { "action": "list" } }));
    let answer = server.shown(ANN).ask(request.path("/w/other/mcp"));
    assert!(text(&answer).contains("There are no tasks"), "{answer:?}");
    // The server starts with it, too.
    server.end();
    let mut server = program.serve_http(0);
    let listed = server.shown(ANN).modern("tools/list", json!({}));
    assert_eq!(listed.status, 200, "{listed:?}");
    server.end();
}

#[test]
fn what_a_principal_read_restricts_its_own_calls_alone() {
    let program = program(
        "[shell.profile.workspace]\ndeny = [\"finance/\"]\n[files]\ndeny = []\n\
         [[narrow]]\nname = \"after finance\"\nafter = { read = [\"finance/\"] }\n[narrow.tools]\ndeny = [\"TaskManager\"]\n",
    );
    program.put("workspace/finance/a.md", "the-figures");
    let mut server = program.serve_http(0);
    let read = text(&call(&server, BOB, "ReadDocs", json!({ "url": "finance/a.md" })));
    assert!(read.contains("the-figures"), "{read}");
    for (token, is_restricted) in [(ANN, false), (BOB, true)] {
        let tasks = text(&call(&server, token, "TaskManager", json!({ "action": "list" })));
        assert_eq!(tasks.contains("There are no tasks"), !is_restricted, "{tasks}");
    }
    server.end();
    let (_, out, _) = program.run(&["policy", "clear", "--as", "bob"]);
    assert!(out.contains("count as read since ReadDocs"), "{out}");
    let mut server = program.serve_http(0);
    let tasks = text(&call(&server, BOB, "TaskManager", json!({ "action": "list" })));
    assert!(tasks.contains("There are no tasks"), "{tasks}");
    server.end();
}

/// Both calls run a command until a file is there.
#[test]
fn a_restriction_that_is_added_ends_the_calls_that_it_concerns_and_no_others() {
    let program = program("");
    let mut server = program.serve_http(0);
    let command =
        |name: &str| format!("touch started-{name}; until [ -e go ]; do sleep 0.1; done; echo finished");
    let run =
        |token: &str, name: &str| text(&call(&server, token, "Bash", json!({ "command": command(name) })));
    let began = Instant::now();
    let until = |what: &str, is_so: &dyn Fn() -> bool| {
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(60), "{what}");
            thread::sleep(Duration::from_millis(20));
        }
    };
    let is_there = |name: &str| program.workspace().join(name).exists();
    thread::scope(|scope| {
        let ann = scope.spawn(|| run(ANN, "ann"));
        let bob = scope.spawn(|| run(BOB, "bob"));
        until("both run", &|| is_there("started-ann") && is_there("started-bob"));
        let path = program.home().join(".scorpiox/policy.toml");
        let known = std::fs::read_to_string(&path).expect("a policy");
        let narrow = "[[narrow]]\nname = \"contractors\"\ngroups = [\"contractors\"]\n\
                      [narrow.shell.profile.workspace]\ndeny = [\"finance/\"]\n";
        std::fs::write(&path, format!("{known}{narrow}")).expect("written");
        assert_eq!(server.shown(ANN).modern("tools/list", json!({})).status, 200);
        let ended = bob.join().expect("an answer");
        assert!(ended.contains("the policy was changed while it ran"), "{ended}");
        assert!(!ann.is_finished());
        program.put("workspace/go", "");
        let finished = ann.join().expect("an answer");
        assert!(finished.contains("finished") && finished.contains("exit code 0"), "{finished}");
    });
    server.end();
}
