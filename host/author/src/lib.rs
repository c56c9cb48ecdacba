//! What authors of plugins meet first: a plugin to begin with ([`new`]), what is in a file ([`inspect`]), and a draft of
//! `plugin.toml` for a component that is there already ([`init`]).
//!
//! Invariants: nothing here runs or compiles a component, or writes where something is. What components say of themselves
//! is shown as the text of others.

mod draft;
mod file;
mod inspect;
mod new;

pub use draft::init;
pub use file::name_of;
pub use inspect::inspect;
pub use new::{Language, new};
