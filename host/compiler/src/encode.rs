//! Core modules of cargo as components.
//!
//! Rust's `wasm32-unknown-unknown` gives a core module. Its types are in it, where wit-bindgen put
//! them: nothing else is needed to make a component of it, so that authors need no tool for that.

use wasmparser::{Parser, Payload};
use wit_component::ComponentEncoder;

/// A core module that no component can be made of.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotEncodable {
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

/// The component of a core module that anybody made.
pub(crate) fn encode(module: &[u8]) -> Result<Vec<u8>, NotEncodable> {
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

/// The component of a core module.
pub(crate) fn component(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    ComponentEncoder::default().validate(true).module(module)?.encode()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A core module with these sections.
    fn refused(sections: &[u8]) -> NotEncodable {
        encode(&[b"\0asm\x01\0\0\0", sections].concat()).expect_err("an error")
    }

    #[test]
    fn core_modules_of_other_kinds_are_refused_with_what_to_do() {
        assert!(matches!(refused(b""), NotEncodable::NoTypes));
        // A type, and an import of it.
        let preview_one =
            b"\x01\x05\x01\x60\x01\x7f\0\x02\x24\x01\x16wasi_snapshot_preview1\x09proc_exit\0\0";
        assert!(matches!(refused(preview_one), NotEncodable::PreviewOne));
        assert!(matches!(refused(b"\0\x18\x10component-type:xnothing"), NotEncodable::Broken(_)));
        assert!(matches!(refused(b"\xff"), NotEncodable::Broken(_)));
    }
}
