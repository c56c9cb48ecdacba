//! Tests of firing callbacks: recipients, delivery, repetition, and restarts.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_tests::program::modern;
use scorpiox_tests::schema::Schema;
use scorpiox_tests::store::{self, WriteLock};
use scorpiox_tests::{Next, Program, Started};
use serde_json::{Value, json};

const NEWEST: &str = "2025-11-25";
const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", NEWEST];
const MESSAGE: &str = "notifications/message";
const CHANNEL: &str = "notifications/claude/channel";

fn started(program: &Program) -> Started {
    let mut server = program.start();
    server.initialize(NEWEST);
    server
}

fn set(server: &mut Started, message: &str, delay: u32, repeats: i32) {
    let arguments =
        json!({ "action": "set", "message": message, "delay_seconds": delay, "repeat_count": repeats });
    server.text("SetCallback", arguments);
}

/// Makes a call that is unrelated to callbacks.
fn status(server: &mut Started) -> Value {
    server.call("PlanMode", json!({ "action": "status" }))
}

/// Returns the callback messages at the end of a result's text, each after a blank line.
fn blocks(result: &Value) -> Vec<String> {
    let content = result["content"].as_array().expect("content");
    assert_eq!(content.len(), 1, "one text: {result}");
    let text = content[0]["text"].as_str().expect("text");
    text.split("\n\n[Callback ").skip(1).map(|rest| format!("[Callback {rest}")).collect()
}

/// Removes the time from the text of a fired callback.
fn without_time(text: &str) -> String {
    let time = regex::Regex::new(r" at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ,").expect("a pattern");
    assert!(time.is_match(text), "no time: {text}");
    time.replace(text, ",").into_owned()
}

/// Makes calls until a result carries messages, and returns them. Asserts that no notification arrives.
fn message_with_a_result(server: &mut Started, mut call: impl FnMut(&mut Started) -> Value) -> Vec<String> {
    let start = Instant::now();
    loop {
        server.is_silent_for(Duration::from_millis(200));
        let found = blocks(&call(server));
        if !found.is_empty() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "no message came");
    }
}

#[test]
fn a_fire_is_a_notification_at_once_and_a_part_of_the_next_result() {
    thread::scope(|scope| {
        for revision in HANDSHAKES {
            scope.spawn(move || fires_in(revision));
        }
    });
}

fn fires_in(revision: &str) {
    let program = Program::new();
    let mut server = program.start();
    server.initialize(revision);
    set(&mut server, "Look at the build", 1, 1);
    let told = server.next().expect("a notification");
    assert_eq!(told["method"], MESSAGE, "{revision}: {told}");
    Schema::of(revision).check_notification(&told);
    let params = &told["params"];
    assert_eq!((&params["level"], &params["logger"]), (&json!("info"), &json!("callback")), "{revision}");
    assert_eq!(params["data"]["callback_id"], 0, "{revision}");
    let text = params["data"]["message"].as_str().expect("text");
    assert_eq!(without_time(text), "[Callback 0 fired, last time] Look at the build", "{revision}");
    assert_eq!(blocks(&status(&mut server)), [text], "{revision}");
    assert_eq!(blocks(&status(&mut server)), [""; 0], "{revision}: a second time");
    assert_eq!(server.text("SetCallback", json!({ "action": "list" })), "No active callbacks.");
}

#[test]
fn a_result_that_is_an_error_brings_the_message_too() {
    let program = Program::new();
    let mut server = started(&program);
    set(&mut server, "M", 1, 1);
    server.notification(MESSAGE);
    let unknown = server.ask("tools/call", json!({ "name": "Bush", "arguments": {} }));
    assert!(unknown.get("error").is_some(), "{unknown}");
    let failed = server.call("PlanMode", json!({ "action": "dance" }));
    assert_eq!(failed["isError"], true);
    assert_eq!(blocks(&failed).len(), 1, "{failed}");
}

