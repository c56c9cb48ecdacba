//! What the host knows of cells on every system.

use crate::wire::{Fault, Outcome};

/// What wakes who waits for a command.
#[cfg(unix)]
pub type Bell<'a> = std::os::fd::BorrowedFd<'a>;
/// What wakes who waits for a command.
#[cfg(windows)]
pub type Bell<'a> = std::os::windows::io::BorrowedHandle<'a>;

/// What the helper is started from.
#[derive(Debug, Clone, Copy)]
pub struct Helper {
    /// The program `scorpiox-cell`, which the crate `scorpiox-helper` builds.
    pub image: &'static [u8],
}

/// Why there is no cell, or no command.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CellError {
    /// The helper cannot be started or does not answer.
    #[error("the sandbox helper failed: {0}")]
    Helper(String),
    /// The helper is gone in the middle of a command.
    #[error(
        "the command was stopped before its end: what supervises it was killed, as it is when the server ends or memory runs \
         out, and the command with it. Nobody looked at what it made"
    )]
    Gone,
    /// A worker cannot be started or seen to.
    #[error("no separate process can be started: {0}")]
    Worker(String),
    /// The sandbox cannot be built, or the command not be put into it.
    #[error("{0}")]
    Fault(#[from] Fault),
    /// Nobody has written a sandbox for this system, nor a way to start commands without one.
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
    /// Whether the same might work now.
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
    pub(crate) fn helper(error: impl std::fmt::Display) -> Self {
        Self::Helper(error.to_string())
    }

    #[cfg(any(target_os = "linux", windows, target_os = "macos"))]
    pub(crate) fn worker(error: impl std::fmt::Display) -> Self {
        Self::Worker(error.to_string())
    }
}

/// What [`crate::Running::next`] waited for.
#[derive(Debug)]
pub enum Happened<'a> {
    /// It printed this.
    Output(&'a [u8]),
    /// The time is over, or the waker woke.
    Nothing,
    /// It has ended, and everything that it printed was given.
    Done(Outcome),
}
