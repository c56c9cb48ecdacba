//! What the sandbox asks of the Linux kernel that no other library asks for it.
//!
//! `sys` holds the system calls that have no safe wrapper. `syscalls` is the table of the calls that commands may
//! make, and `requests` of what they may ask for by those that are many in one. `reach` opens paths that commands may exchange at any moment, and `capabilities` gives up root's rights.
//!
//! Invariants: calls of the kernel that need `unsafe` are all in `sys`, and each says why it is sound. Who makes
//! them has one thread, but for [`sys::has_writer`]. `reach` follows no link.
//!
//! This crate knows no cell. When to do what, and what a failure means, is left to the helper, its guard, and
//! workers. The host uses [`start_clean`] and [`sys::has_writer`] alone.

#[cfg(target_os = "linux")]
pub mod capabilities;
#[cfg(target_os = "linux")]
pub mod reach;
#[cfg(target_os = "linux")]
pub mod requests;
#[cfg(target_os = "linux")]
pub mod sys;
#[cfg(target_os = "linux")]
pub mod syscalls;

#[cfg(target_os = "linux")]
pub use sys::start_clean;

/// Nothing is started here that could get a descriptor.
#[cfg(not(target_os = "linux"))]
pub fn start_clean() {}
