//! Skills beyond their tool: as prompts, at addresses, and for people at a terminal.
//!
//! Reading order: [`prompt`] is what a person's arguments become, [`address`] how files of skills are named
//! as resources, [`component`] what some bring to be run, [`library`] the skills as a model has them,
//! [`report`] what is said of them.
//!
//! Invariant: what is in a skill's files is read in the sandbox; this crate has the component's word for it.

pub mod address;
pub mod component;
pub mod library;
pub mod prompt;
pub mod report;
