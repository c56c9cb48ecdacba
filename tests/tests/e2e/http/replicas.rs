//! Tests of several servers that act as one: each has its own home, and a shared database stores the common
//! state.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_test_support::postgres::{PASSWORD, Postgres};
use scorpiox_tests::http::HttpServer;
use serde_json::{Value, json};

use super::proxies::Proxy;
use super::team::{StopsAtEnd, TOKEN, Team, call, is_made};

#[test]
fn a_session_is_good_at_each_server_and_over_at_each_once_it_ended() {
    let database = Postgres::start();
    let team = Team::new(&database.database(), 3);
    let servers = team.all();
    let session = servers[0].session("2025-11-25", json!({}));
    for (number, server) in servers.iter().enumerate() {
        let text = format!("made at {number}");
        let (status, said) =
            call(server, &session, "TaskManager", json!({ "action": "create", "text": text }));
        assert_eq!(status, 200, "{said}");
    }
    for server in &servers {
        let (_, listed) = call(server, &session, "TaskManager", json!({ "action": "list" }));
        assert!((0..3).all(|number| listed.contains(&format!("made at {number}"))), "{listed}");
    }
    let end = |server: &HttpServer| {
        server.ask(&server.in_session(&session, 9, "ping", &json!({})).method("DELETE").body("")).status
    };
    assert_eq!((end(&servers[1]), end(&servers[2])), (204, 404));
    for server in &servers {
        assert_eq!(call(server, &session, "TaskManager", json!({ "action": "list" })).0, 404);
    }
    // IDs of a server with a different secret are invalid.
    let other = Team::new(&database.database(), 1);
    let alone = other.start(0, 0);
    let session = servers[0].session("2025-11-25", json!({}));
    assert_eq!(call(&alone, &session, "TaskManager", json!({ "action": "list" })).0, 404);
}

#[test]
fn a_callback_of_three_servers_is_told_once() {
    let database = Postgres::start();
    let team = Team::new(&database.database(), 3);
    let servers = team.all();
    let sessions: Vec<_> = servers.iter().map(|server| server.session("2025-11-25", json!({}))).collect();
    for number in 0..4 {
        let message = format!("ring {number}.");
        let arguments = json!({ "action": "set", "message": message, "delay_seconds": 1, "repeat_count": 1 });
        let (status, said) = call(&servers[number % 3], &sessions[number % 3], "SetCallback", arguments);
        assert!(status == 200 && !said.contains("\"isError\":true"), "{said}");
    }
    let mut told = Vec::new();
    let begun = Instant::now();
    // A few more rounds after the last callback show that none is delivered twice.
    let mut rounds_after = 0;
    while rounds_after < 5 && begun.elapsed() < Duration::from_secs(60) {
        for (server, session) in servers.iter().zip(&sessions) {
            let (_, said) = call(server, session, "PlanMode", json!({ "action": "status" }));
            told.extend((0..4).filter(|number| said.contains(&format!("ring {number}."))));
        }
        let all: BTreeSet<_> = told.iter().collect();
        rounds_after += usize::from(all.len() == 4);
        thread::sleep(Duration::from_millis(200));
    }
    told.sort_unstable();
    assert_eq!(told, [0, 1, 2, 3]);
}

#[test]
fn what_one_server_fires_clients_of_another_hear_at_once_and_once() {
    let mut database = Postgres::start();
    let team = Team::new(&database.database(), 2);
    let servers = team.all();
    let sessions: Vec<_> = servers.iter().map(|server| server.session("2025-11-25", json!({}))).collect();
    let mut streams: Vec<_> = servers
        .iter()
        .zip(&sessions)
        .map(|(server, session)| {
            let mut stream = server.connect();
            stream.send(&server.listen(session).bytes());
            assert_eq!(stream.head().status, 200);
            stream
        })
        .collect();
    let mut ring = |number: usize| {
        let message = format!("ring {number}.");
        let arguments = json!({ "action": "set", "message": message, "delay_seconds": 1, "repeat_count": 1 });
        let (status, said) = call(&servers[0], &sessions[0], "SetCallback", arguments);
        assert_eq!(status, 200, "{said}\n{}", fs::read_to_string(team.log()).unwrap_or_default());
        for stream in &mut streams {
            // The next message is this callback: the previous one is not repeated.
            let heard = stream.message_within(Duration::from_secs(30)).expect("a message");
            assert_eq!(heard["method"], "notifications/message");
            assert!(
                heard["params"]["data"]["message"].as_str().is_some_and(|said| said.contains(&message)),
                "{heard}"
            );
        }
    };
    (0..3).for_each(&mut ring);
    // A lost connection is reestablished, and pending callbacks are delivered.
    database.kill();
    database.begin();
    let begun = Instant::now();
    while call(&servers[0], &sessions[0], "PlanMode", json!({ "action": "status" })).0 != 200 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no server reaches the database again");
        thread::sleep(Duration::from_millis(50));
    }
    (3..5).for_each(&mut ring);
    // Each callback is also reported in one result: that of the call that sets the next one, or of this call.
    let (_, said) = call(&servers[1], &sessions[1], "PlanMode", json!({ "action": "status" }));
    assert!(said.contains("ring 4."), "{said}");
    let (_, said) = call(&servers[0], &sessions[0], "PlanMode", json!({ "action": "status" }));
    assert!(!said.contains("ring"), "{said}");
}

