//! Tests of file access: approved directories for reading or writing, and protected names within them.

use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use scorpiox_tests::{Canonical as _, Program};
use serde_json::{Value, json};

use super::{outsider, try_to};

pub(super) const READS: &str = "[capabilities.files]\nwhy = \"reads\"\nread = [\"workspace\"]\n";
pub(super) const WRITES: &str = "[capabilities.files]\nwhy = \"writes\"\nwrite = [\"workspace\"]\n";

/// Creates a workspace with secrets in it and around it.
pub(super) fn workspace() -> Program {
    let program = Program::new();
    program.put("workspace/notes/a.txt", "text");
    program.put("workspace/.env", "TOKEN=1");
    program.put("workspace/notes/.env.local", "TOKEN=2");
    program.put("workspace/.git/config", "[core]");
    program.put("home/secret.txt", "secret");
    program
}

pub(super) fn path(path: &str) -> Value {
    json!({ "path": path })
}

fn denied<T>() -> Result<T, String> {
    Err("not-permitted".to_owned())
}

#[test]
fn a_folder_to_read_is_read_and_not_written() {
    let program = workspace();
    let root = program.workspace();
    let (_program, mut server) = outsider(program, READS);
    let mut go = |function: &str, arguments| try_to(&mut server, function, arguments);
    let root = root.canonical().display().to_string();
    assert_eq!(go("folders", json!({})), Ok(json!([root, "/", "."])));
    assert_eq!(go("working-folder", json!({})), Ok(json!(root)));
    assert_eq!(go("read-file", path("notes/a.txt")), Ok(json!("text")));
    assert_eq!(go("read-file", path(&format!("{root}/notes/a.txt"))), Ok(json!("text")));
    assert_eq!(go("names-in", path("notes")), Ok(json!([".env.local", "a.txt"])));
    assert_eq!(go("size-of", path("notes/a.txt")), Ok(json!(4)));
    for (function, arguments) in [
        ("write-file", json!({"path": "notes/a.txt", "text": "x"})),
        ("write-file", json!({"path": "new.txt", "text": "x"})),
        ("truncate", path("notes/a.txt")),
        ("create-new", path("new.txt")),
        ("make-folder", path("new")),
        ("remove-file", path("notes/a.txt")),
        ("remove-folder", path("notes")),
        ("move-to", json!({"old": "notes/a.txt", "new": "b.txt"})),
        ("hard-link", json!({"old": "notes/a.txt", "new": "b.txt"})),
        ("soft-link", json!({"target": "notes/a.txt", "path": "b.txt"})),
        ("touch", path("notes/a.txt")),
    ] {
        assert_eq!(go(function, arguments), denied(), "{function}");
    }
}

#[test]
fn a_folder_to_write_is_written_but_not_what_starts_programs() {
    let program = workspace();
    let root = program.workspace();
    let (_program, mut server) = outsider(program, WRITES);
    let mut go = |function: &str, arguments| try_to(&mut server, function, arguments);
    assert_eq!(go("write-file", json!({"path": "notes/b.txt", "text": "new"})), Ok(json!(3)));
    assert_eq!(fs::read_to_string(root.join("notes/b.txt")).expect("a file"), "new");
    assert_eq!(go("make-folder", path("made")), Ok(Value::Null));
    assert_eq!(go("move-to", json!({"old": "notes/b.txt", "new": "made/c.txt"})), Ok(Value::Null));
    assert_eq!(go("hard-link", json!({"old": "made/c.txt", "new": "made/d.txt"})), Ok(Value::Null));
    assert_eq!(go("touch", path("made/d.txt")), Ok(Value::Null));
    assert_eq!(go("truncate", path("made/d.txt")), Ok(Value::Null));
    assert_eq!(go("remove-file", path("made/c.txt")), Ok(Value::Null));
    assert_eq!(go("remove-file", path("made/d.txt")), Ok(Value::Null));
    assert_eq!(go("remove-folder", path("made")), Ok(Value::Null));
    for name in [
        ".git/config",
        ".git/hooks/pre-commit",
        "notes/.git/config",
        "notes/.mcp.json",
        "notes/.CLAUDE/settings.json",
        "notes/HEAD",
        ".mcp.json",
        ".claude/settings.json",
        ".vscode/tasks.json",
        ".envrc",
    ] {
        let refused = go("write-file", json!({"path": name, "text": "x"}));
        assert!(refused == denied() || refused == Err("no-entry".into()), "{name}: {refused:?}");
        assert!(!root.join(name).exists() || name == ".git/config", "{name} was written");
    }
    assert_eq!(go("make-folder", path(".claude")), denied());
    assert_eq!(go("soft-link", json!({"target": "notes", "path": ".vscode"})), denied());
    assert_eq!(go("move-to", json!({"old": "notes/a.txt", "new": ".mcp.json"})), denied());
    assert_eq!(go("move-to", json!({"old": ".git", "new": "git"})), denied());
    // A move is checked by the target name.
    assert_eq!(go("make-folder", path("flows")), Ok(Value::Null));
    assert_eq!(go("write-file", json!({"path": "flows/hgrc", "text": "x"})), Ok(json!(1)));
    assert_eq!(go("move-to", json!({"old": "flows", "new": ".hg"})), denied());
    assert_eq!(go("move-to", json!({"old": "flows", "new": "others"})), Ok(Value::Null));
    assert_eq!(go("write-file", json!({"path": "a.code-workspace", "text": "x"})), denied());
    assert_eq!(fs::read_to_string(root.join(".git/config")).expect("a file"), "[core]");
}

