//! Tests of `wasi:config`, `wasi:logging` and `wasi:keyvalue`.

use scorpiox_tests::{Program, Started};
use serde_json::json;

use super::{super::with, try_of};

const KEEPS: &str = "[capabilities.store]\nwhy = \"keeps notes\"\n";

fn keeper(program: Program, manifest: &str) -> (Program, Started) {
    with(program, "keeper", manifest)
}

#[test]
fn settings_are_those_of_the_manifest() {
    let manifest = "[config]\ncity = \"Köln\"\nunits = \"metric\"\n";
    let (program, mut server) = keeper(Program::new(), manifest);
    let mut go = |function: &str, arguments| try_of(&mut server, "keeper", function, arguments);
    assert_eq!(go("setting", json!({"name": "city"})), Ok(json!("Köln")));
    assert_eq!(go("setting", json!({"name": "HOME"})), Ok(json!(null)));
    assert_eq!(go("settings", json!({})), Ok(json!([["city", "Köln"], ["units", "metric"]])));
    let (_, shown, _) = program.run(&["plugin", "show", "keeper"]);
    assert!(shown.contains("\nIts settings\n") && shown.contains("city = \"Köln\""), "{shown}");
}

#[test]
fn granted_variables_are_settings_as_well() {
    let manifest = "[config]\ncity = \"Ulm\"\n[capabilities.env]\nwhy = \"greets\"\nnames = [\"GREETING\", \"ABSENT\"]\n";
    let program = Program::new().with("GREETING", "hello").with("OTHER", "no");
    let (_program, mut server) = keeper(program, manifest);
    let mut go = |function: &str, arguments| try_of(&mut server, "keeper", function, arguments);
    assert_eq!(go("setting", json!({"name": "GREETING"})), Ok(json!("hello")));
    assert_eq!(go("setting", json!({"name": "OTHER"})), Ok(json!(null)));
    assert_eq!(go("settings", json!({})), Ok(json!([["GREETING", "hello"], ["city", "Ulm"]])));
}

#[test]
fn lines_go_to_the_operators_log_up_to_a_bound() {
    let program = Program::new().with("SCORPIOX_LOG", "warn");
    let (program, _server) = keeper(program, "");
    let arguments = json!({"context": "parser", "message": "odd\u{1b}[31m\nline", "times": 150}).to_string();
    let (status, out, said) = program.run(&["call", "keeper.log", &arguments]);
    assert!(status.success(), "{out}{said}");
    let lines =
        said.lines().filter(|line| line.starts_with(" WARN plugin/keeper: parser: odd [31m line ")).count();
    assert_eq!(lines, 100, "{said}");
}

#[test]
fn buckets_keep_what_a_successful_call_stores() {
    let (program, mut server) = keeper(Program::new(), KEEPS);
    let mut go = |function: &str, arguments| try_of(&mut server, "keeper", function, arguments);
    let at = |bucket: &str, key: &str| json!({"bucket": bucket, "key": key});
    assert_eq!(go("fetch", at("notes", "a")), Ok(json!(null)));
    go("put", json!({"bucket": "notes", "key": "a", "value": "one"})).expect("stored");
    go("put", json!({"bucket": "", "key": "a", "value": "other"})).expect("stored");
    assert_eq!(go("fetch", at("notes", "a")), Ok(json!("one")));
    assert_eq!(go("fetch", at("", "a")), Ok(json!("other")));
    assert_eq!(go("put-in-vain", at("notes", "b")), Err("in vain".into()));
    assert_eq!(go("fetch", at("notes", "b")), Ok(json!(null)));
    assert_eq!(go("add", json!({"bucket": "notes", "key": "n", "delta": 3})), Ok(json!(3)));
    assert_eq!(go("add", json!({"bucket": "notes", "key": "n", "delta": 4})), Ok(json!(7)));
    assert_eq!(go("remove", at("notes", "a")), Ok(json!(true)));
    assert_eq!(go("keys", json!({"bucket": "notes"})), Ok(json!([["n"], 1])));
    // No bucket name reaches into another bucket.
    assert_eq!(go("keys", json!({"bucket": "note"})), Ok(json!([[], 1])));
    assert_eq!(go("fetch", at("notes/n", "")), Ok(json!(null)));
    let long = go("fetch", at(&"x".repeat(100), "a")).expect_err("too long");
    assert!(long.contains("NoSuchStore"), "{long}");
    drop(server);
    let mut again = program.start();
    again.initialize("2025-11-25");
    assert_eq!(try_of(&mut again, "keeper", "fetch", at("", "a")), Ok(json!("other")));
}

#[test]
fn many_keys_come_in_pages() {
    let (_program, mut server) = keeper(Program::new(), KEEPS);
    let mut go = |function: &str, arguments| try_of(&mut server, "keeper", function, arguments);
    go("put-many", json!({"bucket": "b", "count": 2500})).expect("stored");
    let all = go("keys", json!({"bucket": "b"})).expect("keys");
    let keys = all[0].as_array().expect("keys");
    assert_eq!((keys.len(), &all[1]), (2500, &json!(3)));
    assert_eq!((&keys[0], &keys[2499]), (&json!("key000000"), &json!("key002499")));
}

#[test]
fn without_a_grant_there_are_no_buckets() {
    let (_program, mut server) = keeper(Program::new(), "");
    let refused =
        try_of(&mut server, "keeper", "fetch", json!({"bucket": "", "key": "a"})).expect_err("refused");
    assert!(refused.contains("AccessDenied"), "{refused}");
}
