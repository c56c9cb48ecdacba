//! What a WebAssembly file is made of: the words in which the compiler's worker tells the host.
//!
//! Invariant: all of it is a stranger's word, and nothing here was checked but that it can be read. Whoever shows it to
//! a person escapes it.

use serde::{Deserialize, Serialize};

/// What a file is by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A WebAssembly component.
    Component,
    /// A core module.
    Module,
    /// Code for a processor.
    Native,
    /// WIT, C or whatever else is text.
    Text,
    /// Nothing.
    Empty,
    /// Something else.
    Other,
}

impl Kind {
    /// Of a file.
    pub fn of(bytes: &[u8]) -> Self {
        // ELF, Mach-O in both orders, fat Mach-O, and Windows.
        const NATIVE: [&[u8]; 5] =
            [b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe", b"MZ"];
        /// As much as tells text from other bytes.
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

/// What is in a component or a core module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anatomy {
    /// What only a core module has; none for a component.
    pub module: Option<Module>,
    /// The whole file, in bytes.
    pub bytes: u64,
    /// Code of all core modules, in bytes.
    pub code_bytes: u64,
    /// Data of all core modules, in bytes.
    pub data_bytes: u64,
    /// How many core modules there are.
    pub modules: u64,
    /// What it wants from outside: interfaces of a component, `MODULE.NAME` of a core module.
    pub imports: Vec<String>,
    /// What it gives.
    pub exports: Vec<Export>,
    /// What its `package-docs` say of functions.
    pub comments: Vec<Comment>,
    /// What made it, as it says: `language Rust 1.95.0`.
    pub producers: Vec<String>,
}

/// What tells core modules from each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// Whether it says which types its functions have as a component.
    pub has_types: bool,
    /// Whether it imports WASI preview 1.
    pub is_preview_one: bool,
    /// Whether it is a program, which begins at `_start`.
    pub is_command: bool,
}

/// Something that is exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// Its name.
    pub name: String,
    /// What it is: `func`, `instance`, `type`, `memory` and the like.
    pub kind: String,
    /// The function that it is, or the functions of the instance that it is.
    pub functions: Vec<Function>,
}

/// A function of a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Its name, without that of its interface.
    pub name: String,
    /// Its type as WIT: `func(a: u32) -> string`.
    pub wit: String,
    /// What keeps it from being a tool, if the types already say so.
    pub unfit: Option<String>,
}

/// A function's doc comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// The interface that the function is in, if it is in one.
    pub interface: Option<String>,
    /// The function.
    pub function: String,
    /// What is said.
    pub text: String,
}

impl Anatomy {
    /// All functions that it exports, each with the interface that it is in.
    pub fn functions(&self) -> impl Iterator<Item = (Option<&str>, &Function)> {
        self.exports.iter().flat_map(|export| {
            let interface = (export.kind != FUNCTION).then_some(export.name.as_str());
            export.functions.iter().map(move |function| (interface, function))
        })
    }
}

/// What an export is called that is a function.
pub const FUNCTION: &str = "func";
/// What an export is called that has others in it.
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
