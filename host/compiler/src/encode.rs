//! Converts core modules to components.
//!
//! Rust's `wasm32-unknown-unknown` produces a core module. wit-bindgen embeds its component types, which
//! suffice for the conversion, so that authors need no additional tool. A module for WASI preview 1 is
//! combined with an adapter, which implements preview 1 through WASI 0.2. The adapter drops a program's exit
//! code; [`coded`] preserves it.

use std::ops::Range;

use anyhow::Context as _;
use scorpiox_component_abi::anatomy::{Anatomy, Module};
use wasi_preview1_component_adapter_provider as adapter;
use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Module name of the imports of WASI preview 1.
pub(crate) const PREVIEW_ONE: &str = adapter::WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME;

/// Maximum number of characters of an import's name in an error.
const MAX_IMPORT_CHARS: usize = 80;

/// Beginning of an adapter's imports of the module that it is for.
const OF_MAIN_MODULE: &str = "__main_module__.";

/// Reason why a core module cannot be converted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotEncodable {
    /// The module does not contain its component types.
    #[error(
        "it is a core module, not a component, and contains no WIT types; build it with wit-bindgen's `generate!`, or \
         make a component of it with `wasm-tools component new`"
    )]
    NoTypes,
    /// The module imports functions that nothing provides, by its first one.
    #[error(
        "it is a core module that imports {import}, which nothing here provides{}",
        explained(.import)
    )]
    Foreign {
        /// Module and name of the import.
        import: String,
    },
    /// The module is a library for preview 1 without component types.
    #[error(
        "it is a core module for WASI preview 1 that is not a program (no `_start`) and contains no WIT types; build it as \
         a program, or with wit-bindgen's `generate!`"
    )]
    Reactor,
    /// The module is an adapter, which joins other modules.
    #[error(
        "it is an adapter for core modules, not a plugin: `scorpiox-code plugin add` brings its own, so give it the \
         module that the adapter is for"
    )]
    Adapter,
    /// The module is damaged, or its declared types do not match its content.
    #[error("it is a core module, and no component can be made of it: {0}")]
    Broken(String),
}

/// Names of WASI's first modules, from before preview 1.
const UNSTABLE_WASI: [&str; 2] = ["wasi_unstable", "wasi_unstable_preview0"];

/// Explains an import of the form `module.name` that nothing provides.
fn explained(import: &str) -> &'static str {
    let module = import.split('.').next().unwrap_or_default();
    match module {
        module if UNSTABLE_WASI.contains(&module) => {
            ": it is the WASI of 2019; build it with a newer compiler, for WASI preview 1 or newer"
        }
        "env" | "a" => {
            ": compilers for the web, such as Emscripten, expect JavaScript to provide it; build it for WASI"
        }
        "wbg" | "__wbindgen_placeholder__" => {
            ": wasm-bindgen expects JavaScript to provide it; build it with wit-bindgen's `generate!`"
        }
        _ => ": a plugin imports interfaces of WIT; build it with wit-bindgen's `generate!`",
    }
}

/// Converts an untrusted core module to a component.
pub(crate) fn encode(module: &[u8]) -> Result<Vec<u8>, NotEncodable> {
    // Reduces the multi-line errors of the libraries to one line.
    let one_line =
        |error: &anyhow::Error| format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ");
    let broken = |error: anyhow::Error| NotEncodable::Broken(one_line(&error));
    let anatomy = crate::inspect::inspect(module).map_err(broken)?;
    if anatomy.imports.iter().any(|name| name.starts_with(OF_MAIN_MODULE)) {
        return Err(NotEncodable::Adapter);
    }
    let about = anatomy.module.unwrap_or_default();
    match about {
        Module { has_types: false, .. } if foreign(&anatomy).is_some() => {
            Err(NotEncodable::Foreign { import: foreign(&anatomy).unwrap_or_default() })
        }
        Module { is_preview_one: true, is_command: true, .. } => {
            adapted(module, adapter::WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER).map_err(broken)
        }
        Module { is_preview_one: true, has_types: true, .. } => {
            adapted(module, adapter::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER).map_err(broken)
        }
        Module { is_preview_one: true, .. } => Err(NotEncodable::Reactor),
        Module { has_types: false, .. } => Err(NotEncodable::NoTypes),
        Module { .. } => component(module).map_err(broken),
    }
}