#[test]
fn a_denied_name_is_listed_and_nothing_of_the_file_is_told() {
    let program = workspace();
    program.put("home/.scorpiox/policy.toml", "version = 1\n[files]\ndeny = [\"**/.env*\", \"secrets\"]\n");
    program.put("workspace/secrets/inner/key", "key");
    symlink("secrets/inner", program.workspace().join("way")).expect("links");
    let (program, mut server) = outsider(program, READS);
    let names = json!([".env", ".git", "notes", "secrets", "sources", "way"]);
    assert_eq!(try_to(&mut server, "names-in", path(".")), Ok(names));
    assert_eq!(try_to(&mut server, "size-of", path(".env")), Ok(json!(0)));
    assert_eq!(try_to(&mut server, "size-of", path("secrets")), Ok(json!(0)));
    assert_eq!(try_to(&mut server, "size-of", path(".env.none")), Err("no-entry".to_owned()));
    for line in crate::audit::lines(&program, 5) {
        let uses = line["uses"].as_array().expect("uses");
        assert!(uses.iter().all(|used| used["allowed"] == true), "{line}");
    }
    // The contents of a denied folder are not named, and nothing is opened.
    for (function, at) in [
        ("names-in", "secrets"),
        ("size-of", "secrets/inner"),
        ("size-of", "secrets/none"),
        ("size-of", "way"),
        ("link-target", ".env"),
        ("read-file", ".env"),
    ] {
        assert_eq!(try_to(&mut server, function, path(at)), denied(), "{function} {at}");
    }
}

#[test]
fn denied_names_stay_closed_whatever_leads_to_them() {
    let program = workspace();
    let root = program.workspace();
    symlink(".env", root.join("link")).expect("links");
    symlink("notes", root.join("folder")).expect("links");
    fs::hard_link(root.join("notes/a.txt"), root.join("same.txt")).expect("links");
    let (_program, mut server) = outsider(program, WRITES);
    let mut go = |function: &str, arguments| try_to(&mut server, function, arguments);
    for name in [".env", "./.env", "notes/../.env", "link", "folder/.env.local", "folder/../notes/.env.local"]
    {
        assert_eq!(go("read-file", path(name)), denied(), "{name}");
    }
    assert_eq!(go("read-from", json!({"folder": "notes", "path": ".env.local"})), denied());
    assert_eq!(go("read-file", path("folder/a.txt")), Ok(json!("text")));
    assert_eq!(go("read-file", path("same.txt")), Ok(json!("text")));
    // Renaming or linking a denied file, or renaming its directory, is denied too.
    assert_eq!(go("move-to", json!({"old": ".env", "new": "env.txt"})), denied());
    assert_eq!(go("hard-link", json!({"old": ".env", "new": "env.txt"})), denied());
    assert_eq!(go("move-to", json!({"old": "notes", "new": "other"})), denied());
    assert_eq!(go("soft-link", json!({"target": ".env", "path": "again"})), Ok(Value::Null));
    assert_eq!(go("read-file", path("again")), denied());
    assert_eq!(go("write-file", json!({"path": "again", "text": "x"})), denied());
    assert_eq!(fs::read_to_string(root.join(".env")).expect("a file"), "TOKEN=1");
}

