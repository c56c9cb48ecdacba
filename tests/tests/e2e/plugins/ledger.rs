//! Tests of a damaged ledger of decisions and of damaged plugin directories: no plugin runs without approval,
//! and a repair is sufficient.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use scorpiox_tests::{Program, Started};
use serde_json::Value;

use super::{install, kinds, listed, source};

const CHANGED: &str = "notifications/tools/list_changed";

fn with_kinds() -> (Program, Started) {
    let program = Program::new();
    install(&program, &source(&program, "kinds", "", &fs::read(kinds()).expect("the component")));
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert!(!listed(&mut server).is_empty());
    (program, server)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("sets");
}

#[test]
fn a_ledger_that_cannot_be_used_lets_nothing_run_until_it_is_mended() {
    let (program, mut server) = with_kinds();
    let path = program.home().join(".scorpiox/plugins.json");
    let good = fs::read_to_string(&path).expect("the decisions");
    let with = |change: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_str(&good).expect("JSON");
        change(&mut value);
        value.to_string()
    };
    for (text, expected) in [
        (String::new(), "EOF"),
        (good[..good.len() / 2].to_owned(), "EOF"),
        ("[]".to_owned(), "invalid length 0"),
        ("\u{0}\u{1}".to_owned(), "expected value"),
        (with(&|value| value["version"] = 2.into()), "it is of version 2, and this program knows 1"),
        (
            with(&|value| {
                value["version"] = 2.into();
                value["signature"] = "x".into();
            }),
            "it is of version 2, and this program knows 1",
        ),
        (with(&|value| value["more"] = 1.into()), "unknown field `more`"),
        (
            with(&|value| value["plugins"]["kinds"]["decision"]["approved"]["more"] = 1.into()),
            "unknown field `more`",
        ),
        (with(&|value| value["plugins"]["kinds"]["decision"] = "maybe".into()), "unknown variant `maybe`"),
        (
            with(&|value| {
                let record = value["plugins"]["kinds"].clone();
                value["plugins"]["Bash"] = record;
            }),
            "\"Bash\" is not a plugin name",
        ),
    ] {
        fs::write(&path, &text).expect("writes");
        server.notification(CHANGED);
        assert!(listed(&mut server).is_empty(), "{text}");
        for arguments in [&["plugin", "list"][..], &["plugin", "deny", "kinds"]] {
            let (status, _, err) = program.run(arguments);
            assert!(!status.success() && err.contains("plugins.json cannot be used"), "{err}");
            assert!(err.contains(expected), "{expected}: {err}");
        }
        assert_eq!(fs::read_to_string(&path).expect("there"), text, "nobody writes over it");
        fs::write(&path, &good).expect("writes");
        server.notification(CHANGED);
        assert!(!listed(&mut server).is_empty());
    }
}

#[test]
fn what_others_can_write_is_not_believed() {
    let (program, mut server) = with_kinds();
    let own = program.home().join(".scorpiox");
    let (folder, plugins) = (own.join("plugins/kinds"), own.join("plugins"));
    for (path, bad, good) in [
        (own.join("plugins.json"), 0o666, 0o600),
        (plugins, 0o777, 0o700),
        (folder.clone(), 0o770, 0o700),
        (folder.join("c.wasm"), 0o620, 0o600),
        (folder.join("plugin.toml"), 0o602, 0o600),
    ] {
        set_mode(&path, bad);
        let mut fresh = program.start();
        fresh.initialize("2025-11-25");
        assert!(listed(&mut fresh).is_empty(), "{}", path.display());
        set_mode(&path, good);
        fresh.notification(CHANGED);
        assert!(!listed(&mut fresh).is_empty(), "{}", path.display());
    }
    assert!(!listed(&mut server).is_empty());
}

#[test]
fn nothing_is_reached_through_a_link() {
    let (program, mut server) = with_kinds();
    let own = program.home().join(".scorpiox");
    let folder = own.join("plugins/kinds");
    for name in ["plugins/kinds/c.wasm", "plugins/kinds/plugin.toml", "plugins/kinds", "plugins.json"] {
        let (path, real) = (own.join(name), program.home().join("real"));
        fs::rename(&path, &real).expect("moves");
        symlink(&real, &path).expect("links");
        server.notification(CHANGED);
        assert!(listed(&mut server).is_empty(), "{name}");
        fs::remove_file(&path).expect("removes");
        fs::rename(&real, &path).expect("moves");
        server.notification(CHANGED);
        assert!(!listed(&mut server).is_empty(), "{name}");
    }
    assert!(folder.is_dir());
}
