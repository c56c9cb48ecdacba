//! The plugins in `examples/plugins` build, are approved with what they ask for, and do what they say.

use std::fs;
use std::path::{Path, PathBuf};

use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::languages::make;
use super::{install, listed, refused};

fn folder(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/plugins").join(language)
}

/// Copies what the project has of a plugin, but nothing that was built there.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the example").map(|entry| entry.expect("an entry")) {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if ["target", "node_modules", "component.wasm"].iter().any(|built| entry.file_name() == *built) {
            continue;
        }
        if source.is_dir() {
            copy(&source, &target);
        } else {
            fs::copy(&source, &target).expect("a copy");
        }
    }
}

/// A server that has the example, built and approved.
fn installed(language: &str) -> (Program, Started) {
    let program = Program::new();
    let source = program.workspace().join("plugin");
    copy(&folder(language), &source);
    make(&source);
    install(&program, "plugin");
    let mut server = program.start();
    server.initialize("2025-11-25");
    (program, server)
}

fn structured(server: &mut Started, tool: &str, arguments: Value) -> Value {
    let result = server.call(tool, arguments);
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"].clone()
}

#[test]
fn rust_counts_the_words_of_a_file_and_reads_nothing_else() {
    let (program, mut server) = installed("rust");
    assert_eq!(listed(&mut server), ["words.count"]);
    program.put("workspace/notes.txt", "The cat, the dog.\nThe end.\n");
    let found = structured(&mut server, "words.count", json!({"path": "notes.txt", "top": 2}));
    let most = json!([{"word": "the", "times": 3}, {"word": "cat", "times": 1}]);
    assert_eq!(found, json!({"lines": 2, "words": 6, "most": most}));
    program.put("workspace/.env", "KEY=1");
    for path in ["/etc/passwd", ".env", "missing.txt"] {
        let result = server.call("words.count", json!({"path": path}));
        assert!(refused(&result).contains(path), "{result}");
    }
}

#[test]
fn the_interface_that_the_rust_example_imports_is_the_projects() {
    let copy = fs::read_to_string(folder("rust").join("wit/deps/scorpiox-tool/files.wit")).expect("a file");
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/files.wit");
    assert_eq!(copy, fs::read_to_string(own).expect("the interface"));
}

#[test]
fn javascript_rewrites_names_and_titles() {
    let (_program, mut server) = installed("js");
    assert_eq!(listed(&mut server), ["text.restyle", "text.slug"]);
    for (style, expected) in [
        ("snake", "http_server_port"),
        ("kebab", "http-server-port"),
        ("camel", "httpServerPort"),
        ("pascal", "HttpServerPort"),
    ] {
        let arguments = json!({"name": "HTTPServer port", "style": style});
        assert_eq!(structured(&mut server, "text.restyle", arguments), json!({"result": expected}));
    }
    let slug = structured(&mut server, "text.slug", json!({"title": "Crème brûlée, twice!"}));
    assert_eq!(slug, json!({"result": "creme-brulee-twice"}));
    let result = server.call("text.slug", json!({"title": "!"}));
    assert_eq!(refused(&result), "There is no word in \"!\".");
}

#[test]
fn python_summarizes_a_column() {
    let (_program, mut server) = installed("python");
    assert_eq!(listed(&mut server), ["table.summarize"]);
    let csv = "city,cost\nUlm,12\nBonn,8\nKiel,\n";
    let found = structured(&mut server, "table.summarize", json!({"csv": csv, "column": "cost"}));
    let expected = json!({
        "rows": 3, "skipped": 1, "smallest": 8.0, "largest": 12.0, "mean": 10.0, "median": 10.0
    });
    assert_eq!(found, expected);
    let result = server.call("table.summarize", json!({"csv": csv, "column": "price"}));
    assert_eq!(refused(&result), "There is no column 'price'. Columns: city, cost.");
}
