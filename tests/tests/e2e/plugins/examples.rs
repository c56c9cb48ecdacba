//! Tests of the plugins in `examples/plugins`: they build, request the expected permissions and work.

use std::fs;
use std::path::{Path, PathBuf};

use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::languages::make;
use super::{install, listed, refused};

fn folder(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/plugins").join(language)
}

/// Copies the tracked files of a plugin without build output.
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

/// Starts a server with the example built and approved.
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
fn notes_are_kept_discussed_and_read() {
    let (program, first) = installed("notes");
    drop(first);
    let mut server = program.start();
    server.initialize_with("2025-11-25", json!({ "elicitation": {} }));
    let kept = structured(&mut server, "notes.keep", json!({ "name": "one", "text": "Buy milk." }));
    assert_eq!(kept, json!({ "result": "Kept as notes://one." }));
    let id = server.request("tools/call", json!({ "name": "notes.keep", "arguments": { "name": "two" } }));
    let form = server.notification("elicitation/create");
    let message = form["params"]["message"].as_str().expect("a message");
    assert_eq!(message, "The plugin notes asks: What is to stand in the note two?");
    let accepted = json!({ "action": "accept", "content": { "text": "Call Ann." } });
    server.send(&json!({ "jsonrpc": "2.0", "id": form["id"], "result": accepted }));
    assert_eq!(server.answer(id)["result"]["isError"], false);
    let read = server.ask("resources/read", json!({ "uri": "notes://two" }));
    assert_eq!(read["result"]["contents"][0]["text"], "Call Ann.", "{read}");
    let params = json!({ "name": "notes.improve", "arguments": { "name": "one" } });
    let prompt = server.ask("prompts/get", params);
    assert_eq!(prompt["result"]["messages"][0]["content"]["resource"]["text"], "Buy milk.", "{prompt}");
    let typed = json!({
        "ref": { "type": "ref/prompt", "name": "notes.improve" },
        "argument": { "name": "name", "value": "t" },
    });
    let completed = server.ask("completion/complete", typed);
    assert_eq!(completed["result"]["completion"]["values"], json!(["two"]), "{completed}");
}

#[test]
fn the_interfaces_that_the_examples_in_rust_have_are_the_projects() {
    for example in ["rust", "notes"] {
        let copies = folder(example).join("wit/deps/scorpiox-tool");
        for copy in fs::read_dir(copies).expect("interfaces").map(|copy| copy.expect("an interface")) {
            let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit").join(copy.file_name());
            let (copy, own) = (fs::read_to_string(copy.path()), fs::read_to_string(own));
            assert_eq!(copy.expect("a file"), own.expect("the interface"));
        }
    }
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
