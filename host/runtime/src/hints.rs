//! Explains how languages end a call whose output does not say it.

use std::fmt::Write as _;

use scorpiox_text::line::clean;
use wasmtime::WasmBacktrace;

/// Maximum number of functions that are named, and of bytes of each name.
const MAX_FRAMES: usize = 3;
const MAX_NAME_BYTES: usize = 120;
/// Beginnings of the names of functions that Rust's libraries have.
const OF_LIBRARIES: [&str; 8] =
    ["core::", "std::", "alloc::", "__rust", "rust_", "__rustc", "dlmalloc::", "wit_bindgen::"];

/// JavaScript's glue ends a call like this if a value that has to be a string is not.
const NO_STRING: &str = "expected a string";
const IN_EXPORT: &str = "export_";

/// componentize-py's glue ends a call like this if a value has another type than the world says.
const NO_PYTHON_VALUE: &str = "called `Result::unwrap()` on an `Err` value: PyErr {";

/// Returns the explanation of a trap after the output `said`, if there is one.
pub(super) fn of_trap(error: &wasmtime::Error, said: &str) -> Option<String> {
    if let Some((_, stack)) = said.split_once(NO_STRING)
        && stack.contains(IN_EXPORT)
    {
        return Some(
            "The JavaScript function threw or returned a value that is no string where its type has one: an `Error` that \
             nobody caught, `undefined`, a number. Throw texts (`throw String(error)`), as `tool` in the template of \
             `plugin new --lang js` does."
                .to_owned(),
        );
    }
    if said.contains(NO_PYTHON_VALUE) {
        return Some(
            "The Python function returned a value, or raised an `Err` with a value, of another type than the world says. \
             For `-> result<T, E>`, return the T itself, not `Ok(…)`, and `raise Err(…)` with an E; do not return the \
             `Err`."
                .to_owned(),
        );
    }
    let frames = error.downcast_ref::<WasmBacktrace>()?.frames();
    let names: Vec<String> = frames.iter().filter_map(|frame| frame.func_name().map(demangled)).collect();
    if said.is_empty() { panicked(&names) } else { None }
}

/// Explains a panic of Rust without output. `names` are those of the functions, the innermost first.
fn panicked(names: &[String]) -> Option<String> {
    let panics =
        ["rust_panic", "core::panicking::", "begin_panic", "__rust_start_panic", "rust_begin_unwind"];
    if !names.iter().any(|name| panics.iter().any(|panic| name.contains(panic))) {
        return None;
    }
    let mut text = "A panic of Rust ends like this, and without WASI its message is lost; `make TARGET=wasm32-wasip2` in the \
                    plugin's folder builds it so that the message arrives."
        .to_owned();
    let own = names.iter().filter(|name| !OF_LIBRARIES.iter().any(|library| name.contains(library)));
    let own: Vec<_> = own.take(MAX_FRAMES).map(|name| clean(name, MAX_NAME_BYTES)).collect();
    if !own.is_empty() {
        let _ = write!(text, " It came from {}.", own.join(", from "));
    }
    Some(text)
}

/// Returns a function's name without the hash that Rust appends.
fn demangled(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| demangled(name)).collect()
    }

    #[test]
    fn a_silent_panic_names_the_functions_of_the_author() {
        let told = panicked(&names(&[
            "__rustc[5224e6b81cd82a8f]::rust_panic",
            "_ZN4core9panicking9panic_fmt17h0123456789abcdefE",
            "_ZN6plugin3bad17h0123456789abcdefE",
            "bad",
        ]))
        .expect("a panic");
        assert!(
            told.contains("wasm32-wasip2") && told.ends_with(" It came from plugin::bad, from bad."),
            "{told}"
        );
        let told = panicked(&names(&["core::panicking::panic_fmt"])).expect("a panic");
        assert!(!told.contains("It came from"), "{told}");
        assert_eq!(panicked(&names(&["plugin::bad", "bad"])), None, "another trap");
    }

    #[test]
    fn a_value_of_python_of_another_type_is_explained() {
        let trap = || wasmtime::Error::from(wasmtime::Trap::UnreachableCodeReached);
        let said = "thread '<unnamed>' (1) panicked at runtime/src/lib.rs:1662:66:\ncalled `Result::unwrap()` on an `Err` value: \
                    PyErr { type: <class 'AttributeError'>, value: AttributeError(\"'Ok' object has no attribute 'count'\") }";
        let told = of_trap(&trap(), said).expect("an explanation");
        assert!(told.contains("not `Ok(…)`") && told.contains("`raise Err(…)`"), "{told}");
        assert_eq!(of_trap(&trap(), "Traceback …\nValueError: boom"), None);
    }

    #[test]
    fn a_value_of_javascript_that_is_no_string_is_explained() {
        let trap = || wasmtime::Error::from(wasmtime::Trap::UnreachableCodeReached);
        let said =
            "expected a string\nStack:\n  utf8Encode@/tmp/x/initializer.js:34:36\n  export_bad@/tmp/x:56:28";
        let told = of_trap(&trap(), said).expect("an explanation");
        assert!(told.contains("throw String(error)"), "{told}");
        assert_eq!(of_trap(&trap(), "expected a string, got 4"), None);
        assert_eq!(of_trap(&trap(), ""), None);
    }
}
