use std::cell::Cell;
use std::time::Instant;

use super::*;

fn never() -> bool {
    false
}

/// Returns a component with this number of small functions.
fn large(functions: usize) -> Vec<u8> {
    let one = "(func (param i32) (result i32)
                 (local.set 0 (i32.mul (local.get 0) (i32.add (local.get 0) (i32.const 3))))
                 (if (local.get 0) (then (local.set 0 (i32.const 7)))) (local.get 0))\n";
    wat::parse_str(format!("(component (core module {}))", one.repeat(functions))).expect("a component")
}

fn with(bounds: Bounds, component: &[u8]) -> CompileError {
    work("compile", component, bounds, never).expect_err("an error")
}

#[test]
fn a_component_becomes_code_of_it() {
    let component = large(1);
    let mut code = compile(&component, never).expect("code");
    let mut bytes = Vec::new();
    code.read().expect("reads").read_to_end(&mut bytes).expect("reads");
    assert!(bytes.starts_with(b"\x7fELF"));
    assert_eq!(code.hash().len(), 64);
    assert_eq!(compile(&component, never).expect("code").hash(), code.hash(), "always the same");
}

#[test]
fn what_is_wrong_with_the_bytes_is_said() {
    let error = compile(b"\0asm\x0d\0\x01\0\xff", never).expect_err("an error");
    assert!(matches!(&error, CompileError::Refused(why) if !why.is_empty()), "{error:?}");
    assert!(error.is_lasting());
    let error = encode(&wat::parse_str("(module)").expect("a module"), never).expect_err("an error");
    assert!(error.to_string().contains("contains no WIT types"), "{error}");
}

#[test]
fn what_it_says_cannot_act_on_a_terminal() {
    assert_eq!(plain("a\u{1b}[2Jb\nc\r"), "a\u{fffd}[2Jb\nc\u{fffd}");
    assert_eq!(
        one_line("thread panicked at a.rs:1:2:\n  no\u{1b} type\n"),
        "thread panicked at a.rs:1:2: no\u{fffd} type"
    );
}

#[test]
fn comments_come_from_texts_alone() {
    let wit = "package a:b;\nworld all {\n /// Says hello.\n export greet: func();\n}";
    let found = comments(&[vec![("all.wit".to_owned(), wit.to_owned())]], never).expect("comments");
    let expected = Comment { interface: None, function: "greet".to_owned(), text: "Says hello.".to_owned() };
    assert_eq!(found, [expected]);
}

#[test]
fn each_bound_ends_it_and_is_named() {
    let component = large(60_000);
    let memory = with(Bounds { memory: 24 * MIB, ..BOUNDS }, &component);
    assert_eq!(memory.to_string(), "compiling it needs more than the limit of 24 MiB of memory");
    let cpu = with(Bounds { cpu_seconds: 1, ..BOUNDS }, &component);
    assert!(
        cpu.to_string().starts_with("compiling it takes longer than the limit of 1 s of processor time"),
        "{cpu}"
    );
    let time = with(Bounds { time: Duration::from_millis(100), ..BOUNDS }, &component);
    assert!(matches!(time, CompileError::Time(_)), "{time}");
    let output = with(Bounds { output: MIB, ..BOUNDS }, &component);
    assert_eq!(output.to_string(), "its compiled code is larger than the limit of 1 MiB");
}

#[test]
fn it_ends_when_nobody_wants_it() {
    let component = large(60_000);
    let asked = Cell::new(0);
    let begun = Instant::now();
    let error = compile(&component, || asked.replace(asked.get() + 1) > 0).expect_err("an error");
    assert!(matches!(error, CompileError::Stopped), "{error:?}");
    assert!(!error.is_lasting());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn what_is_in_it_is_said_without_compiling() {
    let found = inspect(&large(1000), never).expect("an anatomy");
    assert_eq!((found.module, found.modules, found.exports.len()), (None, 1, 0));
    assert!(found.code_bytes > 1000, "{found:?}");
    let module = wat::parse_str("(module (func (export \"a\")))").expect("a module");
    let found = inspect(&module, never).expect("an anatomy");
    assert!(found.module.is_some() && found.exports[0].name == "a", "{found:?}");
    let error = inspect(b"\0asm\x0d\0\x01\0\xff", never).expect_err("an error");
    assert!(matches!(&error, CompileError::Refused(why) if !why.is_empty()), "{error:?}");
}
