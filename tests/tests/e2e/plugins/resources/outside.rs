//! Tests of resources that refer to external objects: the permissions of the current call apply.

use scorpiox_tests::Program;
use serde_json::json;

use super::{error, given, holder};
use crate::plugins::wasi::requests::{manifest, program, site};

const WRITES: &str = "[capabilities.files]\nwrite = [\"workspace\"]\nwhy = \"writes\"\n";

#[test]
fn a_file_that_is_open_is_still_open_in_the_next_call() {
    let (program, mut server) = holder(Program::new(), WRITES);
    let file = given(&mut server, "outside.file.open", json!({ "path": "a.txt", "write": true }));
    assert_eq!(file, "file-1");
    assert_eq!(given(&mut server, "outside.file.write", json!({ "self": file, "text": "one" })), 3);
    assert_eq!(given(&mut server, "outside.file.write", json!({ "self": file, "text": "two" })), 3);
    assert_eq!(given(&mut server, "outside.file.read", json!({ "self": file })), "two");
    let text = std::fs::read_to_string(program.workspace().join("a.txt")).expect("a file");
    assert_eq!(text, "two");
    // The instance's open directories are reused.
    let other = given(&mut server, "outside.file.open", json!({ "path": "a.txt", "write": false }));
    assert_eq!(given(&mut server, "outside.file.read", json!({ "self": other })), "two");
    let closed = error(&mut server, "outside.file.open", json!({ "path": ".mcp.json", "write": true }));
    assert!(closed.starts_with("not-permitted") && closed.contains("This server refused"), "{closed}");
}

#[test]
fn while_a_plan_is_made_an_open_file_is_not_written() {
    let (program, mut server) = holder(Program::new(), WRITES);
    let file = given(&mut server, "outside.file.open", json!({ "path": "a.txt", "write": true }));
    server.text("PlanMode", json!({ "action": "enter", "goal": "look first" }));
    let gone = error(&mut server, "outside.file.write", json!({ "self": file, "text": "x" }));
    assert!(gone.contains("ended when a plan began or ended, which changes what it may do"), "{gone}");
    let closed = error(&mut server, "outside.file.open", json!({ "path": "b.txt", "write": true }));
    assert!(!closed.is_empty() && !program.workspace().join("b.txt").exists(), "{closed}");
    let read = given(&mut server, "outside.file.open", json!({ "path": "a.txt", "write": false }));
    let denied = error(&mut server, "outside.file.write", json!({ "self": read, "text": "x" }));
    assert!(!denied.is_empty(), "{denied}");
    assert_eq!(std::fs::read_to_string(program.workspace().join("a.txt")).expect("a file"), "");
}

#[test]
fn an_error_takes_back_what_its_own_call_stored() {
    let (_program, mut server) = holder(Program::new(), "");
    let notes = given(&mut server, "outside.notes.new", json!({}));
    let put = |key: &str, after: &str| json!({ "self": notes, "key": key, "value": key, "after": after });
    server.text("holder.outside.notes.put", put("kept", "well"));
    let failed = error(&mut server, "outside.notes.put", put("failed", "fail"));
    assert_eq!(failed, "it failed on purpose");
    error(&mut server, "outside.notes.put", put("trapped", "trap"));
    let notes = given(&mut server, "outside.notes.new", json!({}));
    for (key, expected) in [("kept", json!("kept")), ("failed", json!(null)), ("trapped", json!(null))] {
        assert_eq!(
            given(&mut server, "outside.notes.get", json!({ "self": notes, "key": key })),
            expected,
            "{key}"
        );
    }
}

#[test]
fn a_request_ends_with_the_call_that_began_it() {
    let (site, authority) = site();
    let (_program, mut server) = holder(program(""), &manifest(&authority));
    let silent = json!({ "authority": authority, "path": "/silence" });
    let request = given(&mut server, "outside.request.begin", silent);
    let ended = error(&mut server, "outside.request.answer", json!({ "self": request }));
    assert!(ended.starts_with("ErrorCode::ConnectionTerminated"), "{ended}");
    assert!(site.count("/silence") <= 1);
    // The instance survives, and the permission for requests is checked again in the next call.
    let again = json!({ "authority": authority, "path": "/" });
    let request = given(&mut server, "outside.request.begin", again);
    assert_eq!(request, "request-2");
}
