//! A worker's own side: how a program that works on strangers' bytes gives up its rights.
//!
//! The host starts a worker with `scorpiox_cell::worker::run`. Before anything else the program calls [`enter`],
//! which takes every right from its process, and then gives it the task and its input.
//!
//! Invariants: after [`enter`] no thread can open, make, connect or start anything, nor make memory executable. Where
//! that cannot be had, nothing is read: what [`enter`] gives is the only way to the input.
//!
//! The task is the program's own, and what a worker may use up is the host's to say.
//!
//! That is so on Linux. On macOS the host starts a worker under a profile that opens nothing. On Windows it bounds a worker
//! by a job object, and the worker keeps the rights of its user. Elsewhere no process is a worker.

#[cfg(target_os = "linux")]
mod inside;
#[cfg(any(windows, target_os = "macos"))]
mod outside;

use std::fs::File;
use std::io::{self, Write as _};

use scorpiox_cell::worker::REFUSED;

#[cfg(target_os = "linux")]
pub use self::inside::enter;
#[cfg(any(windows, target_os = "macos"))]
pub use self::outside::enter;

/// Takes every right from this process, if it was started as a worker; here none is.
#[cfg(not(any(target_os = "linux", windows, target_os = "macos")))]
pub fn enter(_: impl FnOnce() -> io::Result<()>) -> Option<Result<Entered, scorpiox_cell::Fault>> {
    None
}

/// What a worker is to do.
#[derive(Debug)]
pub struct Entered {
    /// The task's name.
    pub task: String,
    /// What it works on.
    pub input: File,
    /// Where what it makes goes.
    pub output: File,
}

/// Ends a worker that cannot do its task.
impl Entered {
    /// Says why, to the host.
    pub fn refuse(self, why: &str) -> ! {
        let _ = io::stderr().write_all(why.as_bytes());
        std::process::exit(REFUSED)
    }
}
