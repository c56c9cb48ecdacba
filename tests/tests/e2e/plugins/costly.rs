//! Tests of components that are expensive to compile or whose types are expensive to describe.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use serde_json::json;

use super::{install, refused, source};

/// Returns a component with a function `give` that returns 7, and this number of other functions.
fn large(functions: usize) -> Vec<u8> {
    let other = "(func (param i32) (result i32)
                   (local.set 0 (i32.mul (local.get 0) (i32.add (local.get 0) (i32.const 3))))
                   (if (local.get 0) (then (local.set 0 (i32.const 7)))) (local.get 0))\n";
    let text = format!(
        "(component
            (core module $code (func (export \"give\") (result i32) (i32.const 7)) {})
            (core instance $code (instantiate $code))
            (func (export \"give\") (result u32) (canon lift (core func $code \"give\"))))",
        other.repeat(functions)
    );
    wat::parse_str(text).expect("a component")
}

#[test]
fn types_that_grow_from_few_bytes_are_refused_quickly() {
    let mut types = String::from("(type $t0 (tuple u8 u8))");
    for n in 1..=16 {
        let _ = write!(types, "(type $t{n} (tuple $t{} $t{}))", n - 1, n - 1);
    }
    let text = format!(
        "(component {types}
            (core module $code
                (memory (export \"memory\") 16)
                (func (export \"give\") (result i32) (i32.const 0)))
            (core instance $code (instantiate $code))
            (func (export \"give\") (result $t16)
                (canon lift (core func $code \"give\") (memory (core memory $code \"memory\")))))"
    );
    let component = wat::parse_str(text).expect("a component");
    assert!(component.len() < 500, "{} bytes", component.len());
    let program = Program::new();
    let begun = Instant::now();
    let (status, _, err) = program.run(&["plugin", "add", &source(&program, "grows", "", &component)]);
    assert!(!status.success() && err.contains("its types have more than 4096 parts in all"), "{err}");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn compiling_for_a_call_delays_nobody_and_can_be_cancelled() {
    let program = Program::new();
    install(&program, &source(&program, "large", "", &large(20_000)));
    let kept = program.home().join(".scorpiox/cache/components");
    fs::remove_dir_all(&kept).expect("there was code");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let give = json!({"name": "large.give", "arguments": {}});
    let [first, second] = [0; 2].map(|_| server.request("tools/call", give.clone()));
    assert_eq!(server.text("PlanMode", json!({"action": "status"})), "Plan mode is not active.");
    server.notify("notifications/cancelled", json!({ "requestId": first }));
    // The compilation started for the first call, which is cancelled. The second call uses its result.
    let answer = server.answer(second);
    assert_eq!(answer["result"]["structuredContent"], json!({"result": 7}), "{answer}");
    assert_eq!(fs::read_dir(&kept).expect("a folder").count(), 1, "the code is kept again");
}

#[test]
fn where_compiling_takes_longer_than_an_answer_may_a_command_does_it() {
    let program = Program::new().with("ANSWER_WITHIN", "1");
    install(&program, &source(&program, "large", "", &large(60_000)));
    let kept = program.home().join(".scorpiox/cache/components");
    fs::remove_dir_all(&kept).expect("there was code");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let result = server.call("large.give", json!({}));
    let why = refused(&result);
    assert!(why.contains("its code was not compiled in time") && why.contains("after 1 s"), "{why}");
    let command = why.split('`').nth(1).and_then(|command| command.strip_prefix("scorpiox-code "));
    let arguments: Vec<_> = command.expect("a command").split(' ').collect();
    assert!(program.run(&arguments).0.success(), "{arguments:?}");
    let result = server.call("large.give", json!({}));
    assert_eq!(result["structuredContent"], json!({"result": 7}), "{result}");
}

#[test]
fn kept_code_that_was_damaged_is_not_loaded() {
    let program = Program::new();
    install(&program, &source(&program, "large", "", &large(1)));
    let kept = program.home().join(".scorpiox/cache/components");
    let file = fs::read_dir(&kept).expect("a folder").flatten().next().expect("code").path();
    let mut code = fs::read(&file).expect("code");
    let middle = code.len() / 2;
    code[middle] ^= 1;
    fs::write(&file, &code).expect("writes");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let result = server.call("large.give", json!({}));
    assert_eq!(result["structuredContent"], json!({"result": 7}), "compiled again: {result}");
    assert_ne!(fs::read(&file).expect("code"), code, "and kept again");
}

#[test]
fn a_component_that_is_none_is_refused_by_the_compiler() {
    let program = Program::new();
    let (status, _, err) =
        program.run(&["plugin", "add", &source(&program, "broken", "", b"\0asm\x0d\0\x01\0\xff\xff")]);
    assert!(!status.success() && err.contains("cannot be a plugin"), "{err}");
}

#[test]
fn nothing_of_compiling_stays_in_the_folder_for_temporary_files() {
    let program = Program::new();
    let temporary = program.home().join("temporary");
    fs::create_dir(&temporary).expect("a folder");
    let name = if cfg!(windows) { "TMP" } else { "TMPDIR" };
    let program = program.with(name, temporary.to_str().expect("Unicode"));
    install(&program, &source(&program, "large", "", &large(1)));
    let (_, _, err) =
        program.run(&["plugin", "add", &source(&program, "broken", "", b"\0asm\x0d\0\x01\0\xff\xff")]);
    assert!(err.contains("cannot be a plugin"), "{err}");
    assert_eq!(fs::read_dir(&temporary).expect("a folder").count(), 0);
}
