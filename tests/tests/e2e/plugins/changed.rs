//! Tests of plugins that are added, removed or changed while a server runs: the client receives one
//! notification per change.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use scorpiox_tests::program::modern;
use scorpiox_tests::schema::Schema;
use scorpiox_tests::{Next, Program, Started};
use serde_json::{Value, json};

use super::{hash_of, impostor_as, install, kinds, listed, source};

const CHANGED: &str = "notifications/tools/list_changed";
const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn component() -> Vec<u8> {
    fs::read(kinds()).expect("the component")
}

/// Creates the directory of a plugin in the workspace, ready to be added.
fn plugin(program: &Program) -> String {
    source(program, "kinds", "", &component())
}

/// Returns the directory of the installed plugin.
fn installed(program: &Program) -> PathBuf {
    program.home().join(".scorpiox/plugins/kinds")
}

/// Runs a command that must succeed.
fn run(program: &Program, arguments: &[&str]) {
    let (status, out, err) = program.run(arguments);
    assert!(status.success(), "{arguments:?}: {out}{err}");
}

/// Returns the number of received notifications.
fn told(server: &Started) -> usize {
    server.received.iter().filter(|message| message["method"] == CHANGED).count()
}

/// `true` if the server sends nothing for longer than its polling interval.
fn is_quiet(server: &mut Started) -> bool {
    server.next_within(Duration::from_millis(1500)) == Next::Nothing
}

#[test]
fn each_change_is_told_once() {
    let program = Program::new();
    let mut server = program.start();
    let hello = server.initialize("2025-11-25");
    assert_eq!(hello["capabilities"]["tools"], json!({ "listChanged": true }));
    // The program's own directory does not exist yet.
    assert!(listed(&mut server).is_empty());
    let source = plugin(&program);
    program.run(&["plugin", "add", &source]);
    let hash = hash_of(&program, &source);
    let approve = ["plugin", "approve", "kinds", "--yes", &hash];
    let mut changes = 0;
    let mut changed = |server: &mut Started, has_tools: bool| {
        server.notification(CHANGED);
        changes += 1;
        assert_eq!(!listed(server).is_empty(), has_tools, "after change {changes}");
        assert_eq!(told(server), changes);
    };
    run(&program, &approve);
    changed(&mut server, true);
    run(&program, &["plugin", "deny", "kinds"]);
    changed(&mut server, false);
    run(&program, &approve);
    changed(&mut server, true);
    for file in ["c.wasm", "plugin.toml"] {
        let path = installed(&program).join(file);
        let original = fs::read(&path).expect("a file");
        fs::write(&path, "x").expect("writes");
        changed(&mut server, false);
        fs::write(&path, original).expect("writes");
        changed(&mut server, true);
    }
    let (here, away) = (installed(&program), program.home().join("away"));
    fs::rename(&here, &away).expect("moves");
    changed(&mut server, false);
    fs::rename(&away, &here).expect("moves");
    changed(&mut server, true);
    run(&program, &["plugin", "remove", "kinds"]);
    changed(&mut server, false);
    // On Windows, files that a server has open cannot be removed.
    if cfg!(unix) {
        fs::remove_dir_all(program.home().join(".scorpiox")).expect("removes");
    }
    install(&program, &plugin(&program));
    changed(&mut server, true);
    assert!(is_quiet(&mut server));
}

#[test]
fn every_revision_with_a_handshake_has_the_notification() {
    for revision in REVISIONS {
        let program = Program::new();
        let source = plugin(&program);
        let mut server = program.start();
        assert_eq!(server.initialize(revision)["capabilities"]["tools"]["listChanged"], true);
        listed(&mut server);
        install(&program, &source);
        let message = server.notification(CHANGED);
        Schema::of(revision).check_notification(&message);
    }
}