/// Uses the revision that has batches.
#[test]
fn a_cancel_in_a_batch_reaches_the_call_at_another_server() {
    let database = Postgres::start();
    let team = Team::new(&database.database(), 2);
    let servers = team.all();
    let session = servers[0].session("2025-03-26", json!({}));
    let arguments = json!({ "command": "echo begun; sleep 600" });
    let params = json!({ "_meta": { "progressToken": 5 }, "name": "Bash", "arguments": arguments });
    let mut connection = servers[0].connect();
    connection.send(&servers[0].in_session(&session, 3, "tools/call", &params).bytes());
    assert_eq!(connection.head().status, 200);
    assert_eq!(connection.message().expect("progress")["params"]["progressToken"], 5);
    let batch = json!([
        { "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 3 } },
        { "jsonrpc": "2.0", "id": 4, "method": "ping" },
    ]);
    let answered = servers[1].ask(&servers[1].post(&batch).with("Mcp-Session-Id", &session));
    assert_eq!((answered.status, &answered.json()[0]["id"]), (200, &json!(4)));
    while let Some(message) = connection.message() {
        assert_eq!(message["method"], "notifications/progress", "nothing answers a cancelled call");
    }
}

/// A stream exists at one server. A proxy that retries on 503 finds it, and no other server reports that the
/// session has ended or serves a different stream.
#[test]
fn a_stream_that_broke_is_found_through_a_proxy() {
    let database = Postgres::start();
    let team = Team::new(&database.database(), 3);
    let servers = team.all();
    let addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
    let proxies = [Proxy::nginx, Proxy::haproxy];
    for (number, proxy) in proxies.into_iter().enumerate() {
        let proxy = proxy(&team.program.home().join(format!("proxy{number}")), &addresses, TOKEN);
        let session = proxy.0.session("2025-11-25", json!({}));
        let call = |server: &HttpServer| {
            let arguments = json!({ "command": format!("echo begun; until [ -e go{number} ]; do sleep 0.05; done; echo done") });
            let params = json!({ "_meta": { "progressToken": 5 }, "name": "Bash", "arguments": arguments });
            let mut connection = server.connect();
            connection.send(&server.in_session(&session, 3, "tools/call", &params).bytes());
            assert_eq!(connection.head().status, 200);
            connection.event().expect("an event").0.expect("an id")
        };
        let id = call(&servers[0]);
        // Another server has a stream too.
        call(&servers[1]);
        let again = |server: &HttpServer| server.listen(&session).with("Last-Event-ID", &id);
        for other in &servers[1..] {
            let refused = other.ask(&again(other));
            assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused:?}");
        }
        let mut reader = None;
        for _ in 0..2 * servers.len() {
            let mut found = proxy.0.connect();
            found.send(&again(&proxy.0).bytes());
            assert_eq!(found.head().status, 200);
            reader = Some(found);
        }
        fs::write(team.program.workspace().join(format!("go{number}")), "").expect("a file");
        let mut reader = reader.expect("one");
        let answer = std::iter::from_fn(|| reader.message()).last().expect("an answer");
        assert!(answer["id"] == 3 && answer.to_string().contains("done"), "{answer}");
    }
}

