//! What a guest may be given, one file or folder each: its context, the implementation of its WIT
//! interface, its errors, and nothing else.
//!
//! Reading order: [`view`] is the shape that all of them have, [`setup`] what a call brings along,
//! [`assembly`] puts them together.

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
