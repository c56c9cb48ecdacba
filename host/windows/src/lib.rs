//! What Windows is asked by calls that the compiler cannot check, as functions that anybody can call.
//!
//! Invariant: everything that these calls give is checked and freed here; what leaves this crate is a Rust value. What
//! the answers mean for who asks is the business of those who ask.
//!
//! Reading order: [`access`] says who can change a file, [`account`] who this process runs as,
//! [`console`] what was typed, [`file`] what tells files apart, [`process`], [`thread`] and [`job`] what runs, [`stdio`] what is
//! read and written. Elsewhere the crate is empty.

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