/// A client that reconnects to another server receives new messages there.
#[test]
fn a_client_that_listens_at_another_server_hears_what_is_new() {
    let database = Postgres::start();
    let team = Team::new(&database.database(), 2);
    let servers = team.all();
    let session = servers[0].session("2025-11-25", json!({}));
    let mut last: Option<String> = None;
    for (number, server) in [0, 1, 0, 1].into_iter().map(|at| &servers[at]).enumerate() {
        let mut stream = server.connect();
        let listen = server.listen(&session);
        stream.send(&last.iter().fold(listen, |listen, id| listen.with("Last-Event-ID", id)).bytes());
        assert_eq!(stream.head().status, 200);
        let message = format!("ring {number}.");
        let arguments = json!({ "action": "set", "message": message, "delay_seconds": 1, "repeat_count": 1 });
        let (status, said) = call(server, &session, "SetCallback", arguments);
        assert_eq!(status, 200, "{said}");
        loop {
            let (id, data) = stream.event().expect("a message");
            last = id;
            if data.contains(&message) {
                break;
            }
        }
    }
}

/// A client's answer and its cancellation reach the server that runs the call, even if the answer is long or
/// another server asks a question at the same time.
#[test]
fn what_a_client_says_to_one_server_reaches_the_call_at_another() {
    let database = Postgres::start();
    let team = Team::new(&database.database(), 3);
    let servers = team.all();
    let session = servers[0].session("2025-11-25", json!({ "elicitation": {} }));
    let questions = r#"{"questions":[{"text":"Which?","options":["A","B"]}]}"#;
    let ask = |server: &HttpServer, id: u64| {
        let params = json!({ "name": "AskUserQuestion", "arguments": { "questions_json": questions } });
        let mut connection = server.connect();
        connection.send(&server.in_session(&session, id, "tools/call", &params).bytes());
        assert_eq!(connection.head().status, 200);
        let asked = connection.message().expect("a question");
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        (connection, asked)
    };
    let say = |server: &HttpServer, message: &Value| {
        server.ask(&server.post(message).with("Mcp-Session-Id", &session)).status
    };
    let (first, second) = (ask(&servers[0], 3), ask(&servers[1], 4));
    assert_ne!(first.1["id"], second.1["id"], "each server's questions are its own");
    for ((mut connection, asked), choice) in [(second, "B"), (first, "A")] {
        let form = &asked["params"]["requestedSchema"]["properties"];
        let name = form.as_object().and_then(|form| form.keys().next()).expect("a field").clone();
        // The answer spans many rows.
        let more = "\u{1f514}".repeat(20_000);
        let result =
            json!({ "action": "accept", "content": { name: choice }, "_meta": { "example.com/more": more } });
        let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
        let mut too_long = answer.clone();
        too_long["result"]["_meta"]["example.com/more"] = json!("x".repeat(1 << 20));
        assert_eq!(say(&servers[2], &too_long), 413, "the call still waits");
        assert_eq!(say(&servers[2], &answer), 202);
        let answered = connection.message().expect("an answer");
        assert!(answered["result"]["isError"] == json!(false), "{answered}");
        assert!(answered.to_string().contains(&format!("\"{choice}\"")), "{answered}");
        // A repeated answer has no effect.
        assert_eq!(say(&servers[2], &answer), 202);
    }
    let (mut connection, _) = ask(&servers[0], 5);
    let params = json!({ "requestId": 5 });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    let other = servers[0].session("2025-11-25", json!({}));
    let of_another = servers[1].post(&cancel).with("Mcp-Session-Id", &other);
    assert_eq!(servers[1].ask(&of_another).status, 202, "it is about that session's own call");
    let (mut still, asked) = ask(&servers[0], 6);
    assert_eq!(say(&servers[1], &cancel), 202);
    while let Some(message) = connection.message() {
        assert_eq!(message["method"], "notifications/cancelled", "nothing answers a cancelled call");
    }
    let declined = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "decline" } });
    assert_eq!(say(&servers[2], &declined), 202);
    assert_eq!(still.message().expect("an answer")["id"], 6);
}