#[test]
fn a_list_shows_the_message_that_waits_and_brings_it() {
    let program = Program::new();
    let mut server = started(&program);
    set(&mut server, "Look at the build", 1, 1);
    server.notification(MESSAGE);
    let list = server.call("SetCallback", json!({ "action": "list" }));
    let text = list["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("Fired, and coming with this or the next tool result (1):"), "{text}");
    assert_eq!(list["structuredContent"]["waiting"][0]["callback_id"], 0, "{list}");
    assert_eq!(blocks(&list).len(), 1, "{list}");
    assert_eq!(server.text("SetCallback", json!({ "action": "list" })), "No active callbacks.");
}

#[test]
fn without_a_handshake_the_message_comes_with_a_result_alone() {
    let program = Program::new();
    let mut server = program.start();
    let call = |server: &mut Started, tool: &str, arguments: Value| {
        server.ask("tools/call", modern(json!({ "name": tool, "arguments": arguments })))["result"].clone()
    };
    let arguments = json!({ "action": "set", "message": "M", "delay_seconds": 1, "repeat_count": 1 });
    call(&mut server, "SetCallback", arguments);
    let found =
        message_with_a_result(&mut server, |server| call(server, "PlanMode", json!({ "action": "status" })));
    assert_eq!(without_time(&found[0]), "[Callback 0 fired, last time] M");
}

#[test]
fn a_log_level_above_info_keeps_the_notification_but_not_the_block() {
    let program = Program::new();
    let mut server = started(&program);
    server.ask("logging/setLevel", json!({ "level": "error" }));
    set(&mut server, "M", 1, 1);
    assert_eq!(message_with_a_result(&mut server, status).len(), 1);
    server.ask("logging/setLevel", json!({ "level": "info" }));
    set(&mut server, "M", 1, 1);
    server.notification(MESSAGE);
}

#[test]
fn a_session_with_a_channel_is_told_there_as_well() {
    let program = Program::new();
    let mut server = program.start();
    server.initialize_with(NEWEST, json!({ "experimental": { "claude/channel": {} } }));
    set(&mut server, "Look at the build", 1, 1);
    let channel = server.next().expect("a notification");
    assert_eq!(channel["method"], CHANNEL, "{channel}");
    let log = server.next().expect("a notification");
    assert_eq!(log["method"], MESSAGE, "{log}");
    let text = &log["params"]["data"]["message"];
    assert_eq!(channel["params"], json!({ "content": text, "meta": { "callback_id": "0" } }));
    assert_eq!(json!(blocks(&status(&mut server))), json!([text]));
}

#[test]
fn the_server_declares_a_channel_in_every_revision_with_a_handshake_and_uses_it_where_it_is_known() {
    for revision in HANDSHAKES {
        let hello = started(&Program::new()).introduce("tests", revision, json!({}));
        assert_eq!(hello["capabilities"]["experimental"]["claude/channel"], json!({}), "{hello}");
    }
    let program = Program::new();
    let mut server = program.start();
    let discovered = server.ask("server/discover", modern(json!({})));
    assert!(discovered["result"]["capabilities"].get("experimental").is_none(), "{discovered}");
    server.introduce("claude-code", NEWEST, json!({}));
    set(&mut server, "M", 1, 1);
    assert_eq!(server.next().expect("a notification")["method"], CHANNEL);
}

#[test]
fn messages_come_with_as_many_results_as_they_need() {
    let program = Program::as_shipped().with_commands();
    let mut server = started(&program);
    for slot in 0..8 {
        set(&mut server, &format!("{slot}{}", "x".repeat(2047)), 1, 1);
    }
    for _ in 0..8 {
        server.notification(MESSAGE);
    }
    // A long result carries one message, and a short one as many as fit.
    let long = server.call("Bash", json!({ "command": "seq 1 20000" }));
    let mut brought = vec![blocks(&long), blocks(&status(&mut server)), blocks(&status(&mut server))];
    assert_eq!(brought.iter().map(Vec::len).collect::<Vec<_>>(), [1, 7, 0], "{brought:?}");
    let all: Vec<_> = brought.drain(..).flatten().collect();
    for slot in 0..8 {
        let whole = format!("{slot}{}", "x".repeat(2047));
        assert_eq!(all.iter().filter(|message| message.ends_with(&whole)).count(), 1, "{slot}");
    }
}

#[test]
fn what_the_client_is_told_at_once_is_as_clean_as_a_result() {
    let program = Program::new();
    let mut server = program.start();
    server.initialize_with(NEWEST, json!({ "experimental": { "claude/channel": {} } }));
    set(&mut server, "a\u{1b}[31mred\u{1b}[0m\u{7}", 1, 1);
    let channel = server.notification(CHANNEL)["params"]["content"].clone();
    let log = server.notification(MESSAGE)["params"]["data"]["message"].clone();
    let block = blocks(&status(&mut server)).remove(0);
    assert!(block.ends_with("ared"), "{block:?}");
    assert_eq!(log, *block, "the log message has what the block has not");
    assert_eq!(channel, *block, "the channel has what the block has not");
}

#[test]
fn there_are_eight_slots_and_the_ninth_callback_is_refused() {
    let program = Program::new();
    let mut server = started(&program);
    for slot in 0..8 {
        set(&mut server, &format!("number {slot}"), 3600, -1);
    }
    let arguments = json!({ "action": "set", "message": "ninth", "delay_seconds": 1 });
    let result = server.call("SetCallback", arguments);
    assert_eq!(result["isError"], true);
    assert_eq!(result["content"][0]["text"], "Error: all callback slots full (max 8)");
    assert_eq!(server.text("SetCallback", json!({ "action": "cancel" })), "Cancelled 8 callbacks.");
}

#[test]
fn fires_that_nobody_was_told_of_are_one_message() {
    let program = Program::new();
    let mut server = started(&program);
    set(&mut server, "Look at the build", 1, 3);
    set(&mut server, "Something else", 3600, 1);
    for left in ["2 left", "1 left", "last time"] {
        let told = server.notification(MESSAGE);
        assert!(told["params"]["data"]["message"].as_str().is_some_and(|text| text.contains(left)), "{told}");
    }
    let told = status(&mut server);
    let blocks = blocks(&told);
    let once = "[Callback 0 fired, last time, the last of 3 times] Look at the build";
    assert_eq!(blocks.iter().map(|block| without_time(block)).collect::<Vec<_>>(), [once], "{told}");
    let next = status(&mut server);
    assert_eq!(super::callbacks::blocks(&next), [""; 0]);
}

#[test]
fn after_a_kill_a_late_callback_fires_once_and_says_what_was_missed() {
    let program = Program::new();
    let mut server = started(&program);
    set(&mut server, "Look at the build", 60, 5);
    server.kill();
    server.wait();
    // Simulates a computer that slept for 200 s: the callback is 140 s late.
    store::change(&program, "UPDATE timer SET due = due - 200000");
    let mut server = started(&program);
    let told = server.notification(MESSAGE);
    let text = told["params"]["data"]["message"].as_str().expect("text").to_owned();
    assert_eq!(
        without_time(&text),
        "[Callback 0 fired, 4 left, 2 earlier fires were missed] Look at the build"
    );
    server.kill();
    server.wait();
    // The message is still pending, because it was not attached to a result.
    let mut server = started(&program);
    assert!(server.is_silent_for(Duration::from_millis(200)), "fired again");
    let list = server.call("SetCallback", json!({ "action": "list" }));
    let first = list["content"][0]["text"].as_str().expect("text");
    assert!(first.starts_with("Active callbacks (1/8):"), "{first}");
    assert_eq!(list["structuredContent"]["callbacks"][0]["left"], 4, "{list}");
    assert_eq!(blocks(&list), [text]);
    assert_eq!(blocks(&status(&mut server)), [""; 0], "a second time");
}

#[test]
fn a_callback_outlives_the_server_that_set_it() {
    let program = Program::new();
    let mut witness = started(&program);
    let mut server = started(&program);
    set(&mut server, "M", 1, 1);
    server.kill();
    server.wait();
    let told = witness.notification(MESSAGE);
    assert_eq!(told["params"]["data"]["callback_id"], 0, "{told}");
    assert_eq!(blocks(&status(&mut witness)).len(), 1);
}

#[test]
fn of_two_servers_one_delivers_each_fire() {
    const FIRES: usize = 8 * 3;
    let program = Program::new();
    let mut servers = [started(&program), started(&program)];
    for slot in 0..8 {
        set(&mut servers[slot % 2], &format!("slot {slot}"), 1, 3);
    }
    let mut attached = Vec::new();
    let start = Instant::now();
    let told = |servers: &[Started; 2]| {
        let all = servers.iter().flat_map(|server| &server.received);
        let messages = all.filter(|message| message["method"] == MESSAGE);
        let texts = messages.map(|message| message["params"]["data"]["message"].as_str().expect("text"));
        texts.map(str::to_owned).collect::<Vec<_>>()
    };
    while told(&servers).len() < FIRES || attached.len() < FIRES {
        for server in &mut servers {
            server.next_within(Duration::from_millis(30));
            attached.extend(blocks(&status(server)));
        }
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "of {FIRES} fires {} were told and {} attached",
            told(&servers).len(),
            attached.len()
        );
    }
    for server in &mut servers {
        assert_eq!(server.next_within(Duration::from_millis(300)), Next::Nothing, "one fire too many");
        attached.extend(blocks(&status(server)));
    }
    let count = |texts: &[String]| {
        let mut counts = BTreeMap::new();
        for text in texts {
            *counts.entry(text.clone()).or_insert(0) += 1;
        }
        counts
    };
    let (told, attached) = (count(&told(&servers)), count(&attached));
    assert_eq!(told.len(), FIRES, "{told:#?}");
    assert!(told.values().all(|count| *count == 1), "told twice: {told:#?}");
    assert_eq!(attached, told);
}

