//! Commands for authors: templates for a plugin ([`new`]) or a skill ([`new_skill`]), a description of a
//! WebAssembly file ([`inspect`]), and a draft of `plugin.toml` for an existing component ([`init`]).
//!
//! Invariants:
//! - This crate neither runs nor compiles a component, and never overwrites a file.
//! - Names and texts from components are displayed as untrusted text.

mod draft;
mod file;
mod foreign_policy;
mod inspect;
mod new;
mod skill;
mod tool_list;
mod yaml;

pub use draft::init;
pub use file::name_of;
pub use inspect::inspect;
pub use new::{Language, new};
pub use skill::new_skill;