#[test]
fn a_command_in_the_background_is_never_taken_for_another_servers() {
    let database = Postgres::start();
    let team = Team::new(&database.database(), 2);
    let servers = team.all();
    let sessions: Vec<_> = servers.iter().map(|server| server.session("2025-11-25", json!({}))).collect();
    let at =
        |server: usize, tool: &str, arguments| call(&servers[server], &sessions[server], tool, arguments).1;
    let ids: Vec<u64> = (0..2)
        .map(|server| {
            let command = format!("echo of server {server}; sleep 600");
            let said = at(server, "BackgroundBash", json!({ "command": command }));
            let (_, id) = said.split_once("background task ").unwrap_or_else(|| panic!("{said}"));
            id.split_once(' ').and_then(|(id, _)| id.parse().ok()).unwrap_or_else(|| panic!("{said}"))
        })
        .collect();
    assert_ne!(ids[0], ids[1]);
    for (server, id) in ids.iter().enumerate() {
        let other = at(1 - server, "ReadBgOutput", json!({ "task_id": id }));
        assert!(other.contains(&format!("This server has no task {id}; known tasks: ")), "{other}");
        assert!(other.contains("known only to the server that started them"), "{other}");
        let listed = at(1 - server, "ListBgTasks", json!({}));
        assert!(
            !listed.contains(&format!("[{id}]")) && listed.contains("send each client to one server"),
            "{listed}"
        );
        let begun = Instant::now();
        let mut said = String::new();
        while !said.contains(&format!("of server {server}")) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{said}");
            said = at(server, "ReadBgOutput", json!({ "task_id": id }));
        }
        assert!(at(server, "KillBgTask", json!({ "task_id": id })).contains("Killed"));
    }
}

#[test]
fn clocks_that_differ_by_minutes_fire_no_callback_too_early_or_twice() {
    const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
    let database = Postgres::start();
    let team = Team::new(&database.database(), 3);
    // The clock of one server agrees with the database; another is five minutes ahead, the third five minutes
    // behind.
    let skewed = |machine: usize, by: &str| {
        let with = move |command: &mut Command| {
            command.env("LD_PRELOAD", FAKETIME).env("FAKETIME", by).env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        };
        team.start_with(machine, 0, with)
    };
    let servers = [team.start(0, 0), skewed(1, "+300s"), skewed(2, "-300s")];
    let sessions: Vec<_> = servers.iter().map(|server| server.session("2025-11-25", json!({}))).collect();
    let begun = Instant::now();
    let set = |number: usize, delay: u64| {
        let message = format!("ring {number}.");
        let arguments =
            json!({ "action": "set", "message": message, "delay_seconds": delay, "repeat_count": 1 });
        let (status, said) = call(&servers[number % 3], &sessions[number % 3], "SetCallback", arguments);
        assert!(status == 200 && !said.contains("\"isError\":true"), "{said}");
    };
    // Three callbacks fire soon, and three fire long after the test.
    (0..3).for_each(|number| set(number, 4));
    (3..6).for_each(|number| set(number, 200));
    let mut told = Vec::new();
    let mut rounds_after = 0;
    while rounds_after < 15 && begun.elapsed() < Duration::from_secs(60) {
        for (server, session) in servers.iter().zip(&sessions) {
            let (_, said) = call(server, session, "PlanMode", json!({ "action": "status" }));
            let rung: Vec<_> = (0..6).filter(|number| said.contains(&format!("ring {number}."))).collect();
            assert!(rung.is_empty() || begun.elapsed() > Duration::from_millis(3500), "too early: {said}");
            told.extend(rung);
        }
        rounds_after += usize::from(told.len() >= 3);
        thread::sleep(Duration::from_millis(200));
    }
    told.sort_unstable();
    assert_eq!(told, [0, 1, 2], "{}", fs::read_to_string(team.log()).unwrap_or_default());
}

#[test]
fn the_audits_of_several_servers_are_verified_together() {
    let database = Postgres::start();
    let team = Team::new(&database.database(), 2);
    let mut servers = team.all();
    let sessions: Vec<_> = servers.iter().map(|server| server.session("2025-11-25", json!({}))).collect();
    for round in 0..3 {
        for (server, session) in servers.iter().zip(&sessions) {
            let text = format!("{round}");
            assert_eq!(
                call(server, session, "TaskManager", json!({ "action": "create", "text": text })).0,
                200
            );
        }
    }
    for server in &mut servers {
        server.end();
    }
    let lines = |machine: usize| -> Vec<String> {
        let text = fs::read_to_string(team.homes[machine].join("audit/audit.jsonl")).expect("an audit");
        text.lines().map(str::to_owned).collect()
    };
    let both: Vec<_> = lines(0).into_iter().zip(lines(1)).flat_map(|(one, other)| [one, other]).collect();
    assert_eq!(both.len(), 6);
    let verify = |lines: &[String]| {
        let copy = team.program.put("copy.jsonl", lines.join("\n") + "\n");
        let output =
            team.program.command().args(["audit", "verify", "--file"]).arg(copy).output().expect("it runs");
        (output.status.success(), String::from_utf8(output.stdout).expect("text"))
    };
    let (is_whole, said) = verify(&both);
    assert!(is_whole && said.contains("6 lines in 2 chains"), "{said}");
    // A modified line, a missing line, and a line replaced by one of the other chain.
    let mut changed = both.clone();
    changed[2] = changed[2].replace("TaskManager", "TaskManager2");
    let mut cut = both.clone();
    cut.remove(3);
    let mut swapped = both.clone();
    swapped[2] = swapped[3].clone();
    for lines in [changed, cut, swapped] {
        let (is_whole, said) = verify(&lines);
        assert!(!is_whole && (said.contains("NOT WHOLE") || said.contains("BROKEN")), "{said}");
    }
}

