//! Skills apart from their tool: as prompts, as resources, and for users at a terminal.
//!
//! Reading order: [`prompt`] converts a user's arguments, [`address`] names files of skills as resources,
//! [`component`] finds the component of a skill, [`library`] has the skills as a model sees them, and
//! [`report`] describes them to users.
//!
//! Invariant: the contents of a skill's files are parsed in the sandbox; this crate relies on the component's
//! output.

pub mod address;
pub mod component;
pub mod library;
pub mod prompt;
pub mod report;