#[test]
fn a_message_comes_with_the_next_result_of_any_server_of_the_workspace() {
    let program = Program::new();
    let (mut one, mut other) = (started(&program), started(&program));
    status(&mut other);
    set(&mut one, "M", 1, 1);
    one.notification(MESSAGE);
    assert_eq!(blocks(&status(&mut other)).len(), 1, "the other server does not know of it");
    assert_eq!(blocks(&status(&mut one)), [""; 0], "a second time");
}

#[test]
fn nothing_fires_while_calls_are_in_flight() {
    const CALLS: usize = 16;
    let program = Program::new();
    let mut server = started(&program);
    set(&mut server, "M", 1, 1);
    let lock = WriteLock::hold(&program);
    // Blocked calls and the timer wait for the same lock. With this many calls, the timer would get the lock
    // before the last call if it tried.
    for call in 0..CALLS {
        let arguments = json!({ "action": "create", "query": "", "text": format!("task {call}") });
        let meta = json!({ "progressToken": call });
        server.request("tools/call", json!({ "name": "TaskManager", "arguments": arguments, "_meta": meta }));
        server.notification("notifications/progress");
    }
    assert!(server.is_silent_for(Duration::from_millis(1300)), "until after the callback is due");
    lock.release();
    for _ in 0..CALLS {
        let message = server.next().expect("an answer");
        assert!(message.get("result").is_some(), "fired during a call: {message}");
        assert_eq!(blocks(&message["result"]), [""; 0], "fired during a call");
    }
    server.notification(MESSAGE);
    assert_eq!(blocks(&status(&mut server)).len(), 1);
}

