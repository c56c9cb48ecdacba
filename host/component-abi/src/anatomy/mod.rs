//! Structure of a WebAssembly file, as reported to the host by the compiler's worker.
//!
//! Invariant: all texts come from an untrusted file, and are only checked to be well-formed. They must be
//! escaped before they are shown to the user.

use serde::{Deserialize, Serialize};

/// Kind of a file, detected by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A WebAssembly component.
    Component,
    /// A core module.
    Module,
    /// Native code.
    Native,
    /// Text, such as WIT or C.
    Text,
    /// An empty file.
    Empty,
    /// Any other content.
    Other,
}

impl Kind {
    /// Detects the kind of a file.
    pub fn of(bytes: &[u8]) -> Self {
        // ELF, Mach-O in both byte orders, fat Mach-O, and Windows.
        const NATIVE: [&[u8]; 5] =
            [b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe", b"MZ"];
        /// Number of bytes that distinguish text from binary data.
        const BEGINNING: usize = 1024;
        match bytes.first_chunk() {
            Some(b"\0asm\x0d\0\x01\0") => Self::Component,
            Some(b"\0asm\x01\0\0\0") => Self::Module,
            _ if bytes.is_empty() => Self::Empty,
            _ if NATIVE.iter().any(|magic| bytes.starts_with(magic)) => Self::Native,
            _ => {
                let begin = &bytes[..bytes.len().min(BEGINNING)];
                let is_text = begin.iter().all(|byte| *byte >= b' ' || b"\n\r\t".contains(byte));
                if is_text { Self::Text } else { Self::Other }
            }
        }
    }
}

/// Contents of a component or a core module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anatomy {
    /// Properties of a core module; `None` for a component.
    pub module: Option<Module>,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Size of the code of all core modules in bytes.
    pub code_bytes: u64,
    /// Size of the data of all core modules in bytes.
    pub data_bytes: u64,
    /// Number of core modules.
    pub modules: u64,
    /// Imports: interfaces of a component, or `MODULE.NAME` of a core module.
    pub imports: Vec<String>,
    /// Imported interfaces that contain only types, which need not be provided.
    #[serde(default)]
    pub types: Vec<String>,
    /// Exports of the component or module.
    pub exports: Vec<Export>,
    /// Resources of a component that it exports without importing them, each once, in the order of its exports.
    #[serde(default)]
    pub resources: Vec<Resource>,
    /// Doc comments of functions from the section `package-docs`.
    pub comments: Vec<Comment>,
    /// Tools that created the file, according to the file: `language Rust 1.95.0`.
    pub producers: Vec<String>,
}

/// Properties of a core module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// `true` if the module declares the component types of its functions.
    pub has_types: bool,
    /// `true` if the module imports WASI preview 1.
    pub is_preview_one: bool,
    /// `true` if the module is a program that starts at `_start`.
    pub is_command: bool,
}

/// An export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// Name of the export.
    pub name: String,
    /// Kind of the export: `func`, `instance`, `type`, `memory` and so on.
    pub kind: String,
    /// The exported function, or the functions of the exported instance.
    pub functions: Vec<Function>,
}

/// A function of a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Name without the interface.
    pub name: String,
    /// Type in WIT: `func(a: u32) -> string`.
    pub wit: String,
    /// Reason why the function cannot be a tool, if its type determines that.
    pub unfit: Option<String>,
    /// Resources of which the result contains handles, as indices into [`Anatomy::resources`].
    #[serde(default)]
    pub gives: Vec<usize>,
}

/// A resource of a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// Interface of the resource, if it belongs to one.
    pub interface: Option<String>,
    /// Name without the interface.
    pub name: String,
}

/// Doc comment of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// Interface of the function, if it belongs to one.
    pub interface: Option<String>,
    /// Name of the function.
    pub function: String,
    /// Text of the comment.
    pub text: String,
}

impl Anatomy {
    /// Returns all exported functions, each with its interface.
    pub fn functions(&self) -> impl Iterator<Item = (Option<&str>, &Function)> {
        self.exports.iter().flat_map(|export| {
            let interface = (export.kind != FUNCTION).then_some(export.name.as_str());
            export.functions.iter().map(move |function| (interface, function))
        })
    }
}

/// Kind of an exported function.
pub const FUNCTION: &str = "func";
/// Kind of an exported instance.
pub const INSTANCE: &str = "instance";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_first_bytes() {
        for (bytes, kind) in [
            (&b"\0asm\x0d\0\x01\0rest"[..], Kind::Component),
            (b"\0asm\x01\0\0\0", Kind::Module),
            (b"\0asm", Kind::Other),
            (b"", Kind::Empty),
            (b"\x7fELF\x02", Kind::Native),
            (b"MZ\x90", Kind::Native),
            (b"#!/bin/sh\n", Kind::Text),
            ("Grüße".as_bytes(), Kind::Text),
            (b"\x89PNG\r\n\x1a\n\0", Kind::Other),
        ] {
            assert_eq!(Kind::of(bytes), kind, "{bytes:?}");
        }
    }
}
