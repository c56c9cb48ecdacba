//! Linux kernel interfaces of the sandbox that no other crate wraps.
//!
//! `sys` contains the system calls without a safe wrapper, and `questions` those about calls of commands that wait for
//! the supervisor. `syscalls` is the table of calls that commands may make, and `requests` lists the permitted operations
//! of multiplexed calls. `reach` opens paths that commands may swap at any moment, and `capabilities` drops the
//! privileges of root.
//!
//! Invariants: all kernel calls that need `unsafe` are in `sys`, `questions` and `shared_set`, each with its soundness
//! argument. Their callers are single-threaded, except for [`sys::has_writer`]. `reach` follows no symbolic link.
//!
//! This crate knows nothing about cells. The helper, its guard, and the workers decide when to make a call
//! and how to treat a failure. The host uses only [`start_clean`], [`sys::has_writer`] and
//! `reach::open`.

#[cfg(target_os = "linux")]
pub mod capabilities;
#[cfg(target_os = "linux")]
pub mod questions;
#[cfg(target_os = "linux")]
pub mod reach;
#[cfg(target_os = "linux")]
pub mod requests;
#[cfg(target_os = "linux")]
pub mod shared_set;
#[cfg(target_os = "linux")]
pub mod sys;
#[cfg(target_os = "linux")]
pub mod syscalls;

#[cfg(target_os = "linux")]
pub use sys::start_clean;

/// Does nothing: on this system, no child process inherits descriptors from here.
#[cfg(not(target_os = "linux"))]
pub fn start_clean() {}
