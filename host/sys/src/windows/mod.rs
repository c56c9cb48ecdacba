//! Safe wrappers for the Windows API calls that need `unsafe`.
//!
//! Invariant: all results of these calls are checked and freed in this crate, which returns only Rust values.
//! Callers interpret the results.
//!
//! Reading order: [`access`] checks who can change a file, [`account`] identifies the user of this process,
//! [`console`] handles typed input, [`file`] identifies and locks files, [`process`], [`thread`] and [`job`]
//! manage execution, and [`stdio`] handles standard input and output. On other systems the crate is empty.

#![cfg(windows)]

pub mod access;
pub mod account;
pub mod console;
pub mod file;
pub mod job;
pub mod process;
mod sid;
pub mod stdio;
pub mod thread;
