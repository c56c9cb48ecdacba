//! Tests of path resolution: absolute paths refer to the machine, relative paths to the workspace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use scorpiox_tests::{Canonical as _, Program, Started};
use serde_json::{Value, json};

use super::{outsider, try_to};
use crate::plugins::{install, source};

const WRITES: &str = "[capabilities.files]\nwhy = \"writes\"\nwrite = [\"workspace\"]\n";

fn path(path: &str) -> Value {
    json!({ "path": path })
}

fn denied<T>() -> Result<T, String> {
    Err("not-permitted".to_owned())
}

fn workspace() -> (Program, String) {
    let program = Program::new();
    program.put("workspace/notes/a.txt", "text");
    let root = program.workspace().canonical().display().to_string();
    (program, root)
}

/// Returns the first component of an absolute path.
fn first(path: &str) -> &str {
    path.trim_start_matches('/').split('/').next().unwrap_or_default()
}

#[test]
fn the_root_lists_what_leads_to_granted_folders_and_nothing_else() {
    let (program, root) = workspace();
    let (_program, mut server) = outsider(program, WRITES);
    let mut go = |function: &str, arguments| try_to(&mut server, function, arguments);
    assert_eq!(go("folders", json!({})), Ok(json!([root, "/", "."])));
    assert_eq!(go("names-in", path("/")), Ok(json!([first(&root)])));
    let above = Path::new(&root).parent().expect("a folder").display().to_string();
    assert_eq!(go("names-in", path(&above)), Ok(json!(["workspace"])));
    assert_eq!(go("size-of", path(&above)), Ok(json!(0)));
    // The same holds for paths relative to an open directory.
    let inside = |rest: &str| json!({"folder": above, "path": format!("workspace/{rest}")});
    assert_eq!(go("read-from", inside("notes/a.txt")), Ok(json!("text")));
    assert!(go("read-from", inside("../../secret")).is_err());
    assert_eq!(go("names-in", path(".")), Ok(json!(["notes", "sources"])));
}

#[test]
fn a_plugin_with_a_root_sees_the_workspace_as_slash_and_nothing_else() {
    let (program, root) = workspace();
    program.put("workspace/etc/passwd", "not the machine's");
    let manifest = format!("{WRITES}root = \"workspace\"\n");
    let (program, mut server) = outsider(program, &manifest);
    let mut go = |function: &str, arguments| try_to(&mut server, function, arguments);
    assert_eq!(go("folders", json!({})), Ok(json!(["/"])));
    assert_eq!(go("working-folder", json!({})), Ok(json!("/")));
    assert_eq!(go("names-in", path("/")), Ok(json!(["etc", "notes", "sources"])));
    assert_eq!(go("read-file", path("/notes/a.txt")), Ok(json!("text")));
    assert_eq!(go("read-file", path("notes/a.txt")), Ok(json!("text")));
    assert_eq!(go("read-file", path("/etc/passwd")), Ok(json!("not the machine's")));
    go("write-file", json!({"path": "/srv.txt", "text": "x"})).expect("it is written");
    assert_eq!(fs::read_to_string(program.workspace().join("srv.txt")).expect("a file"), "x");
    // The protected names and the end of the folder stay where they are.
    assert_eq!(go("write-file", json!({"path": "/.mcp.json", "text": "x"})), denied());
    assert!(go("read-file", path("/../outside")).is_err());
    assert!(go("read-file", path(&format!("{root}/notes/a.txt"))).is_err());
    let (_, shown, _) = program.run(&["plugin", "show", "outsider"]);
    assert!(shown.contains("    seen as /\n      | workspace\n"), "{shown}");
}

#[test]
fn nothing_is_done_at_a_path_that_lies_in_no_granted_folder() {
    let (program, root) = workspace();
    let above = Path::new(&root).parent().expect("a folder").display().to_string();
    let (program, mut server) = outsider(program, WRITES);
    let file = |path: &str| json!({"path": path, "text": "x"});
    for at in ["/srv/x", "/x", &format!("{above}/x"), &format!("/../{above}/x")] {
        assert_eq!(try_to(&mut server, "write-file", file(at)), denied(), "{at}");
    }
    for (function, arguments) in [
        ("read-file", path("/etc/passwd")),
        ("size-of", path("/etc/passwd")),
        ("names-in", path("/etc")),
        ("make-folder", path("/made")),
        ("remove-folder", path("/home")),
        ("remove-file", path("/etc/passwd")),
        ("touch", path("/")),
        ("touch", path("/etc/passwd")),
        ("move-to", json!({"old": "notes/a.txt", "new": "/a.txt"})),
        ("hard-link", json!({"old": "/etc/passwd", "new": "passwd"})),
        ("soft-link", json!({"target": "notes", "path": "/link"})),
        ("link-target", path("/etc/passwd")),
    ] {
        assert_eq!(try_to(&mut server, function, arguments.clone()), denied(), "{function} {arguments}");
    }
    assert!(!Path::new("/srv/x").exists() && !program.workspace().join("srv").exists());
    let answer = server.call("outsider.write-file", file("/srv/x"));
    let expected = format!("This server refused files write /srv/x: it has only {root}.");
    let text = answer["content"][0]["text"].as_str().expect("a text");
    assert!(text.ends_with(&expected), "{text}");
}

