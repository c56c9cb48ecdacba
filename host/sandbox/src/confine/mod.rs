//! Worker side of the host's workers: drops the privileges of a program that processes untrusted data.
//!
//! The host starts a worker with `crate::worker::run`. Before anything else the program calls
//! [`enter`], which drops all privileges of its process and then returns the task and its input.
//!
//! Invariants: after [`enter`], no thread can open, create, connect or start anything, or make memory
//! executable. If that cannot be enforced, no input is read: the result of [`enter`] is the only access to
//! it.
//!
//! The program defines its tasks, and the host sets the resource limits.
//!
//! These invariants hold on Linux. On macOS the host starts a worker under a profile that permits nothing. On
//! Windows a job object limits a worker, which keeps the rights of its user. On other systems no process is a
//! worker.

#[cfg(target_os = "linux")]
mod inside;
#[cfg(any(windows, target_os = "macos"))]
mod outside;

use std::fs::File;
use std::io::{self, Write as _};

use crate::worker::REFUSED;

#[cfg(target_os = "linux")]
pub use self::inside::enter;
#[cfg(any(windows, target_os = "macos"))]
pub use self::outside::enter;

/// Returns `None`: on this system no process is a worker.
#[cfg(not(any(target_os = "linux", windows, target_os = "macos")))]
pub fn enter(_: impl FnOnce() -> io::Result<()>) -> Option<Result<Entered, crate::Fault>> {
    None
}

/// Task of a worker.
#[derive(Debug)]
pub struct Entered {
    /// Name of the task.
    pub task: String,
    /// Input data.
    pub input: File,
    /// File for the output.
    pub output: File,
}

/// Reports the failure of a task.
impl Entered {
    /// Reports the reason to the host and exits.
    pub fn refuse(self, why: &str) -> ! {
        let _ = io::stderr().write_all(why.as_bytes());
        std::process::exit(REFUSED)
    }
}
