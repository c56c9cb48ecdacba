//! The program's directory, `~/.scorpiox`.
//!
//! Invariants: only this user can have written the files opened by [`private`], and no other run of the
//! program has the name returned by [`instance`]. The owners of the files define their contents.

pub mod instance;
pub mod private;
mod system;
