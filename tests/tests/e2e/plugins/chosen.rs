//! Tests of `plugin.toml`: it selects the functions that become tools and sets their names.

use std::fs;

use scorpiox_tests::Program;
use serde_json::json;

use super::{hash_of, install, kinds, listed, refused, source};

fn component() -> Vec<u8> {
    fs::read(kinds()).expect("the component")
}

/// Installs a plugin with the `kinds` component, starts a server and returns the names of the plugin's tools.
fn tools(manifest: &str) -> (Program, scorpiox_tests::Started, Vec<String>) {
    let program = Program::new();
    install(&program, &source(&program, "kinds", manifest, &component()));
    let mut server = program.start();
    server.initialize("2025-11-25");
    let names = listed(&mut server);
    (program, server, names)
}

/// Returns the error of a refused `plugin add`.
fn refusal(program: &Program, source: &str) -> String {
    let (added, out, err) = program.run(&["plugin", "add", source]);
    assert!(!added.success() && !out.contains("It asks for"), "{out}{err}");
    err.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn only_selected_functions_are_tools_and_each_by_the_name_that_it_gets() {
    let manifest = "select = [\"divide\", \"echo.text\"]\n[tools.divide]\nrename = \"ratio\"\n";
    let (program, mut server, names) = tools(manifest);
    assert_eq!(names, ["kinds.ratio", "kinds.echo.text"]);
    let result = server.call("kinds.ratio", json!({"a": 6, "b": 3}));
    assert_eq!(result["structuredContent"], json!({"result": 2}));
    let own = server.request("tools/call", json!({"name": "kinds.divide", "arguments": {"a": 6, "b": 3}}));
    assert_eq!(server.answer(own)["error"]["code"], -32602);
    let (_, shown, _) = program.run(&["plugin", "show", "kinds"]);
    assert!(shown.contains("kinds.ratio: ") && !shown.contains("kinds.divide"), "{shown}");
    let left_out = "echo.hue is no tool: `select` of plugin.toml does not have it";
    assert!(shown.contains(left_out), "{shown}");
    // A trial run uses the same tool name.
    let folder = program.workspace().join("sources/kinds").display().to_string();
    let (tried, out, err) = program.run(&["plugin", "test", &folder, "ratio", r#"{"a": 6, "b": 3}"#]);
    assert!(tried.success() && out.starts_with("2\n"), "{out}{err}");
}

#[test]
fn a_skipped_function_is_no_tool_and_show_says_so() {
    let (program, _server, names) =
        tools("[tools.divide]\nskip = true\n[tools.\"handles.take\"]\nskip = true\n");
    assert!(!names.contains(&"kinds.divide".to_owned()) && names.len() > 5, "{names:?}");
    let (_, shown, _) = program.run(&["plugin", "show", "kinds"]);
    assert!(shown.contains("divide is no tool: plugin.toml skips it"), "{shown}");
}

#[test]
fn names_that_are_not_there_or_would_be_one_are_errors() {
    let program = Program::new();
    for (manifest, expected) in [
        (
            "select = [\"dvide\"]\n",
            "has \"dvide\" in select, and the component has no such function; did you mean divide? Its",
        ),
        (
            "[tools.multiply]\nskip = true\n",
            "[tools.multiply], and the component has no such function; its functions: divide,",
        ),
        (
            "[tools.divide]\nrename = \"echo.text\"\n",
            "divide and echo.text would both be the tool echo.text;",
        ),
        ("[tools.divide]\nrename = \"a b\"\n", "tools.divide.rename is \"a b\"; a name has 1 to 58 letters"),
        (
            "[tools.\"vast.deep\"]\ntitle = \"x\"\n",
            "but vast.deep cannot be a tool: its types are nested deeper than 64 levels",
        ),
        (
            "[tools.divide]\nimage = \"image/png\"\n",
            "image in [tools.divide], but the function gives no list<u8>",
        ),
    ] {
        let said = refusal(&program, &source(&program, "kinds", manifest, &component()));
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn what_is_chosen_is_part_of_what_is_approved() {
    let program = Program::new();
    let of = |manifest: &str| hash_of(&program, &source(&program, "kinds", manifest, &component()));
    let all = [
        of(""),
        of("select = [\"divide\"]\n"),
        of("select = [\"divide\"]\n[tools.divide]\nrename = \"x\"\n"),
    ];
    assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2], "{all:?}");
    install(&program, &source(&program, "kinds", "select = [\"divide\"]\n", &component()));
    let installed = program.home().join(".scorpiox/plugins/kinds/plugin.toml");
    let text = fs::read_to_string(&installed).expect("the manifest");
    fs::write(&installed, text.replace("[\"divide\"]", "[\"echo.text\"]")).expect("writes");
    let (_, out, _) = program.run(&["plugin", "list"]);
    assert!(out.contains("disabled: its plugin.toml is not the one"), "{out}");
}

#[test]
fn a_name_that_is_too_long_is_helped_by_another() {
    let long = "x".repeat(61);
    let text = format!(
        "(component
            (core module $code (func (export \"give\") (result i32) i32.const 7))
            (core instance $code (instantiate $code))
            (func (export \"{long}\") (result u32) (canon lift (core func $code \"give\"))))"
    );
    let component = wat::parse_str(text).expect("a component");
    let program = Program::new();
    let said = refusal(&program, &source(&program, "raw", "", &component));
    assert!(said.contains("none of its functions can be a tool"), "{said}");
    install(&program, &source(&program, "raw", &format!("[tools.{long}]\nrename = \"give\"\n"), &component));
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert_eq!(server.call("raw.give", json!({}))["structuredContent"], json!({"result": 7}));
}

#[test]
fn two_plugins_of_one_name_are_had_under_two() {
    let program = Program::new();
    let folder = source(&program, "kinds", "[capabilities.store]\nwhy = \"keeps\"\n", &component());
    install(&program, &folder);
    program.put("workspace/Odd Name 2.wasm", component());
    let bare = program.workspace().join("Odd Name 2.wasm").display().to_string();
    for (source, name) in [(&folder, "second"), (&bare, "third")] {
        let (_, hash, err) = program.run(&["plugin", "hash", source, "--name", name]);
        assert_ne!(hash.trim(), hash_of(&program, &folder), "{err}");
        let (added, out, err) = program.run(&["plugin", "add", source, "--name", name, "--yes", hash.trim()]);
        assert!(added.success(), "{out}{err}");
    }
    let manifest = program.home().join(".scorpiox/plugins/second/plugin.toml");
    let text = fs::read_to_string(manifest).expect("the manifest");
    assert!(text.starts_with("name = \"second\"\n") && text.contains("why = \"keeps\""), "{text}");
    let mut server = program.start();
    server.initialize("2025-11-25");
    for name in ["kinds", "second", "third"] {
        let result = server.call(&format!("{name}.divide"), json!({"a": 6, "b": 3}));
        assert_eq!(result["structuredContent"], json!({"result": 2}), "{name}");
    }
    let (added, _, err) = program.run(&["plugin", "add", &folder, "--name", "No Name"]);
    assert!(!added.success() && err.contains("is not a plugin name"), "{err}");
}

/// Returns a component whose functions return bytes: `give` directly, `may` in a successful result, `fail` in
/// an error result.
fn giving(bytes: &str, length: usize) -> Vec<u8> {
    let text = format!(
        "(component
            (core module $code
                (memory (export \"memory\") 1)
                (data (i32.const 64) \"{bytes}\")
                (data (i32.const 0) \"\\40\\00\\00\\00\\{length:02x}\\00\\00\\00\")
                (data (i32.const 16) \"\\00\\00\\00\\00\\40\\00\\00\\00\\{length:02x}\\00\\00\\00\")
                (data (i32.const 48) \"no\")
                (data (i32.const 32) \"\\01\\00\\00\\00\\30\\00\\00\\00\\02\\00\\00\\00\")
                (func (export \"give\") (result i32) i32.const 0)
                (func (export \"may\") (result i32) i32.const 16)
                (func (export \"fail\") (result i32) i32.const 32))
            (core instance $code (instantiate $code))
            (func (export \"give\") (result (list u8))
                (canon lift (core func $code \"give\") (memory (core memory $code \"memory\"))))
            (func (export \"may\") (result (result (list u8) (error string)))
                (canon lift (core func $code \"may\") (memory (core memory $code \"memory\"))))
            (func (export \"fail\") (result (result (list u8) (error string)))
                (canon lift (core func $code \"fail\") (memory (core memory $code \"memory\")))))"
    );
    wat::parse_str(text).expect("a component")
}

const IMAGES: &str = "[tools.give]\nimage = \"image/png\"\n[tools.may]\nimage = \"image/png\"\n[tools.fail]\nimage = \"image/png\"\n";

#[test]
fn bytes_are_an_image_where_the_author_says_so_and_they_are_one() {
    let program = Program::new();
    let png = giving("\\89PNG\\0d\\0a\\1a\\0a-rest-", 14);
    install(&program, &source(&program, "raw", IMAGES, &png));
    let mut server = program.start();
    server.initialize("2025-11-25");
    for tool in ["raw.give", "raw.may"] {
        let result = server.call(tool, json!({}));
        let expected = json!({"type": "image", "data": "iVBORw0KGgotcmVzdC0=", "mimeType": "image/png"});
        assert_eq!(result["content"][0], expected, "{result}");
        assert!(result.get("structuredContent").is_none(), "{result}");
    }
    assert_eq!(refused(&server.call("raw.fail", json!({}))), "no");
    let tools = server.ask("tools/list", json!({}));
    let tool = tools["result"]["tools"]
        .as_array()
        .and_then(|all| all.iter().find(|tool| tool["name"] == "raw.give"));
    assert!(tool.expect("the tool").get("outputSchema").is_none(), "{tool:?}");
}

#[test]
fn bytes_that_are_no_such_image_are_an_error_that_says_so() {
    let program = Program::new();
    install(&program, &source(&program, "raw", IMAGES, &giving("GIF89a", 6)));
    let mut server = program.start();
    server.initialize("2025-11-25");
    let result = server.call("raw.give", json!({}));
    assert_eq!(
        refused(&result),
        "give gave 6 bytes that are no image/png; they begin with: 47 49 46 38 39 61."
    );
}

#[test]
fn an_image_is_bound_by_the_limit_of_output() {
    let program = Program::new();
    // The result is one byte longer than 1 KiB; the memory after its prefix is zero.
    let component = wat::parse_str(
        "(component
            (core module $code
                (memory (export \"memory\") 1)
                (data (i32.const 64) \"\\89PNG\\0d\\0a\\1a\\0a\")
                (data (i32.const 0) \"\\40\\00\\00\\00\\01\\04\\00\\00\")
                (func (export \"give\") (result i32) i32.const 0))
            (core instance $code (instantiate $code))
            (func (export \"give\") (result (list u8))
                (canon lift (core func $code \"give\") (memory (core memory $code \"memory\")))))",
    )
    .expect("a component");
    let manifest = "[limits]\noutput_kib = 1\n[tools.give]\nimage = \"image/png\"\n";
    install(&program, &source(&program, "raw", manifest, &component));
    let mut server = program.start();
    server.initialize("2025-11-25");
    let result = server.call("raw.give", json!({}));
    assert!(refused(&result).contains("1024"), "{result}");
}