/// Returns the first import of a module without types that is not from preview 1.
fn foreign(anatomy: &Anatomy) -> Option<String> {
    let is_foreign = |name: &&String| name.split('.').next() != Some(PREVIEW_ONE);
    let first = anatomy.imports.iter().find(is_foreign)?;
    Some(first.chars().take(MAX_IMPORT_CHARS).flat_map(char::escape_debug).collect())
}

/// Converts a core module for WASI preview 1 to a component.
fn adapted(module: &[u8], adapter: &[u8]) -> anyhow::Result<Vec<u8>> {
    let coded = coded(module)?;
    let module = coded.as_deref().unwrap_or(module);
    ComponentEncoder::default().validate(true).module(module)?.adapter(PREVIEW_ONE, adapter)?.encode()
}

/// Function of preview 1 that ends a program with an exit code.
const PROC_EXIT: &str = "proc_exit";
/// Equivalent function of WASI 0.2. Both take a single integer.
const EXIT_WITH_CODE: &str = "exit-with-code";
/// Interface of `exit-with-code`, in the adapter's version to avoid two versions in one component.
const EXIT: &str = "wasi:cli/exit@0.2.12";
const EXIT_WIT: &str = "package wasi:cli@0.2.12;
    interface exit { exit: func(status: result); exit-with-code: func(status-code: u8); }
    world coded { import exit; }";

/// Returns a module that exits through WASI 0.2 with its exit code; `None` if it does not import `proc_exit`.
/// The adapter would reduce each nonzero code to a failure. As on other systems, only the low eight bits
/// count.
fn coded(module: &[u8]) -> anyhow::Result<Option<Vec<u8>>> {
    let Some(mut coded) = renamed(module)? else { return Ok(None) };
    let mut resolve = Resolve::default();
    let package = resolve.push_str("exit.wit", EXIT_WIT)?;
    let world = resolve.select_world(&[package], None)?;
    embed_component_metadata(&mut coded, &resolve, world, StringEncoding::UTF8, false)?;
    Ok(Some(coded))
}

/// Replaces the import of `proc_exit`; returns `None` if the module does not import it.
fn renamed(module: &[u8]) -> anyhow::Result<Option<Vec<u8>>> {
    let mut whole = Vec::with_capacity(module.len());
    let mut was_there = false;
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        if let Payload::Version { range, .. } = &payload {
            whole.extend_from_slice(part(module, range)?);
        }
        let Some((id, range)) = payload.as_section() else { continue };
        let section = part(module, &range)?;
        let other = match payload {
            Payload::ImportSection(imports) => renamed_in(section, range.start, imports)?,
            _ => None,
        };
        was_there |= other.is_some();
        let section = other.as_deref().unwrap_or(section);
        whole.push(id);
        whole.extend(number(section.len()));
        whole.extend_from_slice(section);
    }
    Ok(was_there.then_some(whole))
}

/// Replaces the import of `proc_exit` in the import section, which begins at offset `start`.
fn renamed_in(
    section: &[u8],
    start: u64,
    imports: wasmparser::ImportSectionReader<'_>,
) -> anyhow::Result<Option<Vec<u8>>> {
    let old = [string(PREVIEW_ONE), string(PROC_EXIT)].concat();
    let new = [string(EXIT), string(EXIT_WITH_CODE)].concat();
    for import in imports.into_imports_with_offsets() {
        let (at, import) = import?;
        let at = usize::try_from(at - start)?;
        let is_it = (import.module, import.name) == (PREVIEW_ONE, PROC_EXIT);
        // Compact encodings store the names at other offsets.
        if is_it && section[at..].starts_with(&old) {
            return Ok(Some([&section[..at], &new, &section[at + old.len()..]].concat()));
        }
    }
    Ok(None)
}

fn part<'a>(module: &'a [u8], range: &Range<u64>) -> anyhow::Result<&'a [u8]> {
    let range = usize::try_from(range.start)?..usize::try_from(range.end)?;
    module.get(range).context("it ends too early")
}

/// Encodes a string for a module.
fn string(text: &str) -> Vec<u8> {
    [&number(text.len()), text.as_bytes()].concat()
}

