//! Safe wrappers for the system calls that need `unsafe`, one module per operating system, and the removal of
//! folders, which all systems share.
//!
//! Invariant: the wrappers check and free the results of these calls, and return only Rust values. Callers
//! interpret them. On other systems a module is empty.

pub mod linux;
pub mod macos;
mod remove;
pub mod windows;

pub use remove::{remove_folder, remove_folder_until};
