//! Workers: programs of this project that do one task on strangers' bytes, with nothing in their hands.
//!
//! The host ([`run`]) starts the program from its bytes, and gives it an input to read, a file in memory to
//! write, and nothing else. The program ([`enter`]) gives up every right before it can read the input: what it
//! gets from [`enter`] is the only way to it.
//!
//! Invariants: after [`enter`] no thread can open, make, connect or start anything, nor make memory executable.
//! Where that cannot be had, nothing is read. Time, memory and output are bounded by the kernel; the host bounds
//! the time as it passes for people, too, and can end the worker at any moment. A worker does not outlive the
//! thread that runs it.
//!
//! What a worker returns is as trustworthy as its program: the bounds are about what it costs, and what it can
//! reach while it works.

mod bounds;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod inside;

pub use bounds::Bounds;
#[cfg(target_os = "linux")]
pub use host::run;
#[cfg(target_os = "linux")]
pub use inside::enter;

use std::fs::File;
use std::io::Read;

#[cfg(not(target_os = "linux"))]
pub use crate::elsewhere::{enter, run};

/// What a worker is to do.
pub struct Work<'a> {
    /// The bytes of the program, an executable file that calls [`enter`] before anything else.
    pub program: &'a mut dyn Read,
    /// The task's name, which the program knows.
    pub task: &'a str,
    /// What it works on.
    pub input: &'a [u8],
    /// What it may use up.
    pub bounds: Bounds,
}

/// How it ended.
#[derive(Debug)]
pub enum WorkEnd {
    /// What it made, from the beginning.
    Done(File),
    /// It says why it cannot. Strangers' bytes may speak here.
    Refused(String),
    /// It took too long.
    Time,
    /// It had no more memory, or recursed too deeply.
    Memory,
    /// It made too much.
    Output,
    /// It crashed; how.
    Crashed(String),
    /// The host ended it.
    Stopped,
}

/// A worker's own side: what it is to do.
#[derive(Debug)]
pub struct Entered {
    /// The task's name.
    pub task: String,
    /// What it works on.
    pub input: File,
    /// Where what it makes goes.
    pub output: File,
}
