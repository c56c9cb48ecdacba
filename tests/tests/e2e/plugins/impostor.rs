//! Tests of misleading tool definitions and results: they deceive neither users nor models, and break
//! nothing.

use scorpiox_tests::Program;
use serde_json::json;

use super::{guest, impostor_as, install, listed, refused, source};

const STORE: &str = "[capabilities.store]\nwhy = \"keeps things\"\n";

/// Returns the reason that a component cannot be added.
fn refusal(component: &[u8]) -> String {
    let program = Program::new();
    let source = source(&program, "impostor", STORE, component);
    let (status, out, err) = program.run(&["plugin", "add", &source]);
    assert!(!status.success() && out.is_empty(), "{out}{err}");
    assert_eq!(
        program.run(&["plugin", "list"]).1,
        "no plugins; `scorpiox-code plugin add FILE` installs one\n"
    );
    err
}

#[test]
fn definitions_that_mislead_are_refused_and_shown_escaped() {
    for member in ["name", "title", "description", "schema"] {
        for kind in ["bidi", "zero-width", "joiner", "ansi", "tag", "long"] {
            let text = refusal(&impostor_as(&format!("{member} {kind}")));
            let expected = match (member, kind) {
                ("name", _) => "a tool has the name".to_owned(),
                // JSON requires escaping this character, so a schema that contains it is invalid JSON.
                ("schema", "ansi") => "it failed when it was asked for its tools".to_owned(),
                ("schema", "long") => "the limit is 65536".to_owned(),
                (_, "long") => format!("the {member} of version has 1000000 characters"),
                ("schema", _) => "the input_schema of version has the invisible character \\u{".to_owned(),
                _ => format!("the {member} of version has the invisible character \\u{{"),
            };
            assert!(text.contains(&expected), "{member} {kind}: {text}");
            assert!(text.len() < 2000, "{member} {kind}: {} bytes", text.len());
            assert!(text.chars().all(|c| c == '\n' || (' '..='~').contains(&c) || c == '…'), "{text:?}");
        }
    }
    assert!(refusal(&impostor_as("many")).contains("it has 65 tools; the limit is 64"));
    assert!(refusal(&impostor_as("no-json")).contains("it failed when it was asked for its tools"));
}

#[test]
fn what_clients_refuse_in_a_schema_is_named_with_its_place() {
    let program = Program::new();
    let source = source(&program, "impostor", STORE, &impostor_as("strict"));
    for command in ["test", "add"] {
        let (_, out, err) = program.run(&["plugin", command, &source]);
        let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
        for (place, fault) in [
            ("/oneOf", "stands at the top"),
            ("/required", "is null; write a list of names"),
            ("/properties/the city", "is a name with other characters"),
            ("/properties/the city/type", "is \"unknown\"; write one of array, "),
            ("/properties/the city/$ref", "is \"#/$defs/none\", which is not in this schema"),
        ] {
            let note = "Some clients refuse the input_schema of version, and all tools with it:";
            let expected = format!("{note} {place} {fault}");
            assert!(said.contains(&expected), "{command}: {expected}: {said}{err}");
        }
    }
}

#[test]
fn no_plugin_takes_the_name_of_a_built_in_tool() {
    let program = Program::new();
    install(&program, &source(&program, "bash", STORE, &impostor_as("bash")));
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert!(listed(&mut server).contains(&"bash.Bash".to_owned()));
    let list = server.ask("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().expect("tools");
    assert_eq!(tools.iter().filter(|tool| tool["name"] == "Bash").count(), 1);
    assert_eq!(server.text("bash.Bash", json!({})), "bash");
    // The built-in tool requires a command.
    assert!(refused(&server.call("Bash", json!({}))).contains("command"));
}

#[test]
fn components_for_other_versions_of_the_interface_are_refused() {
    let replace = |from: &str, to: &str| {
        let mut bytes = impostor_as("plain");
        let (from, to) = (from.as_bytes(), to.as_bytes());
        for at in 0..bytes.len() - from.len() {
            if bytes[at..].starts_with(from) {
                bytes[at..at + to.len()].copy_from_slice(to);
            }
        }
        bytes
    };
    let newer = refusal(&replace("@0.1.0", "@0.9.0"));
    assert!(
        newer.contains("@0.9.0, which this version of scorpiox-code does not provide; a newer one may"),
        "{newer}"
    );
    let other = refusal(&replace("scorpiox:tool/tool@0.1.0", "scorpiox:tool/tool@0.9.0"));
    assert!(other.contains("it exports scorpiox:tool/tool@0.9.0, but this program supports"), "{other}");
}

#[test]
fn code_that_was_compiled_elsewhere_is_refused() {
    let precompiled = guest("impostor").with_file_name("impostor.cwasm");
    let text = refusal(&std::fs::read(precompiled).expect("compiled code"));
    assert!(text.contains("what is compiled elsewhere is not run"), "{text}");
}

#[test]
fn what_a_call_stored_before_it_failed_is_not_kept() {
    let program = Program::new();
    install(&program, &source(&program, "impostor", STORE, &impostor_as("plain")));
    let mut server = program.start();
    server.initialize("2025-11-25");
    for (tool, expected) in [
        ("set-then-trap", "impostor.set-then-trap has no result: the tool failed internally"),
        ("set-then-fail", "on purpose"),
    ] {
        let result = server.call(&format!("impostor.{tool}"), json!({}));
        assert!(refused(&result).starts_with(expected), "{result}");
        assert_eq!(server.text("impostor.get", json!({})), "nothing");
    }
}

#[test]
fn a_structured_result_that_is_no_object_is_left_out() {
    let program = Program::new();
    install(&program, &source(&program, "impostor", STORE, &impostor_as("plain")));
    let mut server = program.start();
    server.initialize("2025-11-25");
    let mut given = |text: &str| {
        let result = server.call("impostor.structured", json!({ "given": format!("'{text}'") }));
        assert_eq!(result["content"][0]["text"], "text", "{text:.40}");
        result.get("structuredContent").cloned()
    };
    assert_eq!(given("{\n\"a\":\n[1]}"), Some(json!({"a": [1]})));
    let deep = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    for text in ["", "no JSON", "{", "[1]", "null", "1", "{} {}", deep.as_str()] {
        assert_eq!(given(text), None, "{text:.40}");
    }
    // Some models receive only structured data. Invisible characters are removed from it, or it is left out
    // entirely.
    assert_eq!(given("{\"a\":1,\"x\":\"A\u{202e}B\u{e0041}C\"}"), Some(json!({"a": 1, "x": "ABC"})));
    assert_eq!(given("{\"a\":1e400,\"x\":\"A\u{202e}B\u{e0041}C\"}"), None);
}
