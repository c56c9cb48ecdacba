//! Tests that the output of `plugin new` builds and runs unchanged, in each language.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use scorpiox_tests::Program;
use serde_json::json;

use super::{hash_of, listed, refused};

/// Returns the directory of downloads and build output of the language toolchains, which is reused across
/// runs.
fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/templates")
}

/// Runs `make -C FOLDER`. Runs are serialized, because the toolchains share their installation directory.
pub(super) fn make(folder: &Path) {
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    // In the shared target directory, cargo takes plugins of the same name for one package. A fresh
    // modification time forces a rebuild.
    if let Ok(source) = File::options().append(true).open(folder.join("src/lib.rs")) {
        source.set_modified(SystemTime::now()).expect("a time");
    }
    let output = Command::new("make")
        .arg("-C")
        .arg(folder)
        .env("CARGO_TARGET_DIR", tools().join("rust"))
        .env("VENV", tools().join("python"))
        .env("PIP_CACHE_DIR", tools().join("pip"))
        .env("npm_config_cache", tools().join("npm"))
        // Set by the `make` that runs the tests.
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .output()
        .expect("make runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// Creates, builds and installs a plugin, and calls its tool.
fn comes_alive(language: &str) {
    let program = Program::new();
    let (made, out, err) = program.run(&["plugin", "new", "--lang", language, "demo"]);
    assert!(made.success() && out.contains("make -C demo"), "{out}{err}");
    let folder = program.workspace().join("demo");
    make(&folder);
    let (_, out, err) = program.run(&["plugin", "add", "demo"]);
    // Compiling takes a while.
    let is_progress = err.lines().all(|line| line.starts_with("compiling demo "));
    assert!(is_progress && out.contains("nothing: it can only compute"), "{out}{err}");
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

/// Returns the error of a template whose function has a bug for one text.
fn with_bug(language: &str, source: &str, before: &str, bug: &str) -> String {
    let program = Program::new();
    let (made, out, err) = program.run(&["plugin", "new", "--lang", language, "demo"]);
    assert!(made.success(), "{out}{err}");
    let folder = program.workspace().join("demo");
    let text = std::fs::read_to_string(folder.join(source)).expect("the source");
    assert!(text.contains(before), "{text}");
    std::fs::write(folder.join(source), text.replacen(before, &format!("{bug}{before}"), 1)).expect("writes");
    make(&folder);
    super::install(&program, "demo");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let told = refused(&server.call("demo.count", json!({"text": "bug"}))).to_owned();
    assert!(!told.contains("This server refused") && !told.contains("wasi:filesystem"), "{told}");
    told
}

#[test]
fn a_bug_in_python_is_told_first_and_by_nothing_else() {
    let told = with_bug(
        "python",
        "app.py",
        "        if not text:",
        "        if text == \"bug\":\n            raise ValueError(\"boom\")\n",
    );
    assert!(told.starts_with("demo.count failed. It printed:\nTraceback "), "{told}");
    assert!(told.contains("\nValueError: boom\n"), "{told}");
}

#[test]
fn a_bug_in_javascript_arrives_with_its_line() {
    let told = with_bug(
        "js",
        "plugin.js",
        "  if (text === \"\")",
        "  if (text === \"bug\") return undefined.words;\n",
    );
    assert!(told.starts_with("TypeError: can't access property \"words\" of undefined\n"), "{told}");
    assert!(told.contains("@plugin.js:") && told.lines().count() <= 3, "{told}");
}

/// WIT world of the changed template: it stores data and reads a file.
const CHANGED_WORLD: &str = "package example:plugin;

world plugin {
    import scorpiox:tool/store@0.1.0;
    import scorpiox:tool/files@0.1.0;

    /// Counts its calls, and the bytes of a file.
    export remember: func(path: string) -> result<tuple<s64, u32>, string>;
}
";

const CHANGED_MANIFEST: &str = "name = \"demo\"
component = \"component.wasm\"
[capabilities.store]
why = \"counts its calls\"
[capabilities.files]
read = [\"workspace\"]
why = \"counts the bytes of a file\"
";

/// Returns the file and the source of a template, after an author's first change that follows the
/// documentation.
fn changed(language: &str) -> (&'static str, &'static str) {
    match language {
        "rust" => (
            "src/lib.rs",
            "wit_bindgen::generate!({ world: \"plugin\", generate_all });
             use scorpiox::tool::{files, store};
             struct Plugin;
             impl Guest for Plugin {
                 fn remember(path: String) -> Result<(i64, u32), String> {
                     let calls = store::increment(\"calls\", 1).map_err(|error| format!(\"{error:?}\"))?;
                     let bytes = files::read(&path, 1000).map_err(|error| format!(\"{error:?}\"))?;
                     Ok((calls, bytes.len() as u32))
                 }
             }
             export!(Plugin);
            ",
        ),
        "python" => (
            "app.py",
            "import wit_world
from wit_world.imports import files, store


class WitWorld(wit_world.WitWorld):
    def remember(self, path: str) -> tuple[int, int]:
        return store.increment(\"calls\", 1), len(files.read(path, 1000))
",
        ),
        _ => (
            "plugin.js",
            "import { read } from \"scorpiox:tool/files@0.1.0\";
             import { increment } from \"scorpiox:tool/store@0.1.0\";
             export function remember(path) {
                 return [increment(\"calls\", 1n), read(path, 1000n).length];
             }
            ",
        ),
    }
}

/// Asserts that a first change, to stored data and files, needs no additional build flag.
fn takes_its_first_change(language: &str) {
    let program = Program::new();
    let (made, out, err) = program.run(&["plugin", "new", "--lang", language, "demo"]);
    assert!(made.success(), "{out}{err}");
    let (source, text) = changed(language);
    for (path, text) in [("wit/world.wit", CHANGED_WORLD), ("plugin.toml", CHANGED_MANIFEST), (source, text)]
    {
        program.put(&format!("workspace/demo/{path}"), text);
    }
    program.put("workspace/notes.txt", "twelve bytes");
    make(&program.workspace().join("demo"));
    super::install(&program, "demo");
    let mut server = program.start();
    server.initialize("2025-11-25");
    for calls in 1..=2 {
        let result = server.call("demo.remember", json!({"path": "notes.txt"}));
        assert_eq!(result["structuredContent"], json!({"result": [calls, 12]}), "{result}");
    }
}

#[test]
fn rust_takes_its_first_change() {
    takes_its_first_change("rust");
}

#[test]
fn python_takes_its_first_change() {
    takes_its_first_change("python");
}

#[test]
fn javascript_takes_its_first_change() {
    takes_its_first_change("js");
}

#[test]
fn an_ordinary_program() {
    let program = Program::new();
    let (made, out, err) = program.run(&["plugin", "new", "--lang", "program", "demo"]);
    assert!(made.success() && out.contains("a tool demo.run"), "{out}{err}");
    make(&program.workspace().join("demo"));
    super::install(&program, "demo");
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert_eq!(listed(&mut server), ["demo.run"]);
    for (arguments, expected) in [
        (json!({"stdin": "one two\nthree"}), "3\n"),
        (json!({"stdin": "one two\nthree", "args": ["lines"]}), "2\n"),
        (json!({"stdin": "Grüße", "args": ["characters"]}), "5\n"),
    ] {
        assert_eq!(server.call("demo.run", arguments)["content"][0]["text"], expected);
    }
    let failed = server.call("demo.run", json!({"args": ["pages"]}));
    assert!(refused(&failed).contains("\"pages\" cannot be counted"), "{failed}");
}