#[test]
fn what_clients_see_unchanged_is_not_told() {
    let program = Program::new();
    let source = plugin(&program);
    install(&program, &source);
    let hash = hash_of(&program, &source);
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert!(!listed(&mut server).is_empty());
    run(&program, &["plugin", "approve", "kinds", "--yes", &hash]);
    let path = installed(&program).join("c.wasm");
    fs::write(installed(&program).join("notes.txt"), "x").expect("writes");
    fs::write(installed(&program).join("new"), component()).expect("writes");
    fs::rename(installed(&program).join("new"), path).expect("moves");
    // An unapproved plugin.
    let other = super::source(&program, "other", "", &component());
    let (added, ..) = program.run(&["plugin", "add", &other]);
    assert!(!added.success());
    run(&program, &["plugin", "deny", "other"]);
    assert!(is_quiet(&mut server));
    assert!(!listed(&mut server).is_empty());
}

#[test]
fn tools_that_are_switched_off_are_not_told_of() {
    let program = Program::new().with("TOOLS", "false");
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert!(listed(&mut server).is_empty());
    install(&program, &plugin(&program));
    assert!(is_quiet(&mut server));
}

#[test]
fn nothing_is_told_before_the_client_is_ready() {
    let program = Program::new();
    let mut server = program.start();
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}
    });
    server.ask("initialize", params);
    assert!(listed(&mut server).is_empty());
    install(&program, &plugin(&program));
    assert!(is_quiet(&mut server));
    // A change before initialization is notified right after it.
    server.notify("notifications/initialized", json!({}));
    server.notification(CHANGED);
    assert!(!listed(&mut server).is_empty());
    assert_eq!(told(&server), 1);
}

/// Subscribes in the revision without a handshake and returns the acknowledged filter.
fn subscribe(server: &mut Started, id: &str, filter: Value) -> Value {
    let params = modern(json!({ "notifications": filter }));
    server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params}));
    let message = server.notification("notifications/subscriptions/acknowledged");
    assert_eq!(subscription(&message), id);
    message["params"]["notifications"].clone()
}

fn subscription(message: &Value) -> &str {
    message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].as_str().expect("an id")
}

#[test]
fn without_a_handshake_only_who_subscribed_is_told() {
    let program = Program::new();
    let mut server = program.start();
    let discovered = server.ask("server/discover", modern(json!({})));
    assert_eq!(discovered["result"]["capabilities"]["tools"], json!({ "listChanged": true }));
    server.ask("tools/list", modern(json!({})));
    let all = json!({ "toolsListChanged": true, "promptsListChanged": true });
    assert_eq!(subscribe(&mut server, "a", all.clone()), all);
    let prompts = json!({ "promptsListChanged": true });
    assert_eq!(subscribe(&mut server, "b", prompts.clone()), prompts);
    assert_eq!(subscribe(&mut server, "c", all.clone()), all);
    install(&program, &plugin(&program));
    let messages = [server.notification(CHANGED), server.notification(CHANGED)];
    assert_eq!(messages.each_ref().map(subscription), ["a", "c"]);
    let mut schema = Schema::of("2026-07-28");
    messages.iter().for_each(|message| schema.check_notification(message));
    assert!(is_quiet(&mut server));
    for id in ["a", "c"] {
        server.notify("notifications/cancelled", json!({ "requestId": id }));
    }
    run(&program, &["plugin", "deny", "kinds"]);
    assert!(is_quiet(&mut server));
    // A new subscription is notified of changes since the previous one.
    subscribe(&mut server, "d", all);
    assert_eq!(subscription(&server.notification(CHANGED)), "d");
    assert_eq!(told(&server), 3);
    let bad = modern(json!({ "notifications": { "toolsListChanged": "yes" } }));
    assert_eq!(server.ask("subscriptions/listen", bad)["error"]["code"], -32602);
}

