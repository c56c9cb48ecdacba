//! What macOS is asked by calls that the compiler cannot check, as functions that anybody can call.
//!
//! Invariant: what leaves this crate is a Rust value. What the answers mean for who asks is the business of those who
//! ask. Elsewhere the crate is empty.

#![cfg(target_os = "macos")]

pub mod process;
pub mod sandbox;