/// Runs a PostgreSQL tool on a database.
fn postgres_tool(name: &str, arguments: &[&str]) {
    let mut command = Command::new(name);
    command.args(arguments).env("PGPASSWORD", PASSWORD);
    let output = command.output().unwrap_or_else(|error| panic!("{name}: {error}; install postgresql"));
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_backup_that_was_made_while_calls_ran_goes_on_in_a_new_database() {
    let database = Postgres::start();
    let address = database.database();
    let team = Team::new(&address, 1);
    let mut server = team.start(0, 0);
    let session = server.session("2025-11-25", json!({}));
    let ended = server.session("2025-11-25", json!({}));
    assert_eq!(
        server.ask(&server.in_session(&ended, 9, "ping", &json!({})).method("DELETE").body("")).status,
        204
    );
    for number in 0..20 {
        assert!(is_made(&server, Some(&session), &format!("before-{number}-end")));
    }
    let arguments = json!({ "action": "set", "message": "ring after the backup.", "delay_seconds": 8, "repeat_count": 1 });
    assert_eq!(call(&server, &session, "SetCallback", arguments).0, 200);
    let dump = team.program.home().join("dump");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let stops = StopsAtEnd(&stop);
        let (server, stop) = (&server, &stop);
        scope.spawn(move || {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                is_made(server, None, &format!("meanwhile-{number}-end"));
                number += 1;
            }
        });
        let to = format!("--file={}", dump.display());
        postgres_tool("pg_dump", &["--format=custom", "--schema=scorpiox_code", &to, &address]);
        drop(stops);
    });
    server.end();
    // A new database is restored from the backup.
    let again = database.database();
    postgres_tool("pg_restore", &["--exit-on-error", "--dbname", &again, &dump.display().to_string()]);
    let policy = team.homes[0].join("policy.toml");
    let text = fs::read_to_string(&policy).expect("a policy");
    fs::write(&policy, text.replace(name_in(&address), name_in(&again))).expect("written");
    let checked = {
        let mut command = team.program.command();
        command.env("SCORPIOX_HOME", &team.homes[0]).env("SCORPIOX_STORE_PASSWORD", PASSWORD);
        command.args(["store", "check"]).output().expect("it runs")
    };
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    let mut server = team.start(0, 0);
    assert_eq!(call(&server, &session, "TaskManager", json!({ "action": "list" })).0, 200);
    let stored = "SELECT encode(value, 'escape') FROM scorpiox_code.entry";
    let stored = database.psql(name_in(&again), stored).expect("rows");
    assert!((0..20).all(|number| stored.contains(&format!("before-{number}-end"))), "{stored}");
    assert_eq!(call(&server, &ended, "TaskManager", json!({ "action": "list" })).0, 404);
    let begun = Instant::now();
    loop {
        let (_, said) = call(&server, &session, "PlanMode", json!({ "action": "status" }));
        if said.contains("ring after the backup.") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{said}");
        thread::sleep(Duration::from_millis(200));
    }
    // Deleting a leaked secret invalidates all sessions.
    server.end();
    database.psql(name_in(&again), "DELETE FROM scorpiox_code.secret").expect("deleted");
    let server = team.start(0, 0);
    assert_eq!(call(&server, &session, "TaskManager", json!({ "action": "list" })).0, 404);
    let session = server.session("2025-11-25", json!({}));
    assert_eq!(call(&server, &session, "TaskManager", json!({ "action": "list" })).0, 200);
}

/// Returns the name of the database in its address.
pub(super) fn name_in(address: &str) -> &str {
    address.rsplit('/').next().expect("a name")
}
