//! Safe wrappers for the macOS calls that need `unsafe`.
//!
//! Invariant: this crate returns only Rust values. Callers interpret the results. On other systems the crate
//! is empty.

#![cfg(target_os = "macos")]

pub mod process;
pub mod sandbox;
