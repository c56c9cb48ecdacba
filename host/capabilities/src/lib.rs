//! What a guest may be given, one file or folder each: its context, the implementation of its WIT
//! interface, its errors, and nothing else.
//!
//! Reading order: [`view`] is the shape that all of them have, [`setup`] what a call brings along,
//! [`assembly`] puts them together.

pub mod approved;
pub mod ask;
mod assembly;
mod bounds;
pub mod clock;
mod engines;
pub mod files;
pub mod granted;
pub mod log;
mod progress;
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
