//! Safe wrappers for the system calls that need `unsafe`, one module per operating system, and what several systems
//! share: the removal of folders, the limit of open files, and signals.
//!
//! Invariant: the wrappers check and free the results of these calls, and return only Rust values. Callers
//! interpret them. On other systems a module is empty.

mod descriptors;
pub mod linux;
pub mod macos;
mod remove;
pub mod signals;
pub mod windows;

pub use descriptors::{is_lack, is_out_of_descriptors, open_files_limit};
pub use remove::{remove_folder, remove_folder_until};
