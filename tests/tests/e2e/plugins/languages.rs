//! What `plugin new` writes builds and runs as it comes, in each language.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use scorpiox_tests::Program;
use serde_json::json;

use super::{hash_of, listed, refused};

/// What the languages' tools download and compile, kept from run to run.
fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/templates")
}

/// `make -C FOLDER`, one at a time: what the languages' tools install is shared.
pub(super) fn make(folder: &Path) {
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let output = Command::new("make")
        .arg("-C")
        .arg(folder)
        .env("CARGO_TARGET_DIR", tools().join("rust"))
        .env("VENV", tools().join("python"))
        .env("PIP_CACHE_DIR", tools().join("pip"))
        .env("npm_config_cache", tools().join("npm"))
        // Of the make that runs the tests.
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .output()
        .expect("make runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// From nothing to answers of the tool.
fn comes_alive(language: &str) {
    let program = Program::new();
    let (made, out, err) = program.run(&["plugin", "new", "--lang", language, "demo"]);
    assert!(made.success() && out.contains("make -C demo"), "{out}{err}");
    let folder = program.workspace().join("demo");
    make(&folder);
    let (_, out, err) = program.run(&["plugin", "add", "demo"]);
    assert!(err.is_empty() && out.contains("nothing: it can compute, and say what it found"), "{out}{err}");
    let hash = hash_of(&program, "demo");
    let (added, out, err) = program.run(&["plugin", "add", "demo", "--yes", &hash]);
    assert!(added.success(), "{out}{err}");
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert_eq!(listed(&mut server), ["demo.count"]);
    let tools = server.ask("tools/list", json!({}));
    let tool = tools["result"]["tools"]
        .as_array()
        .and_then(|tools| tools.iter().find(|tool| tool["name"] == "demo.count"))
        .expect("the tool");
    let comment = "Counts the words of a text, or its lines or characters, and finds the longest of them.";
    assert_eq!(tool["description"], comment);
    assert_eq!(tool["inputSchema"]["required"], json!(["text"]));
    for (arguments, expected) in [
        (json!({"text": "one three\ntwo"}), json!({"count": 3, "longest": "three"})),
        (json!({"text": "one three\ntwo", "unit": "lines"}), json!({"count": 2, "longest": "one three"})),
        (json!({"text": "Grüße", "unit": "characters"}), json!({"count": 5})),
    ] {
        let result = server.call("demo.count", arguments);
        assert_eq!(result["structuredContent"], expected, "{result}");
    }
    assert_eq!(refused(&server.call("demo.count", json!({"text": ""}))), "There is no text.");
}

#[test]
fn rust() {
    comes_alive("rust");
}

#[test]
fn python() {
    comes_alive("python");
}

#[test]
fn javascript() {
    comes_alive("js");
}
