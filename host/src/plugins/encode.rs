//! Core modules of cargo as components.
//!
//! Rust's `wasm32-unknown-unknown` gives a core module. Its types are in it, where wit-bindgen put
//! them: nothing else is needed to make a component of it, so that authors need no tool for that.

use wasmparser::{Parser, Payload};
use wit_component::ComponentEncoder;

/// A core module that no component can be made of.
#[derive(Debug, thiserror::Error)]
pub enum NotEncodable {
    /// Nobody put the types in.
    #[error(
        "it is a core module, not a component, and does not say what its types are; build it with wit-bindgen's \
         `generate!`, or make a component of it with `wasm-tools component new`"
    )]
    NoTypes,
    /// Built for a system that components do not have.
    #[error(
        "it is a core module for WASI preview 1, not a component; build it for wasm32-wasip2 (`cargo build \
         --target wasm32-wasip2`), or make a component of it with `wasm-tools component new --adapt`"
    )]
    PreviewOne,
    /// It is damaged, or what it says of its types is not what it has.
    #[error("it is a core module, and no component can be made of it: {0}")]
    Broken(String),
}

/// Whether this is a core module.
pub fn is_module(bytes: &[u8]) -> bool {
    Parser::is_core_wasm(bytes)
}

/// The component of a core module.
pub fn encode(module: &[u8]) -> Result<Vec<u8>, NotEncodable> {
    let mut has_types = false;
    for payload in Parser::new(0).parse_all(module) {
        match payload.map_err(|error| NotEncodable::Broken(error.to_string()))? {
            Payload::CustomSection(section) => has_types |= section.name().starts_with("component-type"),
            Payload::ImportSection(imports) => {
                let modules = imports.into_imports().flatten().map(|import| import.module);
                if modules.into_iter().any(|module| module == "wasi_snapshot_preview1") {
                    return Err(NotEncodable::PreviewOne);
                }
            }
            _ => {}
        }
    }
    if !has_types {
        return Err(NotEncodable::NoTypes);
    }
    component(module).map_err(|error| NotEncodable::Broken(format!("{error:#}")))
}

fn component(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    ComponentEncoder::default().validate(true).module(module)?.encode()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(module: &str) -> NotEncodable {
        encode(&wat::parse_str(module).expect("a module")).expect_err("an error")
    }

    #[test]
    fn components_and_other_files_are_no_core_modules() {
        assert!(is_module(&wat::parse_str("(module)").expect("a module")));
        assert!(!is_module(&wat::parse_str("(component)").expect("a component")));
        assert!(!is_module(b"#!/bin/sh"));
    }

    #[test]
    fn core_modules_of_other_kinds_are_refused_with_what_to_do() {
        assert!(matches!(refused("(module)"), NotEncodable::NoTypes));
        let preview_one = r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func (param i32))))"#;
        assert!(matches!(refused(preview_one), NotEncodable::PreviewOne));
        let garbage = r#"(module (@custom "component-type:x" "nothing"))"#;
        assert!(matches!(refused(garbage), NotEncodable::Broken(_)));
        assert!(matches!(encode(b"\0asm\x01\0\0\0\xff"), Err(NotEncodable::Broken(_))));
    }
}
