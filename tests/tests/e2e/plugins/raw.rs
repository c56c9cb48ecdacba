//! Tests of handwritten components with values that are invalid in the component model.

use std::time::{Duration, Instant};

use scorpiox_tests::{Program, Started};
use serde_json::json;

use super::{hash_of, install, listed, refused, source};

/// Returns a component with one function `give` of this result type. `data` is the start of its memory, to
/// which `give` returns a pointer, and `body` is its core code.
fn component(result: &str, data: &str, body: &str) -> Vec<u8> {
    let text = format!(
        "(component
            (core module $code
                (memory (export \"memory\") 1)
                (data (i32.const 0) \"{data}\")
                (func (export \"give\") (result i32) {body}))
            (core instance $code (instantiate $code))
            (func (export \"give\") (result {result})
                (canon lift (core func $code \"give\") (memory (core memory $code \"memory\")))))"
    );
    wat::parse_str(text).expect("a component")
}

fn serving(component: &[u8]) -> (Program, Started) {
    let program = Program::new();
    install(&program, &source(&program, "raw", "[limits]\ncpu_seconds = 1\n", component));
    let mut server = program.start();
    server.initialize("2025-11-25");
    (program, server)
}

#[test]
fn values_that_are_none_end_the_call() {
    for (result, data, body, expected) in [
        // Four bytes at offset 8 that are invalid UTF-8.
        ("string", "\\08\\00\\00\\00\\04\\00\\00\\00\\ff\\fe\\c0\\80", "i32.const 0", "invalid utf-8"),
        // A surrogate, encoded like a character.
        ("string", "\\08\\00\\00\\00\\03\\00\\00\\00\\ed\\a0\\80", "i32.const 0", "invalid utf-8"),
        ("string", "\\f0\\ff\\ff\\ff\\64\\00\\00\\00", "i32.const 0", "out of bounds"),
        ("string", "\\00\\00\\00\\00\\ff\\ff\\ff\\ff", "i32.const 0", "out of bounds"),
        ("(list u64)", "\\08\\00\\00\\00\\ff\\ff\\ff\\ff", "i32.const 0", "out of bounds"),
        ("(list u64)", "\\01\\00\\00\\00\\01\\00\\00\\00", "i32.const 0", "not aligned"),
        ("string", "", "i32.const 65534", "not aligned"),
        ("string", "", "i32.const -8", "out of bounds"),
        ("char", "", "i32.const 0xd800", "char"),
        ("(option u32)", "\\07", "i32.const 0", "discriminant 7"),
        ("u32", "", "unreachable", "failed internally"),
    ] {
        let (_program, mut server) = serving(&component(result, data, body));
        let answer = server.call("raw.give", json!({}));
        let text = refused(&answer);
        assert!(text.contains(expected), "{result} {body}: {text}");
        assert!(server.ask("ping", json!({}))["result"].is_object());
    }
}

#[test]
fn code_that_runs_before_the_call_has_its_bounds() {
    for (start, expected) in [
        ("(func $start (loop $again br $again))", "used up its 1 s of processor time"),
        ("(func $start unreachable)", "failed internally"),
        ("(func $start (call $start))", "recursed too deeply"),
    ] {
        let text = format!(
            "(component
                (core module $code {start} (start $start) (func (export \"give\") (result i32) i32.const 1))
                (core instance $code (instantiate $code))
                (func (export \"give\") (result u32) (canon lift (core func $code \"give\"))))"
        );
        let begun = Instant::now();
        let (_program, mut server) = serving(&wat::parse_str(text).expect("a component"));
        let answer = server.call("raw.give", json!({}));
        assert!(refused(&answer).contains(expected), "{answer}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}

#[test]
fn a_component_of_many_instances_and_memories_is_bounded() {
    let instances = "(core instance (instantiate $code))".repeat(2000);
    let text = format!(
        "(component
            (core module $code (memory 1) (func (export \"give\") (result i32) i32.const 1))
            {instances}
            (core instance $last (instantiate $code))
            (func (export \"give\") (result u32) (canon lift (core func $last \"give\"))))"
    );
    let program = Program::new();
    let source = source(&program, "raw", "", &wat::parse_str(text).expect("a component"));
    let (added, out, err) = program.run(&["plugin", "add", &source]);
    assert!(!added.success());
    // Each component is refused immediately or at the call, never with a crash.
    let (looked, hash, _) = program.run(&["plugin", "hash", &source]);
    if looked.success() {
        assert!(program.run(&["plugin", "approve", "raw", "--yes", hash.trim()]).0.success(), "{out}{err}");
        let mut server = program.start();
        server.initialize("2025-11-25");
        let answer = server.call("raw.give", json!({}));
        assert!(refused(&answer).starts_with("raw.give has no result"), "{answer}");
    } else {
        assert!(err.contains("raw cannot be a plugin"), "{err}");
    }
}

/// Returns a component that exports one function under many names.
fn exporting(imports: &str, names: impl IntoIterator<Item = String>) -> Vec<u8> {
    let exports: String = names.into_iter().map(|name| format!("(export \"{name}\" (func $give))")).collect();
    let text = format!(
        "(component {imports}
            (core module $code (func (export \"give\") (result i32) i32.const 7))
            (core instance $code (instantiate $code))
            (func $give (result u32) (canon lift (core func $code \"give\")))
            {exports})"
    );
    wat::parse_str(text).expect("a component")
}

#[test]
fn what_cannot_be_a_tool_costs_only_itself() {
    let long = "x".repeat(61);
    let names = std::iter::once(long.clone()).chain((0..70).map(|n| format!("give{n}")));
    let program = Program::new();
    let source = source(&program, "raw", "", &exporting("", names));
    install(&program, &source);
    let (_, shown, _) = program.run(&["plugin", "show", "raw"]);
    let text = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("{long} cannot be a tool: ")), "{shown}");
    assert!(
        text.contains(
            "6 more functions are no tools: 70 could be, and the limit is 64. `--max-tools 70`, or max_tools = 70 in \
             plugin.toml, allows all of them, and `select` chooses some."
        ),
        "{shown}"
    );
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert_eq!(listed(&mut server).len(), 64);
    assert_eq!(server.call("raw.give63", json!({}))["structuredContent"], json!({"result": 7}));
}

#[test]
fn more_tools_than_usual_are_approved_by_their_number() {
    let program = Program::new();
    let names = || (0..95).map(|n| format!("give{n}"));
    program.put("workspace/many.wasm", exporting("", names()));
    let (_, inspected, _) = program.run(&["plugin", "inspect", "many.wasm"]);
    let text = inspected.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("31 more functions are no tools: 95 could be, and the limit is 64."), "{text}");
    let usual = hash_of(&program, "many.wasm");
    let (hashed, hash, err) = program.run(&["plugin", "hash", "many.wasm", "--max-tools", "95"]);
    assert!(hashed.success() && hash.trim() != usual, "another number is another plugin: {hash}{err}");
    let (added, out, err) =
        program.run(&["plugin", "add", "many.wasm", "--max-tools", "95", "--yes", hash.trim()]);
    assert!(added.success() && out.contains("Its 95 tools, more than the usual 64\n"), "{out}{err}");
    let mut server = program.start();
    server.initialize("2025-11-25");
    assert_eq!(listed(&mut server).len(), 95);
    assert_eq!(server.call("many.give94", json!({}))["structuredContent"], json!({"result": 7}));
    let (updated, out, err) = program.run(&["plugin", "update", "many"]);
    assert!(updated.success() && out.contains("is current"), "the number is kept: {out}{err}");
    let (added, _, err) = program.run(&["plugin", "add", "many.wasm", "--max-tools", "257"]);
    assert!(!added.success() && err.contains("--max-tools 257: write 1 to 256"), "{err}");
    // In a manifest, the author writes the number.
    let folder = source(&program, "lots", "max_tools = 95\n", &exporting("", names()));
    install(&program, &folder);
    let (_, shown, _) = program.run(&["plugin", "show", "lots"]);
    assert!(shown.contains("Its 95 tools") && shown.contains("lots.give94"), "{shown}");
}

#[test]
fn a_newer_wasi_is_named() {
    let program = Program::new();
    let clock = "(import \"wasi:clocks/timezone@0.3.0\" (instance (export \"now\" (func (result u64)))))";
    let source = source(&program, "raw", "", &exporting(clock, ["give".to_owned()]));
    let (added, _, err) = program.run(&["plugin", "add", &source]);
    assert!(!added.success() && err.contains("raw cannot be a plugin: it is a WASI 0.3 component"), "{err}");
}

/// Returns a component that counts its calls in the store and runs `after` as its post-return function.
fn cleaning_up(after: &str) -> Vec<u8> {
    let text = format!(
        "(component
            (import \"scorpiox:tool/store@0.1.0\" (instance $store
                (type $e (variant
                    (case \"quota-exceeded\" u64) (case \"too-large\" string) (case \"unavailable\" string)))
                (export \"error\" (type $error (eq $e)))
                (export \"increment\"
                    (func (param \"key\" string) (param \"delta\" s64) (result (result s64 (error $error)))))))
            (core module $memory
                (memory (export \"memory\") 1)
                (data (i32.const 0) \"count\")
                (func (export \"realloc\") (param i32 i32 i32 i32) (result i32) i32.const 1024))
            (core instance $memory (instantiate $memory))
            (core func $increment (canon lower (func $store \"increment\")
                (memory (core memory $memory \"memory\")) (realloc (core func $memory \"realloc\"))))
            (core module $code
                (import \"host\" \"increment\" (func $increment (param i32 i32 i64 i32)))
                (import \"host\" \"memory\" (memory 1))
                (func (export \"give\") (result i32)
                    (call $increment (i32.const 0) (i32.const 5) (i64.const 1) (i32.const 64))
                    (i32.load (i32.const 72)))
                (func (export \"fail\") (result i32)
                    (call $increment (i32.const 0) (i32.const 5) (i64.const 1) (i32.const 64))
                    unreachable)
                (func (export \"after\") (param i32) {after}))
            (core instance $host
                (export \"increment\" (func $increment))
                (export \"memory\" (memory $memory \"memory\")))
            (core instance $code (instantiate $code (with \"host\" (instance $host))))
            (func (export \"give\") (result u32)
                (canon lift (core func $code \"give\") (post-return (core func $code \"after\"))))
            (func (export \"fail\") (result u32)
                (canon lift (core func $code \"fail\") (post-return (core func $code \"after\")))))"
    );
    wat::parse_str(text).expect("a component")
}

#[test]
fn a_result_that_was_given_stays_when_cleaning_up_fails() {
    const KEEPS: &str = "[capabilities.store]\nwhy = \"counts\"\n[limits]\ncpu_seconds = 1\n";
    for after in ["unreachable", "(loop $again br $again)"] {
        let program = Program::new().with("SCORPIOX_LOG", "warn");
        install(&program, &source(&program, "raw", KEEPS, &cleaning_up(after)));
        let mut server = program.start();
        server.initialize("2025-11-25");
        for count in 1..3 {
            // The stored count was committed with the result.
            let answer = server.call("raw.give", json!({}));
            assert_eq!(answer["structuredContent"], json!({ "result": count }), "{after}: {answer}");
        }
        // Without a result, the store is rolled back.
        assert!(refused(&server.call("raw.fail", json!({}))).contains("failed internally"));
        assert_eq!(server.call("raw.give", json!({}))["structuredContent"], json!({ "result": 3 }));
        let (given, out, said) = program.run(&["call", "raw.give", "{}"]);
        assert!(given.success() && out.contains('4'), "{out}{said}");
        assert!(said.contains("give gave its result, and failed when it cleaned up"), "{said}");
    }
}

#[test]
fn more_bytes_than_a_result_may_have_are_refused_with_the_bound() {
    let text = "(component
        (core module $code
            (memory (export \"memory\") 64)
            (data (i32.const 0) \"\\08\\00\\00\\00\\80\\84\\1e\\00\")
            (func (export \"give\") (result i32) i32.const 0))
        (core instance $code (instantiate $code))
        (func (export \"give\") (result (list u8))
            (canon lift (core func $code \"give\") (memory (core memory $code \"memory\")))))";
    let (_program, mut server) = serving(&wat::parse_str(text).expect("a component"));
    let answer = server.call("raw.give", json!({}));
    let told = refused(&answer);
    assert!(told.contains("passed more than 48 MiB to the host at once, as its result"), "{told}");
    assert!(told.contains("a `list<u8>` in a result has at most 1"), "{told}");
}

#[test]
fn a_trap_while_it_lists_its_tools_names_the_function_and_what_it_may() {
    let text = "(component
        (core module $code
            (memory (export \"memory\") 1)
            (func (export \"list\") (result i32) unreachable))
        (core instance $code (instantiate $code))
        (func $list (result (list string))
            (canon lift (core func $code \"list\") (memory (core memory $code \"memory\"))))
        (instance $tool (export \"list-tools\" (func $list)))
        (export \"scorpiox:tool/tool@0.1.0\" (instance $tool)))";
    let program = Program::new();
    let folder = source(&program, "raw", "", &wat::parse_str(text).expect("a component"));
    let (added, _, err) = program.run(&["plugin", "add", &folder]);
    let said = err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!added.success() && said.contains("raw"), "{err}");
    let expected = "its list-tools failed (wasm trap: wasm `unreachable` instruction executed); while it lists, it has \
                    no capabilities, 5 s and 64 MiB of memory, so that it has to return a list that it knows";
    assert!(said.contains(expected) && !said.contains("wasm backtrace"), "{err}");
}
