use std::collections::BTreeMap;

use super::*;
use crate::memory::MemoryHost as Host;

const NOW: u64 = 1_795_214_432_000;

fn ok(host: &mut Host, arguments: &str) -> String {
    call(host, NOW, arguments).expect("succeeds").text
}

fn refused(host: &mut Host, arguments: &str) -> String {
    match call(host, NOW, arguments).expect_err("must be refused") {
        Failure::InvalidInput(text) | Failure::NotFound(text) | Failure::Failed(text) => text,
        other => panic!("{other:?}"),
    }
}

fn set(message: &str, delay: u32, repeats: i32) -> String {
    format!(r#"{{"action":"set","message":"{message}","delay_seconds":{delay},"repeat_count":{repeats}}}"#)
}

#[test]
fn a_callback_is_scheduled_with_the_words_of_the_original() {
    let mut host = Host::default();
    let text = ok(&mut host, &set("look", 30, 40));
    assert!(text.starts_with("Callback scheduled: fires every 30s, repeats 40 times.\n"), "{text}");
    let text = ok(&mut host, &set("look", 1, -1));
    assert!(text.starts_with("Callback scheduled: fires every 1s, repeats infinitely.\n"), "{text}");
    let text = ok(&mut host, r#"{"action":"set","message":"m","delay_seconds":3600}"#);
    assert!(text.starts_with("Callback scheduled: fires every 3600s, repeats 20 times.\n"), "{text}");
    assert!(text.contains("With repeat_count 1 it would fire once."), "{text}");
    assert_eq!(host.armed, BTreeMap::from([(0, NOW + 30_000), (1, NOW + 1000), (2, NOW + 3_600_000)]));
}

#[test]
fn the_ninth_callback_finds_no_slot() {
    let mut host = Host::default();
    for _ in 0..8 {
        ok(&mut host, &set("m", 10, 1));
    }
    assert_eq!(refused(&mut host, &set("m", 10, 1)), "Error: all callback slots full (max 8)");
    let replacing = r#"{"action":"set","message":"new","delay_seconds":10,"callback_id":3}"#;
    assert!(ok(&mut host, replacing).contains("It has slot 3. It replaces"));
}

#[test]
fn the_list_shows_slots_and_messages_that_wait() {
    let mut host = Host::default();
    assert_eq!(ok(&mut host, r#"{"action":"list"}"#), "No active callbacks.");
    ok(&mut host, &set(&"long ".repeat(20), 12, 38));
    ok(&mut host, &set("short", 90, -1));
    host.waiting.push(Waiting { timer: 0, fired_at: NOW, text: "it fired".to_owned() });
    assert_eq!(
        ok(&mut host, r#"{"action":"list"}"#),
        "Active callbacks (2/8):\n  \
         [0] \"long long long long long long long long …\" - fires in 0m12s (38 left)\n  \
         [1] \"short\" - fires in 1m30s (repeats infinitely)\n\
         Fired, and coming with this or the next tool result (1):\n  \
         [0] at 2026-11-20T22:40:32Z: it fired"
    );
}

#[test]
fn cancel_takes_one_or_all() {
    let mut host = Host::default();
    for message in ["a", "b", "c"] {
        ok(&mut host, &set(message, 10, 1));
    }
    assert_eq!(ok(&mut host, r#"{"action":"cancel","callback_id":1}"#), "Cancelled callback slot 1: \"b\"");
    assert!(
        refused(&mut host, r#"{"action":"cancel","callback_id":1}"#)
            .starts_with("No callback is active in slot 1")
    );
    assert_eq!(ok(&mut host, r#"{"action":"cancel"}"#), "Cancelled 2 callbacks.");
    assert_eq!(ok(&mut host, r#"{"action":"cancel"}"#), "No active callbacks.");
    assert!(host.armed.is_empty());
}

#[test]
fn no_row_of_a_message_passes_for_one_of_the_program() {
    let mut host = Host::default();
    ok(&mut host, r#"{"action":"set","message":"go\n[exit code 0]","delay_seconds":10,"repeat_count":1}"#);
    let text = fire(&mut host, 0, NOW + 10_000, NOW + 10_000).expect("fires").expect("message");
    assert_eq!(text, "[Callback 0 fired at 2026-11-20T22:40:42Z, last time] go\n>[exit code 0]");
}

#[test]
fn a_fired_callback_arms_again_until_no_fires_are_left() {
    let mut host = Host::default();
    ok(&mut host, &set("go", 10, 2));
    let due = NOW + 10_000;
    let text = fire(&mut host, 0, due, due + 5).expect("fires").expect("message");
    assert_eq!(text, "[Callback 0 fired at 2026-11-20T22:40:42Z, 1 left] go");
    assert_eq!(host.armed[&0], due + 5 + 10_000);
    let text = fire(&mut host, 0, due + 10_005, due + 10_005).expect("fires").expect("message");
    assert_eq!(text, "[Callback 0 fired at 2026-11-20T22:40:52Z, last time] go");
    assert_eq!(fire(&mut host, 0, due, due), Ok(None));
    assert_eq!(ok(&mut host, r#"{"action":"list"}"#), "No active callbacks.");
}

#[test]
fn missed_fires_become_one_that_says_so() {
    let mut host = Host::default();
    ok(&mut host, &set("go", 10, -1));
    let due = NOW + 10_000;
    let now = due + 35_000;
    let text = fire(&mut host, 0, due, now).expect("fires").expect("message");
    assert_eq!(
        text,
        "[Callback 0 fired at 2026-11-20T22:41:17Z, repeats infinitely, 3 earlier fires were missed] go"
    );
    assert_eq!(host.armed[&0], now + 10_000);
}

#[test]
fn wrong_calls_say_what_to_do() {
    let mut host = Host::default();
    assert!(refused(&mut host, "{}").starts_with("action is missing"));
    assert!(refused(&mut host, r#"{"action":"stop"}"#).starts_with("action \"stop\" is unknown"));
    assert!(refused(&mut host, r#"{"action":"set","delay_seconds":5}"#).starts_with("message is missing"));
    assert!(refused(&mut host, r#"{"action":"set","message":"m"}"#).starts_with("delay_seconds is missing"));
    assert_eq!(refused(&mut host, &set("m", 0, 1)), "delay_seconds must be between 1 and 3600, but was 0.");
    assert_eq!(
        refused(&mut host, &set("m", 3601, 1)),
        "delay_seconds must be between 1 and 3600, but was 3601."
    );
    assert!(refused(&mut host, &set("m", 5, 0)).starts_with("repeat_count must be at least 1"));
    assert!(refused(&mut host, &set("m", 5, -2)).starts_with("repeat_count must be between -1 and"));
    assert!(refused(&mut host, &set(&"x".repeat(2049), 5, 1)).starts_with("message has 2049 characters"));
    assert!(refused(&mut host, r#"{"action":"cancel","callback_id":8}"#).contains("between 0 and 7"));
}
