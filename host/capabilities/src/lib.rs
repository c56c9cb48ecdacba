//! Capabilities that a guest can be granted. Each has its own file or directory, which contains its context,
//! the implementation of its WIT interface, and its errors.
//!
//! Reading order: [`view`] defines the structure that all of them share, [`setup`] the inputs of a call, and
//! [`assembly`] combines them.

pub mod approved;
pub mod ask;
mod assembly;
pub mod attachments;
mod bounds;
pub mod clock;
pub mod contents;
mod engines;
pub mod files;
pub mod granted;
pub mod inputs;
pub mod log;
pub mod notices;
mod progress;
pub mod requests;
pub mod rules;
pub mod sampling;
pub mod setup;
pub mod shell;
pub mod skills;
pub mod store;
pub mod timer;
pub mod view;
pub mod web;

pub use assembly::{Capability, Contexts, HasContexts};
