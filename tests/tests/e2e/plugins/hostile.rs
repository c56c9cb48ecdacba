//! Tests that a misbehaving plugin ends a single call and affects nothing else.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{refused, with_kinds};

#[test]
fn each_limit_ends_the_call_with_its_name() {
    let (_program, mut server) = with_kinds("[limits]\ncpu_seconds = 1\nmemory_mib = 16\noutput_kib = 64\n");
    for (tool, arguments, expected) in [
        ("spin", json!({}), "used up its 1 s of processor time"),
        ("grow", json!({}), "used up its 16 MiB of memory"),
        ("recurse", json!({"depth": 100_000_000}), "out of bounds memory access"),
        ("flood", json!({"bytes": 100_000}), "at most 65536 are allowed"),
        ("flood", json!({"bytes": 100_000_000}), "used up its 16 MiB of memory"),
        ("numbers", json!({"count": 10_000_000}), "passed more than 48 MiB"),
        ("abort", json!({}), "failed internally"),
    ] {
        let begun = Instant::now();
        let result = server.call(&format!("kinds.hostile.{tool}"), arguments);
        let text = refused(&result);
        assert!(text.contains(expected), "{tool}: {text}");
        assert!(text.starts_with("kinds.hostile."), "{text}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{tool}: {:?}", begun.elapsed());
        assert_eq!(
            server.call("kinds.divide", json!({"a": 8, "b": 2}))["structuredContent"],
            json!({"result": 4})
        );
    }
}

#[test]
fn a_result_of_100_mb_ends_the_call_however_much_memory_it_has() {
    let (_program, mut server) = with_kinds("[limits]\nmemory_mib = 256\noutput_kib = 8192\n");
    for (tool, arguments, expected) in [
        ("flood", json!({"bytes": 9_000_000}), "at most 8388608 are allowed"),
        ("flood", json!({"bytes": 100_000_000}), "passed more than 48 MiB"),
        ("numbers", json!({"count": 100_000_000}), "passed more than 48 MiB"),
    ] {
        let result = server.call(&format!("kinds.hostile.{tool}"), arguments);
        assert!(refused(&result).contains(expected), "{tool}: {result:.300}");
    }
}

#[test]
fn more_calls_at_once_than_approved_are_refused() {
    let (_program, mut server) = with_kinds("[limits]\ncpu_seconds = 2\ncalls = 2\n");
    for _ in 0..3 {
        server.request("tools/call", json!({"name": "kinds.hostile.spin", "arguments": {}}));
    }
    let texts: Vec<String> = (0..3)
        .map(|_| server.next().expect("an answer"))
        .map(|answer| refused(&answer["result"]).to_owned())
        .collect();
    let busy = texts.iter().filter(|text| text.contains("2 calls of this plugin are running")).count();
    assert_eq!(busy, 1, "{texts:?}");
}

#[test]
fn a_cancelled_call_stops() {
    let (_program, mut server) = with_kinds("[limits]\ncpu_seconds = 60\n");
    let id = server.request("tools/call", json!({"name": "kinds.hostile.spin", "arguments": {}}));
    server.notify("notifications/cancelled", json!({ "requestId": id }));
    let begun = Instant::now();
    server.close_input();
    let (status, _) = server.wait();
    assert!(status.success() && begun.elapsed() < Duration::from_secs(5), "{status} {:?}", begun.elapsed());
}