#[test]
fn of_folders_in_each_other_the_inner_one_decides() {
    let (program, root) = workspace();
    let manifest =
        format!("[capabilities.files]\nwhy = \"x\"\nread = [\"workspace\"]\nwrite = [\"{root}/notes\"]\n");
    let (_program, mut server) = outsider(program, &manifest);
    let above = Path::new(&root).parent().expect("a folder").display().to_string();
    let at = |rest: &str| json!({"folder": above, "path": format!("workspace/{rest}")});
    assert_eq!(try_to(&mut server, "read-from", at("notes/a.txt")), Ok(json!("text")));
    let write = |rest: &str| json!({"path": format!("{root}/{rest}"), "text": "x"});
    assert_eq!(try_to(&mut server, "write-file", write("b.txt")), denied());
}

#[test]
fn without_a_workspace_a_path_without_a_beginning_is_refused() {
    let (program, root) = workspace();
    let manifest = format!("[capabilities.files]\nwhy = \"x\"\nread = [\"{root}/notes\"]\n");
    let (_program, mut server) = outsider(program, &manifest);
    assert_eq!(try_to(&mut server, "folders", json!({})), Ok(json!([format!("{root}/notes"), "/"])));
    assert_eq!(try_to(&mut server, "names-in", path("/")), Ok(json!([first(&root)])));
    assert_eq!(try_to(&mut server, "read-file", path(&format!("{root}/notes/a.txt"))), Ok(json!("text")));
}

/// Returns a program with Rust's standard library.
fn paths() -> &'static [u8] {
    static BUILT: OnceLock<Vec<u8>> = OnceLock::new();
    BUILT.get_or_init(build_paths)
}

fn build_paths() -> Vec<u8> {
    const TARGET: &str = "wasm32-wasip2";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let run = |program: &str, words: &[&str]| Command::new(program).args(words).output();
    let sysroot = run("rustc", &["--print", "sysroot"]).expect("rustc runs").stdout;
    let library = PathBuf::from(String::from_utf8_lossy(&sysroot).trim()).join("lib/rustlib").join(TARGET);
    if !library.exists() {
        let added = run("timeout", &["120", "rustup", "target", "add", TARGET]);
        let is_added = added.is_ok_and(|added| added.status.success());
        assert!(is_added, "{TARGET} is missing; run `rustup target add {TARGET}`");
    }
    let out = folder.join("target/paths.component.wasm");
    let built = Command::new("rustc")
        .args(["--edition", "2024", "--target", TARGET, "-O", "-o"])
        .arg(&out)
        .arg(folder.join("guests/paths.rs"))
        .output()
        .expect("rustc runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    fs::read(out).expect("a component")
}

/// Runs an operation of the program on a path and returns its output.
fn go(server: &mut Started, words: &[&str]) -> Result<String, String> {
    let answer = server.call("paths.run", json!({ "args": words }));
    let text = answer["content"][0]["text"].as_str().expect("a text").trim().to_owned();
    if answer["isError"] == true { Err(text) } else { Ok(text) }
}

#[test]
fn an_ordinary_program_reaches_the_machine_by_absolute_paths_alone() {
    let component = paths();
    let (program, root) = workspace();
    install(&program, &source(&program, "paths", WRITES, component));
    let mut server = program.start();
    server.initialize("2025-11-25");
    let mut go = |words: &[&str]| go(&mut server, words);
    let inside = format!("{root}/notes/a.txt");
    assert_eq!(go(&["read", &inside]), Ok("text".into()));
    assert_eq!(go(&["read", "notes/a.txt"]), Ok("text".into()));
    assert_eq!(go(&["write", &format!("{root}/b.txt")]), Ok("done".into()));
    assert_eq!(go(&["make", "deep/er"]), Ok("done".into()));
    let refused = go(&["write", "/srv/x"]).expect_err("refused");
    assert!(refused.contains("PermissionDenied"), "{refused}");
    assert!(
        refused.contains(&format!("This server refused files write /srv/x: it has only {root}; ")),
        "{refused}"
    );
    for words in
        [["make", "/srv/a/b"], ["make", "/tmp/a"], ["read", "/etc/passwd"], ["remove", "/etc/passwd"]]
    {
        assert!(go(&words).is_err(), "{words:?}");
    }
    assert!(!program.workspace().join("srv").exists() && !program.workspace().join("tmp").exists());
    // A relative path refers to the workspace if such a directory exists there.
    assert_eq!(go(&["exists", "tmp/a"]), Ok("false".into()));
    assert_eq!(go(&["make", &format!("{root}/tmp")]), Ok("done".into()));
    assert_eq!(go(&["write", "tmp/a"]), Ok("done".into()));
    assert_eq!(go(&["read", &format!("{root}/tmp/a")]), Ok("written".into()));
}

#[test]
fn an_ordinary_program_without_the_workspace_lists_the_roots_that_it_has() {
    let component = paths();
    let (program, root) = workspace();
    let manifest = format!("[capabilities.files]\nwhy = \"x\"\nread = [\"{root}/notes\"]\n");
    install(&program, &source(&program, "paths", &manifest, component));
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert_eq!(go(&mut server, &["list", "/"]), Ok(first(&root).to_owned()));
    assert_eq!(go(&mut server, &["list", &root]), Ok("notes".into()));
    assert_eq!(go(&mut server, &["read", &format!("{root}/notes/a.txt")]), Ok("text".into()));
    let refused = go(&mut server, &["read", "/etc/passwd"]).expect_err("refused");
    assert!(refused.contains(&format!("read /etc/passwd: it has only {root}/notes")), "{refused}");
    assert!(go(&mut server, &["make", "/home/x"]).is_err());
}
