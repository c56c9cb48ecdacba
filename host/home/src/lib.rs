//! The program's own folder, `~/.scorpiox`.
//!
//! Invariants: what is opened by [`private`], nobody else can have written; no other run of the program
//! has the name that [`instance`] gives this one. What the files mean is the business of who keeps them.

pub mod instance;
pub mod private;
mod system;