#[test]
fn nothing_leads_out_of_a_folder() {
    let program = workspace();
    let root = program.workspace();
    symlink("../home", root.join("up")).expect("links");
    symlink(program.home().canonical(), root.join("away")).expect("links");
    symlink("/proc/self/environ", root.join("own")).expect("links");
    symlink("loop", root.join("loop")).expect("links");
    let (_program, mut server) = outsider(program, WRITES);
    let mut go = |function: &str, arguments| try_to(&mut server, function, arguments);
    for name in [
        "../home/secret.txt",
        "notes/../../home/secret.txt",
        "up/secret.txt",
        "away/secret.txt",
        "own",
        "/etc/passwd",
        "..",
        "loop",
    ] {
        let refused = go("read-file", path(name)).expect_err(name);
        assert!(["not-permitted", "loop", "no-entry"].contains(&refused.as_str()), "{name}: {refused}");
    }
    for (function, arguments) in [
        ("write-file", json!({"path": "up/new.txt", "text": "x"})),
        ("write-file", json!({"path": "../new.txt", "text": "x"})),
        ("remove-file", path("up/secret.txt")),
        ("make-folder", path("../made")),
        ("move-to", json!({"old": "notes/a.txt", "new": "../a.txt"})),
        ("move-to", json!({"old": "up/secret.txt", "new": "secret.txt"})),
        ("hard-link", json!({"old": "up/secret.txt", "new": "secret.txt"})),
        ("soft-link", json!({"target": "/etc", "path": "etc"})),
        ("read-from", json!({"folder": "notes", "path": "../../home/secret.txt"})),
        ("read-from", json!({"folder": "up", "path": "secret.txt"})),
    ] {
        assert!(go(function, arguments.clone()).is_err(), "{function} {arguments}");
    }
    assert!(!root.join("../new.txt").exists() && !root.join("../made").exists());
}

#[test]
fn only_files_and_folders_are_opened() {
    let program = workspace();
    let root = program.workspace();
    mknodat(CWD, root.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).expect("a socket");
    let (_program, mut server) = outsider(program, WRITES);
    let begun = std::time::Instant::now();
    for name in ["pipe", "socket"] {
        assert!(try_to(&mut server, "read-file", path(name)).is_err(), "{name}");
    }
    let write = json!({"path": "pipe", "text": "x"});
    assert!(try_to(&mut server, "write-file", write).is_err());
    assert!(begun.elapsed().as_secs() < 5, "it waited for the pipe");
}

#[test]
fn what_this_program_keeps_is_closed_even_in_a_folder_around_it() {
    let program = workspace();
    let manifest = "[capabilities.files]\nwhy = \"all\"\nwrite = [\"~/\"]\n";
    let (program, mut server) = outsider(program, manifest);
    let home = program.home().canonical().display().to_string();
    let own = |name: &str| path(&format!("{home}/.scorpiox/{name}"));
    assert_eq!(try_to(&mut server, "read-file", path(&format!("{home}/secret.txt"))), Ok(json!("secret")));
    assert_eq!(try_to(&mut server, "read-file", own("plugins.json")), denied());
    let write = json!({"path": format!("{home}/.scorpiox/policy.toml"), "text": "x"});
    assert_eq!(try_to(&mut server, "write-file", write), denied());
    let moved = json!({"old": format!("{home}/.scorpiox"), "new": format!("{home}/other")});
    assert_eq!(try_to(&mut server, "move-to", moved), denied());
}

#[test]
fn while_a_plan_is_made_nothing_is_written() {
    let (program, mut server) = outsider(workspace(), WRITES);
    server.text("PlanMode", json!({"action": "enter", "goal": "look first"}));
    let write = json!({"path": "notes/b.txt", "text": "x"});
    assert_eq!(try_to(&mut server, "write-file", write.clone()), denied());
    assert_eq!(try_to(&mut server, "read-file", path("notes/a.txt")), Ok(json!("text")));
    server.text("PlanMode", json!({"action": "exit"}));
    assert_eq!(try_to(&mut server, "write-file", write), Ok(json!(1)));
    assert!(program.workspace().join("notes/b.txt").exists());
}

