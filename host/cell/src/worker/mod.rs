//! Workers: programs of this project that do one task on strangers' bytes, with nothing in their hands.
//!
//! The host ([`run`]) starts the program from its bytes, and gives it an input to read, a file in memory to
//! write, and nothing else. The program calls `enter` of `scorpiox-worker`, which gives up every right before it hands
//! out the input.
//!
//! Invariants: time, memory and output are bounded by the kernel; the host bounds the time as it passes for people,
//! too, and can end the worker at any moment. A worker does not outlive the thread that runs it.
//!
//! What a worker returns is as trustworthy as its program: the bounds are about what it costs, and what it can
//! reach while it works.

mod bounds;
#[cfg(any(windows, target_os = "macos"))]
mod followed;
#[cfg(target_os = "linux")]
mod host;

pub use bounds::Bounds;
#[cfg(target_os = "linux")]
pub use host::run;

use std::fs::File;
use std::io::Read;

#[cfg(not(any(target_os = "linux", windows, target_os = "macos")))]
pub use crate::elsewhere::run;
#[cfg(any(windows, target_os = "macos"))]
pub use followed::run;

/// The name that workers are started under.
pub const WORKER_NAME: &str = "scorpiox-worker";
/// The exit code of a worker that says why it cannot do its task.
pub const REFUSED: i32 = 3;

/// What a worker is to do.
pub struct Work<'a> {
    /// The bytes of the program, an executable file that calls `enter` before anything else.
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
