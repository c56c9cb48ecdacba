//! Core modules as components.
//!
//! Rust's `wasm32-unknown-unknown` gives a core module. Its types are in it, where wit-bindgen put
//! them: nothing else is needed to make a component of it, so that authors need no tool for that.
//! A module for WASI preview 1 is joined with an adapter, which imports WASI 0.2 and gives it preview 1.

use scorpiox_anatomy::Module;
use wasi_preview1_component_adapter_provider as adapter;
use wit_component::ComponentEncoder;

/// What modules for WASI preview 1 import from.
pub(crate) const PREVIEW_ONE: &str = adapter::WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME;

/// A core module that no component can be made of.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotEncodable {
    /// Nobody put the types in.
    #[error(
        "it is a core module, not a component, and does not say what its types are; build it with wit-bindgen's \
         `generate!`, or make a component of it with `wasm-tools component new`"
    )]
    NoTypes,
    /// A library for preview 1 that nobody put the types into.
    #[error(
        "it is a core module for WASI preview 1 that is no program (it has no `_start`) and does not say what its types \
         are; build it as a program, or with wit-bindgen's `generate!`"
    )]
    Reactor,
    /// It is damaged, or what it says of its types is not what it has.
    #[error("it is a core module, and no component can be made of it: {0}")]
    Broken(String),
}

/// The component of a core module that anybody made.
pub(crate) fn encode(module: &[u8]) -> Result<Vec<u8>, NotEncodable> {
    let broken = |error: anyhow::Error| NotEncodable::Broken(format!("{error:#}"));
    let about = crate::inspect::inspect(module).map_err(broken)?.module.unwrap_or_default();
    match about {
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

/// The component of a core module that was built for WASI preview 1.
fn adapted(module: &[u8], adapter: &[u8]) -> anyhow::Result<Vec<u8>> {
    ComponentEncoder::default().validate(true).module(module)?.adapter(PREVIEW_ONE, adapter)?.encode()
}

/// The component of a core module.
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
    fn core_modules_of_other_kinds_are_refused_with_what_to_do() {
        assert!(matches!(refused("(module)"), NotEncodable::NoTypes));
        let import = r#"(import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))"#;
        assert!(matches!(refused(&format!("(module {import})")), NotEncodable::Reactor));
        let typed = r#"(module (@custom "component-type:x" "nothing"))"#;
        assert!(matches!(refused(typed), NotEncodable::Broken(_)));
        assert!(matches!(encode(b"\0asm\x01\0\0\0\xff"), Err(NotEncodable::Broken(_))));
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
}
