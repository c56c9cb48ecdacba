//! Workers: programs of this project that do one task on untrusted data, without any privileges.
//!
//! The host ([`run`]) starts the program from its bytes. It passes an input to read, a memory file to write,
//! and nothing else. The program calls [`crate::confine::enter`], which drops every privilege before it
//! returns the input.
//!
//! Invariants: the kernel limits processor time, memory and output. The host limits the elapsed time, and can
//! end the worker at any time. A worker does not outlive the thread that runs it.
//!
//! The output of a worker is only as trustworthy as its program: the bounds limit its cost, and what it can
//! reach while it runs.

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

/// Name that workers are started under.
pub const WORKER_NAME: &str = "scorpiox-worker";
/// Exit code of a worker that explains why it cannot do its task.
pub const REFUSED: i32 = 3;

/// Task for a worker.
pub struct Work<'a> {
    /// Bytes of the program: an executable that calls `enter` before anything else.
    pub program: &'a mut dyn Read,
    /// Name of the task, which the program knows.
    pub task: &'a str,
    /// Data to process.
    pub input: &'a [u8],
    /// Resource limits.
    pub bounds: Bounds,
}

/// Result of a worker.
#[derive(Debug)]
pub enum WorkEnd {
    /// Output of the worker, positioned at its start.
    Done(File),
    /// Explanation of a worker that cannot do its task. It may contain untrusted text.
    Refused(String),
    /// Time limit exceeded.
    Time,
    /// Memory or stack exhausted.
    Memory,
    /// Output limit exceeded.
    Output,
    /// Description of a crash.
    Crashed(String),
    /// Ended by the host.
    Stopped,
}
