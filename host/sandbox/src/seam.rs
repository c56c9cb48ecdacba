//! Types that are common to the cells of every system.

use std::error::Error;

use crate::wire::{Fault, LACK, Outcome, codes};

/// Descriptor that wakes a thread waiting for a command.
#[cfg(unix)]
pub type Bell<'a> = std::os::fd::BorrowedFd<'a>;
/// Handle that wakes a thread waiting for a command.
#[cfg(windows)]
pub type Bell<'a> = std::os::windows::io::BorrowedHandle<'a>;

/// Program of the helper.
#[derive(Debug, Clone, Copy)]
pub struct Helper {
    /// Bytes of the program `scorpiox-cell`, built by the crate `scorpiox-sandbox-helper`.
    pub image: &'static [u8],
}

/// Error of a cell or of a command's start.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CellError {
    /// The helper cannot be started or does not answer.
    #[error("the sandbox helper failed: {0}")]
    Helper(String),
    /// The helper ended while a command was running.
    #[error(
        "the command was stopped before its end: what supervises it was killed, as it is when the server ends or memory runs \
         out, and the command with it. Nobody looked at what it made"
    )]
    Gone,
    /// A worker cannot be started or supervised.
    #[error("no separate process can be started: {0}")]
    Worker(String),
    /// The sandbox cannot be built, or the command cannot be confined.
    #[error("{0}")]
    Fault(#[from] Fault),
    /// This system has neither a sandbox nor a way to start commands without one.
    #[cfg_attr(
        not(windows),
        error(
            "this program has no sandbox for commands on this system (only on Linux and macOS), so it runs none, \
             whatever allow_unsandboxed says"
        )
    )]
    #[cfg_attr(
        windows,
        error(
            "commands have no sandbox on Windows: use WSL, where the Linux program runs them in one, or let them run \
             without one in Git for Windows' bash (`allow_unsandboxed = true` in [shell] of your own policy.toml)"
        )
    )]
    NoSandbox,
}

impl CellError {
    /// Returns `true` if a retry may succeed.
    pub fn is_worth_repeating(&self) -> bool {
        match self {
            Self::Helper(_) | Self::Worker(_) | Self::Gone => true,
            Self::Fault(fault) => fault.changed,
            Self::NoSandbox => false,
        }
    }
}

impl CellError {
    #[cfg(any(target_os = "linux", windows, target_os = "macos"))]
    pub(crate) fn helper(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Helper(with_advice(&*error.into()))
    }

    #[cfg(any(target_os = "linux", windows, target_os = "macos"))]
    pub(crate) fn worker(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Worker(with_advice(&*error.into()))
    }
}

/// Formats an error, with advice if the system had not enough of something.
#[cfg(any(target_os = "linux", windows, target_os = "macos"))]
fn with_advice(error: &(dyn Error + 'static)) -> String {
    let lack = if codes(error).any(scorpiox_sys::is_lack) { LACK } else { "" };
    format!("{error}{lack}")
}

/// Result of [`crate::Running::next`].
#[derive(Debug)]
pub enum Happened<'a> {
    /// The command printed these bytes.
    Output(&'a [u8]),
    /// The time has elapsed, or the waker fired.
    Nothing,
    /// The command has ended, and all of its output was returned.
    Done(Box<Outcome>),
}