#[test]
fn the_operators_own_rules_hold_in_every_folder() {
    let program = workspace();
    program.put("home/.scorpiox/policy.toml", "version = 1\n[files]\ndeny = [\"**/*.key\", \"notes\"]\n");
    program.put("workspace/a.key", "key");
    let (_program, mut server) = outsider(program, READS);
    assert_eq!(try_to(&mut server, "read-file", path("a.key")), denied());
    assert_eq!(try_to(&mut server, "read-file", path("notes/a.txt")), denied());
    assert_eq!(try_to(&mut server, "names-in", path("notes")), denied());
}

#[test]
fn the_operators_rules_hold_where_a_link_of_their_name_leads() {
    let program = workspace();
    program.put("home/.scorpiox/policy.toml", "version = 1\n[files]\ndeny = [\"conf/*.key\"]\n");
    program.put("workspace/c2/a.key", "key");
    program.put("workspace/c2/a.txt", "text");
    symlink("c2", program.workspace().join("conf")).expect("links");
    program.put("home/notes/d2/a.key", "key");
    symlink("d2", program.home().join("notes/conf")).expect("links");
    let home = program.home().canonical().display().to_string();
    let manifest = format!("[capabilities.files]\nwhy = \"a\"\nread = [\"workspace\", \"{home}/notes\"]\n");
    let (_program, mut server) = outsider(program, &manifest);
    let outside = ["conf", "d2"].map(|folder| format!("{home}/notes/{folder}/a.key"));
    for name in ["conf/a.key", "c2/a.key", &outside[0], &outside[1]] {
        assert_eq!(try_to(&mut server, "read-file", path(name)), denied(), "{name}");
    }
    assert_eq!(try_to(&mut server, "read-file", path("conf/a.txt")), Ok(json!("text")));
}

#[test]
fn a_folder_within_a_folder_opens_nothing_that_is_closed() {
    let program = workspace();
    program.put("home/.scorpiox/policy.toml", "version = 1\n[files]\ndeny = [\"secrets/\"]\n");
    program.put("workspace/secrets/key", "key");
    let root = program.workspace().canonical().display().to_string();
    let manifest = format!(
        "[capabilities.files]\nwhy = \"a\"\nread = [\"{root}/secrets\"]\nwrite = [\"workspace\", \"{root}/.git\"]\n"
    );
    let (_program, mut server) = outsider(program, &manifest);
    for name in ["secrets/key".to_owned(), format!("{root}/secrets/key")] {
        assert_eq!(try_to(&mut server, "read-file", path(&name)), denied(), "{name}");
    }
    let hook = json!({"path": format!("{root}/.git/config"), "text": "x"});
    assert_eq!(try_to(&mut server, "write-file", hook), denied());
}

#[test]
fn a_refusal_reaches_the_model() {
    let program = workspace();
    let root = program.workspace().canonical().display().to_string();
    let (_program, mut server) = outsider(program, READS);
    let mut told = |function: &str, arguments: Value| {
        let result = server.call(&format!("outsider.{function}"), arguments);
        assert_eq!(result["isError"], true);
        result["content"][0]["text"].as_str().expect("a text").to_owned()
    };
    let written = told("write-file", json!({"path": "notes/a.txt", "text": "x"}));
    assert_eq!(written.lines().count(), 2, "once: {written}");
    let line = "This server refused files write notes/a.txt: the folder was granted to be read";
    assert!(written.starts_with("not-permitted\n") && written.contains(line), "{written}");
    assert!(written.ends_with("the folder was granted to be read."), "{written}");
    let away = told("read-file", path("/etc/passwd"));
    assert!(away.contains(&format!("refused files read /etc/passwd: it has only {root}.")), "{away}");
    let away = told("read-file", path("../secret.txt"));
    assert!(away.contains("refused files read ../secret.txt: the path leads out of the folders"), "{away}");
    let away = told("names-in", path("/etc"));
    assert!(away.contains(&format!("refused files read /etc: it has only {root}.")), "{away}");
    // An ordinary error does not mention a refusal.
    assert_eq!(told("read-file", path("nothing.txt")).lines().count(), 1);
}