/// Encodes a number for a module, as LEB128.
fn number(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// Converts a core module with component types to a component.
pub(crate) fn component(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    ComponentEncoder::default().validate(true).module(module)?.encode()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(module: &str) -> NotEncodable {
        encode(&wat::parse_str(module).expect("a module")).expect_err("an error")
    }

    #[test]
    fn an_adapter_is_no_plugin() {
        for adapter in [
            adapter::WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
            adapter::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
            adapter::WASI_SNAPSHOT_PREVIEW1_PROXY_ADAPTER,
        ] {
            let error = encode(adapter).expect_err("an error").to_string();
            assert!(error.starts_with("it is an adapter for core modules, not a plugin:"), "{error}");
        }
    }

    #[test]
    fn core_modules_of_other_kinds_are_refused_with_what_to_do() {
        assert!(matches!(refused("(module)"), NotEncodable::NoTypes));
        let import = r#"(import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))"#;
        assert!(matches!(refused(&format!("(module {import})")), NotEncodable::Reactor));
        for (import, expected) in [
            (
                r#""env" "foo""#,
                "imports env.foo, which nothing here provides: compilers for the web, such as Emscripten",
            ),
            (r#""wasi_unstable" "fd_write""#, "the WASI of 2019; build it with a newer compiler"),
            (r#""__wbindgen_placeholder__" "x""#, "wasm-bindgen expects JavaScript"),
            (r#""other" "f\n""#, "imports other.f\\n, which nothing here provides: a plugin imports"),
        ] {
            for program in ["", r#"(func (export "_start"))"#] {
                let why = refused(&format!("(module (import {import} (func)) {program})")).to_string();
                assert!(why.contains(expected), "{import}: {why}");
            }
        }
        let typed = r#"(module (@custom "component-type:x" "nothing"))"#;
        assert!(matches!(refused(typed), NotEncodable::Broken(_)));
        assert!(matches!(encode(b"\0asm\x01\0\0\0\xff"), Err(NotEncodable::Broken(_))));
        let unknown =
            r#"(module (import "wasi_snapshot_preview1" "no_such_call" (func)) (func (export "_start")))"#;
        let why = refused(unknown).to_string();
        assert!(why.contains("no component can be made of it") && !why.contains('\n'), "{why}");
    }

    #[test]
    fn a_program_for_preview_one_becomes_a_component_that_runs() {
        let module = r#"(module
            (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
            (memory (export "memory") 1)
            (func (export "_start") (call $exit (i32.const 0))))"#;
        let component = encode(&wat::parse_str(module).expect("a module")).expect("a component");
        let anatomy = crate::inspect::inspect(&component).expect("an anatomy");
        assert!(anatomy.module.is_none());
        assert!(
            anatomy.exports.iter().any(|export| export.name.starts_with("wasi:cli/run@0.2.")),
            "{anatomy:?}"
        );
        assert!(anatomy.imports.iter().all(|import| import.starts_with("wasi:")), "{anatomy:?}");
    }

    #[test]
    fn only_the_name_of_what_ends_a_program_differs() {
        let text = r#"(module
            (import "wasi_snapshot_preview1" "fd_close" (func (param i32) (result i32)))
            (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
            (memory (export "memory") 1) (data (i32.const 0) "proc_exit")
            (func (export "_start") (call $exit (i32.const 3)))
            (@custom "own" "proc_exit"))"#;
        let other =
            text.replace(r#""wasi_snapshot_preview1" "proc_exit""#, &format!("{EXIT:?} {EXIT_WITH_CODE:?}"));
        let module = |text: &str| wat::parse_str(text).expect("a module");
        assert_eq!(renamed(&module(text)).expect("it is read"), Some(module(&other)));
        assert_eq!(renamed(&module("(module)")).expect("it is read"), None);
        assert_eq!(renamed(&module(&other)).expect("it is read"), None);
    }

    #[test]
    fn exit_codes_are_given_to_the_interface_that_the_adapter_has() {
        let module = r#"(module
            (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
            (memory (export "memory") 1)
            (func (export "_start") (call $exit (i32.const 3))))"#;
        let component = encode(&wat::parse_str(module).expect("a module")).expect("a component");
        let anatomy = crate::inspect::inspect(&component).expect("an anatomy");
        let exits = anatomy.imports.iter().filter(|import| import.starts_with("wasi:cli/exit@"));
        assert_eq!(exits.collect::<Vec<_>>(), [EXIT], "{anatomy:?}");
    }
}
