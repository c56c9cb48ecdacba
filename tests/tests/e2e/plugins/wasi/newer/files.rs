//! Tests of file access: approved directories for reading or writing, and protected names within them.

use std::fs;
use std::os::unix::fs::symlink;

use scorpiox_tests::Canonical as _;
use serde_json::{Value, json};

use super::super::files::{READS, WRITES, path, workspace};
use super::{newer, try_to};
use crate::plugins::refused;

fn denied<T>() -> Result<T, String> {
    Err("NotPermitted".to_owned())
}

#[test]
fn a_folder_to_read_is_read_and_not_written() {
    let program = workspace();
    let root = program.workspace().canonical().display().to_string();
    let (_program, mut server) = newer(program, READS);
    let mut go = |function: &str, arguments| try_to(&mut server, function, arguments);
    assert_eq!(go("folders", json!({})), Ok(json!([root, "/", "."])));
    assert_eq!(go("read-file", path("notes/a.txt")), Ok(json!("text")));
    assert_eq!(go("read-file", path(&format!("{root}/notes/a.txt"))), Ok(json!("text")));
    assert_eq!(go("names-in", path("notes")), Ok(json!([".env.local", "a.txt"])));
    assert_eq!(go("names-in", path("/")), Ok(json!([root.split('/').nth(1)])), "what leads to it alone");
    assert_eq!(go("size-of", path("notes/a.txt")), Ok(json!(4)));
    assert_eq!(go("read-file", path("notes")), Err("IsDirectory".to_owned()));
    for (function, arguments) in [
        ("write-file", json!({"path": "notes/a.txt", "text": "x"})),
        ("append-to", json!({"path": "notes/a.txt", "text": "x"})),
        ("write-file", json!({"path": "new.txt", "text": "x"})),
        ("make-folder", path("new")),
        ("remove-file", path("notes/a.txt")),
        ("remove-folder", path("notes")),
        ("move-to", json!({"old": "notes/a.txt", "new": "b.txt"})),
        ("hard-link", json!({"old": "notes/a.txt", "new": "b.txt"})),
        ("soft-link", json!({"target": "notes/a.txt", "path": "b.txt"})),
        ("touch", path("notes/a.txt")),
        ("flood", json!({"path": "notes/a.txt", "bytes": 0})),
    ] {
        assert_eq!(go(function, arguments), denied(), "{function}");
    }
}

#[test]
fn a_folder_to_write_is_written_but_not_what_starts_programs() {
    let program = workspace();
    let root = program.workspace();
    let (_program, mut server) = newer(program, WRITES);
    let mut go = |function: &str, arguments| try_to(&mut server, function, arguments);
    assert_eq!(go("write-file", json!({"path": "notes/b.txt", "text": "new"})), Ok(Value::Null));
    assert_eq!(go("append-to", json!({"path": "notes/b.txt", "text": "er"})), Ok(Value::Null));
    assert_eq!(fs::read_to_string(root.join("notes/b.txt")).expect("a file"), "newer");
    assert_eq!(go("make-folder", path("made")), Ok(Value::Null));
    assert_eq!(go("move-to", json!({"old": "notes/b.txt", "new": "made/c.txt"})), Ok(Value::Null));
    assert_eq!(go("hard-link", json!({"old": "made/c.txt", "new": "made/d.txt"})), Ok(Value::Null));
    assert_eq!(go("touch", path("made/d.txt")), Ok(Value::Null));
    assert_eq!(go("remove-file", path("made/c.txt")), Ok(Value::Null));
    assert_eq!(go("remove-file", path("made/d.txt")), Ok(Value::Null));
    assert_eq!(go("remove-folder", path("made")), Ok(Value::Null));
    for name in
        [".git/config", ".git/hooks/pre-commit", "notes/.mcp.json", ".mcp.json", ".envrc", "notes/HEAD"]
    {
        let refused = go("write-file", json!({"path": name, "text": "x"}));
        assert!(refused == denied() || refused == Err("NoEntry".into()), "{name}: {refused:?}");
        assert!(!root.join(name).exists() || name == ".git/config", "{name} was written");
    }
    assert_eq!(go("make-folder", path(".claude")), denied());
    assert_eq!(go("soft-link", json!({"target": "notes", "path": ".vscode"})), denied());
    assert_eq!(go("move-to", json!({"old": ".git", "new": "git"})), denied());
    assert_eq!(go("make-folder", path("flows")), Ok(Value::Null));
    assert_eq!(go("write-file", json!({"path": "flows/hgrc", "text": "x"})), Ok(Value::Null));
    assert_eq!(go("move-to", json!({"old": "flows", "new": ".hg"})), denied());
    assert_eq!(go("move-to", json!({"old": "flows", "new": "others"})), Ok(Value::Null));
    assert_eq!(fs::read_to_string(root.join(".git/config")).expect("a file"), "[core]");
}

#[test]
fn nothing_leads_to_what_is_denied_or_out_of_the_folder() {
    let program = workspace();
    let root = program.workspace();
    symlink(".env", root.join("link")).expect("links");
    symlink("../home", root.join("up")).expect("links");
    symlink("/proc/self/environ", root.join("own")).expect("links");
    symlink("loop", root.join("loop")).expect("links");
    let (_program, mut server) = newer(program, WRITES);
    let mut go = |function: &str, arguments| try_to(&mut server, function, arguments);
    for name in
        [".env", "./.env", "notes/../.env", "link", "../home/secret.txt", "up/secret.txt", "own", "loop"]
    {
        let refused = go("read-file", path(name)).expect_err(name);
        assert!(["NotPermitted", "Loop", "Access"].contains(&refused.as_str()), "{name}: {refused}");
        assert!(go("write-file", json!({"path": name, "text": "x"})).is_err(), "{name}");
    }
    assert_eq!(go("read-file", path("/etc/passwd")), denied());
    assert_eq!(go("link-target", path("link")), Ok(json!(".env")));
    assert_eq!(go("soft-link", json!({"target": ".env", "path": "again"})), Ok(Value::Null));
    assert_eq!(go("read-file", path("again")), denied());
    assert_eq!(fs::read_to_string(root.join(".env")).expect("a file"), "TOKEN=1");
    let told = server.call("newer.read-file", path(".env"));
    let told = refused(&told);
    assert!(told.contains("This server refused files read .env: "), "{told}");
}