#[test]
fn a_granted_folder_that_is_absent_is_named() {
    let program = workspace();
    let home = program.home().canonical().display().to_string();
    let manifest = "[capabilities.files]\nwhy = \"a\"\nread = [\"workspace\", \"~/absent\"]\n";
    let bytes = fs::read(crate::plugins::guest("outsider")).expect("the component");
    let source = crate::plugins::source(&program, "outsider", manifest, &bytes);
    let (_, out, err) = program.run(&["plugin", "test", &source]);
    assert!(out.contains("~/absent does not exist"), "{out}{err}");
    let (_program, mut server) = outsider(program, manifest);
    let result = server.call("outsider.read-file", path(&format!("{home}/absent/a.txt")));
    let told = result["content"][0]["text"].as_str().expect("a text");
    assert!(
        told.ends_with(&format!(": {home}/absent was granted, and does not exist; create it.")),
        "{told}"
    );
}

#[test]
fn what_programs_start_with_at_home_is_not_written_by_a_grant_of_home() {
    let program = workspace();
    for name in ["home/.ssh/x", "home/.config/x", "home/notes/x"] {
        program.put(name, "");
    }
    let manifest = "[capabilities.files]\nwhy = \"all\"\nwrite = [\"~/\"]\n";
    let (program, mut server) = outsider(program, manifest);
    let home = program.home().canonical().display().to_string();
    for name in
        [".ssh/authorized_keys", ".config/autostart/x.desktop", ".bash_aliases", "notes/.vscode/tasks.json"]
    {
        let write = json!({"path": format!("{home}/{name}"), "text": "x"});
        let refused = try_to(&mut server, "write-file", write).expect_err(name);
        assert!(["not-permitted", "no-entry"].contains(&refused.as_str()), "{name}: {refused}");
    }
    let write = json!({"path": format!("{home}/notes/x"), "text": "x"});
    assert_eq!(try_to(&mut server, "write-file", write), Ok(json!(1)));
}

#[test]
fn what_is_no_folder_of_files_cannot_be_asked_for() {
    let program = Program::new();
    let bytes = fs::read(crate::plugins::guest("outsider")).expect("the component");
    for folder in ["/", "/proc", "/proc/self", "/sys/kernel", "/dev/"] {
        let manifest = format!("[capabilities.files]\nwhy = \"a\"\nread = [\"{folder}\"]\n");
        let source = crate::plugins::source(&program, "outsider", &manifest, &bytes);
        let (status, _, err) = program.run(&["plugin", "add", &source]);
        assert!(!status.success() && err.contains("name a folder of files"), "{folder}: {err}");
    }
    // A link that replaced a granted directory does not lead out of the grant either.
    let folder = program.workspace().join("data");
    fs::create_dir(&folder).expect("creates");
    let manifest = format!("[capabilities.files]\nwhy = \"a\"\nread = [\"{}\"]\n", folder.display());
    let (program, mut server) = outsider(program, &manifest);
    fs::remove_dir(&folder).expect("removes");
    symlink("/proc/self", &folder).expect("links");
    assert_eq!(try_to(&mut server, "folders", json!({})), Ok(json!(["/"])));
    drop(program);
}

#[test]
fn rules_about_home_hold_when_home_is_reached_by_a_link() {
    let program = Program::new();
    program.put("home/private/key", "key");
    program.put("home/notes/a", "text");
    program.put("home/.scorpiox/policy.toml", "version = 1\n[files]\ndeny = [\"~/private\"]\n");
    let link = program.home().with_file_name("link");
    symlink(program.home(), &link).expect("links");
    let program = program.with("HOME", &link.display().to_string());
    let (program, mut server) = outsider(program, "[capabilities.files]\nwhy = \"a\"\nread = [\"~/\"]\n");
    let home = program.home().canonical().display().to_string();
    let at = |name: &str| path(&format!("{home}/{name}"));
    assert_eq!(try_to(&mut server, "read-file", at("notes/a")), Ok(json!("text")));
    assert_eq!(try_to(&mut server, "read-file", at("private/key")), denied());
}
