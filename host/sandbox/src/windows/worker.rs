//! Enforces the bounds of a worker with a job object.
//!
//! A worker is a separate process in a job: it cannot start another one, and its memory and time are limited.
//! It keeps the privileges of the user who runs the server, and so would untrusted data that takes control of
//! the program.

use std::fs::File;
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use scorpiox_sys::windows::file::FILE_FLAG_DELETE_ON_CLOSE;
use scorpiox_sys::windows::job::{Job, Limits};

use crate::worker::{Bounds, WorkEnd};

/// Share mode that only permits others to read the file.
const FILE_SHARE_READ: u32 = 1;
/// Exit codes of a program that overflowed its stack, and of one that aborted, as a Rust program does when an
/// allocation fails.
const STACK_OVERFLOW: u32 = 0xC000_00FD;
const FAIL_FAST: u32 = 0xC000_0409;
/// Exit code of a job whose time is over.
const QUOTA: u32 = 1816;

/// Job that ends the worker on drop.
pub(crate) struct Held {
    _job: Job,
}

impl Held {
    /// Returns `false`: the system enforces the bounds.
    #[allow(clippy::unused_self)] // same signature as on macOS
    pub(crate) fn exceeds(&self) -> bool {
        false
    }
}

/// Opens a temporary file that is deleted on close.
pub(crate) fn passing(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true).share_mode(0);
    options.custom_flags(FILE_FLAG_DELETE_ON_CLOSE).open(path)
}

/// Opens a file that no process can change while it is open.
pub(crate) fn pinned(path: &Path) -> io::Result<File> {
    File::options().read(true).share_mode(FILE_SHARE_READ).open(path)
}

/// Returns the command that starts a worker from its file.
#[allow(clippy::disallowed_methods)] // the other place that starts a program: its own, from bytes
#[allow(clippy::unnecessary_wraps)] // same signature as on macOS
pub(crate) fn command(path: &Path, _: &Bounds) -> io::Result<Command> {
    let mut command = Command::new(path);
    // No program starts without this variable.
    command.env_clear().envs(std::env::var_os("SystemRoot").map(|root| ("SystemRoot", root)));
    Ok(command)
}

/// Starts the worker.
pub(crate) fn start(command: &mut Command, bounds: &Bounds) -> io::Result<(Child, Held)> {
    let job = Job::new(&Limits {
        processes: 1,
        memory: bounds.memory,
        time: Some(Duration::from_secs(bounds.cpu_seconds)),
    })?;
    let child = job.start(command)?;
    Ok((child, Held { _job: job }))
}

/// Returns the result of a worker that neither did its task nor refused it.
pub(crate) fn judge(status: ExitStatus, said: &str) -> WorkEnd {
    match status.code().map(i32::cast_unsigned) {
        Some(QUOTA) => WorkEnd::Time,
        Some(STACK_OVERFLOW | FAIL_FAST) => WorkEnd::Memory,
        _ => WorkEnd::Crashed(format!("{status}: {said}")),
    }
}