#[test]
fn nothing_fires_while_a_batch_is_in_flight() {
    let program = Program::new();
    let mut server = program.start();
    server.initialize("2025-03-26");
    set(&mut server, "M", 1, 1);
    let lock = WriteLock::hold(&program);
    let call = |id: u32| {
        let arguments = json!({ "action": "create", "query": "", "text": format!("task {id}") });
        let params = json!({ "name": "TaskManager", "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    server.send(&(1000..2000).map(call).collect());
    assert!(server.is_silent_for(Duration::from_millis(1300)), "until after the callback is due");
    lock.release();
    let first = server.next().expect("the answers");
    assert!(first.is_array(), "fired during a batch: {first}");
    server.notification(MESSAGE);
}

#[test]
fn a_cancelled_call_takes_no_message_with_it() {
    let program = Program::new();
    let mut server = started(&program);
    set(&mut server, "M", 1, 1);
    server.notification(MESSAGE);
    let lock = WriteLock::hold(&program);
    let arguments = json!({ "action": "create", "query": "", "text": "never made" });
    let meta = json!({ "progressToken": 1 });
    let id =
        server.request("tools/call", json!({ "name": "TaskManager", "arguments": arguments, "_meta": meta }));
    server.notification("notifications/progress");
    server.notify("notifications/cancelled", json!({ "requestId": id }));
    server.ask("ping", json!({}));
    lock.release();
    assert!(server.is_silent_for(Duration::from_millis(300)), "a cancelled call is not answered");
    assert_eq!(blocks(&status(&mut server)).len(), 1, "the message went with the answer that nobody got");
}