#[cfg(target_os = "linux")]
/// Returns the number of context switches of the watcher thread, if it exists.
fn switches(server: &Started) -> Option<u64> {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.child.id())).expect("threads");
    let folders = tasks.flatten().map(|task| task.path());
    let mut statuses = folders.filter_map(|folder| fs::read_to_string(folder.join("status")).ok());
    let status = statuses.find(|status| status.starts_with("Name:\tplugins\n"))?;
    let lines = status.lines().filter(|line| line.contains("_ctxt_switches"));
    Some(lines.filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok()).sum())
}

#[cfg(target_os = "linux")]
#[test]
fn who_watches_starts_after_the_first_list_and_looks_seldom() {
    let program = Program::new();
    install(&program, &plugin(&program));
    let mut server = program.start();
    server.initialize("2025-11-25");
    server.call("kinds.divide", json!({"a": 1, "b": 1}));
    assert!(is_quiet(&mut server));
    assert_eq!(switches(&server), None, "it watches before anybody listed tools");
    listed(&mut server);
    assert!(is_quiet(&mut server));
    let before = switches(&server).expect("it watches");
    assert!(is_quiet(&mut server));
    let woken = switches(&server).expect("it watches") - before;
    // The watcher polls once a second.
    assert!(woken <= 4, "{woken} times in a moment in which nothing happens");
    server.close_input();
    let (status, time) = server.wait();
    assert!(status.success() && time < Duration::from_millis(500), "{status} after {time:?}");
}

#[test]
fn a_call_in_flight_finishes_on_the_old_version() {
    let program = Program::new();
    let wants = "[capabilities.store]\nwhy = \"waits\"\n[limits]\ncpu_seconds = 60\n";
    let old = source(&program, "impostor", wants, &impostor_as("the old version"));
    install(&program, &old);
    let mut server = program.start();
    server.initialize("2025-11-25");
    let call = json!({"name": "impostor.wait", "arguments": {}, "_meta": {"progressToken": "t"}});
    let waiting = server.request("tools/call", call);
    // Only the running guest sends progress.
    server.notification("notifications/progress");
    let new = source(&program, "impostor", wants, &impostor_as("the new version"));
    install(&program, &new);
    assert_eq!(server.text("impostor.version", json!({})), "the new version");
    // The new version shares the stored data, and thereby releases the waiting call.
    assert_eq!(server.text("impostor.release", json!({})), "the new version");
    let finished = server.answer(waiting);
    assert_eq!(finished["result"]["content"][0]["text"], "the old version");
    assert_eq!(server.text("impostor.wait", json!({})), "the new version");
}

#[test]
fn a_large_component_that_changed_delays_no_other_plugin() {
    let program = Program::new();
    install(&program, &plugin(&program));
    // A custom section of the maximum size: its length takes five bytes, its name two.
    let size = 120 * 1024 * 1024_u32;
    let mut bytes = component();
    bytes.push(0);
    bytes.extend((0..5).map(|at| (size >> (7 * at) & 0x7f) as u8 | if at < 4 { 0x80 } else { 0 }));
    bytes.extend([1, b'x']);
    bytes.resize(bytes.len() + size as usize - 2, 7);
    install(&program, &source(&program, "large", "", &bytes));
    let mut server = program.start();
    server.initialize("2025-11-25");
    let names = listed(&mut server);
    assert!(names.contains(&"large.divide".to_owned()), "{names:?}");
    let divide = json!({"name": "kinds.divide", "arguments": {"a": 1, "b": 1}});
    server.call("kinds.divide", json!({"a": 1, "b": 1}));
    let file = program.home().join(".scorpiox/plugins/large/c.wasm");
    let touched = fs::File::options().append(true).open(file).expect("the component");
    touched.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("sets");
    let list = server.request("tools/list", json!({}));
    let call = server.request("tools/call", divide);
    let first = server.next().expect("an answer");
    assert_eq!(first["id"], call, "the call waited for the list: {first}");
    assert!(server.answer(list)["result"]["tools"].is_array());
}
