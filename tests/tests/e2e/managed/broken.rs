//! Tests of an unusable policy for all users: the program refuses to work without it.

use scorpiox_tests::Program;
use scorpiox_tests::managed::{laid_out, managed};
use serde_json::json;

use super::{CLOSED, program, told};

/// Asserts that every tool returns the same error.
#[track_caller]
fn refuses(program: &Program, words: &[&str]) {
    let mut server = program.start();
    server.initialize("2025-11-25");
    for (tool, arguments) in [
        ("Bash", json!({ "command": "true" })),
        ("TaskManager", json!({ "action": "list" })),
        ("ReadDocs", json!({ "url": "https://example.com/" })),
    ] {
        let text = told(&mut server, tool, arguments);
        assert!(
            text.starts_with(
                "All tools are refused until the policy is corrected: /etc/scorpiox/policy.toml"
            ),
            "{tool}: {text}"
        );
        assert!(words.iter().all(|word| text.contains(word)), "{tool}: {words:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    assert!(server.ask("ping", json!({}))["error"].is_null());
    let (status, _, err) = program.run(&["policy", "check"]);
    assert!(!status.success() && words.iter().all(|word| err.replace("\n  ", " ").contains(word)), "{err}");
}

#[test]
fn each_way_to_break_the_file_is_told_with_its_line_and_what_to_do() {
    for (text, words) in [
        ("", &["has no `version`", "write `version = 1`"][..]),
        ("version = 2\n", &["line 1", "version 2 is not known"]),
        ("version = 1\n[shell\n", &["line 2", "is not TOML"]),
        ("version = 1\n[shel]\n", &["line 2", "did you mean `shell`"]),
        ("version = 1\n[web]\nenabled = \"no\"\n", &["line 3", "write true or false"]),
        ("version = 1\n[web]\nallow = [\"a b\"]\n", &["line 3", "is not a host name"]),
        ("version = 1\n[tools]\ndeny = [\"a*b\"]\n", &["line 3", "before its end"]),
        ("version = 1\n[plugins]\nallow = [\"x@sha256:12\"]\n", &["line 3", "no valid hash"]),
        ("version = 1\nmin_version = \"soon\"\n", &["line 2", "write a version"]),
        ("version = 1\n[web]\nenabled = true\nenabled = false\n", &["line 4", "keep one of them"]),
    ] {
        refuses(&managed(program(), text, ""), words);
    }
}

#[test]
fn a_file_that_others_can_write_is_not_taken_for_the_administrators() {
    refuses(
        &laid_out(program(), &[("policy.toml", CLOSED, 0o666)], ""),
        &["can be written by others than root (mode 0666)"],
    );
    if rustix::process::geteuid().is_root() {
        refuses(&laid_out(program(), &[("policy.toml", CLOSED, 0o600)], ""), &["cannot be read"]);
    }
}

#[test]
fn a_policy_for_all_can_be_asked_for() {
    let program = Program::new().arg("--managed").arg("required");
    if std::path::Path::new("/etc/scorpiox/policy.toml").exists() {
        return;
    }
    refuses(&program, &["is not there", "`--managed required`"]);
    let program = managed(super::program().arg("--managed").arg("required"), "version = 1\n", "");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let ran = told(&mut server, "Bash", json!({ "command": "echo it runs" }));
    assert!(ran.starts_with("it runs"), "{ran}");
}

#[test]
fn the_folder_of_the_users_file_is_judged_at_each_request() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    for text in [Some("version = 1\n[tools]\ndeny = [\"Bash\"]\n"), None] {
        let program = program();
        let folder = program.home().join(".scorpiox");
        if let Some(text) = text {
            program.put("home/.scorpiox/policy.toml", text);
        }
        let mut server = program.start();
        server.initialize("2025-11-25");
        let mut list = || told(&mut server, "TaskManager", json!({ "action": "list" }));
        assert!(list().contains("There are no tasks"));
        let set = |mode: u32| fs::set_permissions(&folder, Permissions::from_mode(mode)).expect("set");
        set(0o777);
        let said = list();
        assert!(
            said.contains(&format!("the folder {} can be written by others", folder.display())),
            "{said}"
        );
        set(0o700);
        assert!(list().contains("There are no tasks"));
    }
}

#[test]
fn a_users_file_that_others_can_exchange_is_noticed_by_a_running_server() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let program = program();
    let target = program.put("open/p.toml", "version = 1\n");
    let own = program.home().join(".scorpiox/policy.toml");
    symlink(&target, &own).expect("a link");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let list =
        |server: &mut scorpiox_tests::Started| told(server, "TaskManager", json!({ "action": "list" }));
    assert!(list(&mut server).contains("There are no tasks"));
    for file in [&target, &own] {
        let folder = file.parent().expect("a folder");
        let set = |mode: u32| {
            fs::set_permissions(folder, Permissions::from_mode(mode)).expect("permissions are set")
        };
        set(0o777);
        let said = list(&mut server);
        for piece in [
            "All tools are refused until the policy is corrected",
            &format!("the folder {} can be written by others (mode 0777)", folder.display()),
            &format!("`chmod go-w {}`", folder.display()),
        ] {
            assert!(said.contains(piece), "{piece}: {said}");
        }
        let (status, out, err) = program.run(&["policy", "check"]);
        // The program's own folder is refused before.
        let said = if file == &own { "others may write it" } else { "go-w" };
        assert!(!status.success() && err.contains(said), "{out}{err}");
        set(0o755);
        assert!(list(&mut server).contains("There are no tasks"));
    }
    // A path to the home is judged in the same way.
    let link = program.put("elsewhere/x", "").with_file_name("home");
    symlink(program.home().join(".scorpiox"), &link).expect("a link");
    let set = |mode: u32| {
        let folder = link.parent().expect("a folder");
        fs::set_permissions(folder, Permissions::from_mode(mode)).expect("permissions are set");
    };
    let check = || program.run(&["--home", &link.display().to_string(), "policy", "check"]);
    let (status, out, err) = check();
    assert!(status.success(), "{out}{err}");
    set(0o777);
    let (status, out, err) = check();
    assert!(!status.success() && err.contains("elsewhere can be written by others"), "{out}{err}");
}
