//! Enforces the bounds of a worker: a profile that opens nothing, and memory checks by this process.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use scorpiox_sys::macos::process::Pid;

use super::SANDBOX_EXEC;
use crate::seatbelt;
use crate::worker::{Bounds, WorkEnd};

/// Script that becomes the worker with a limited processor time.
const START: &str =
    "ulimit -c 0 && ulimit -t \"$2\" || exit 126\nprofile=$1; shift 2; exec \"$0\" -p \"$profile\" \"$@\"";
/// Signal at the end of the processor time, and signal of a Rust program whose allocation failed.
const XCPU: i32 = 24;
const ABRT: i32 = 6;

/// Memory limit, which this process has to check itself.
pub(crate) struct Held {
    worker: Option<Pid>,
    memory: u64,
}

impl Held {
    /// Returns `true` if the worker exceeds its memory limit.
    pub(crate) fn exceeds(&self) -> bool {
        self.worker.is_some_and(|worker| worker.memory() > self.memory)
    }
}

/// Opens an unnamed temporary file.
pub(crate) fn passing(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    fs::remove_file(path)?;
    Ok(file)
}

/// Opens a file that no command can write, in a directory of this user.
pub(crate) fn pinned(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o500))?;
    File::open(path)
}

/// Returns the command that starts a worker from its file.
#[allow(clippy::disallowed_methods)] // the other place that starts a program: its own, from bytes
pub(crate) fn command(path: &Path, bounds: &Bounds) -> io::Result<Command> {
    let path = path.canonicalize()?;
    let profile = seatbelt::of_worker(&path).map_err(io::Error::other)?;
    let mut command = Command::new("/bin/sh");
    command
        .env_clear()
        .args(["-c", START, SANDBOX_EXEC, &profile])
        .arg(bounds.cpu_seconds.to_string())
        .arg(path);
    Ok(command)
}

/// Starts the worker.
#[allow(clippy::disallowed_methods)] // as above
pub(crate) fn start(command: &mut Command, bounds: &Bounds) -> io::Result<(Child, Held)> {
    let child = command.spawn()?;
    let worker = Pid::of(&child);
    Ok((child, Held { worker, memory: bounds.memory }))
}

/// Returns the result of a worker that neither did its task nor refused it.
pub(crate) fn judge(status: ExitStatus, said: &str) -> WorkEnd {
    match status.signal() {
        Some(XCPU) => WorkEnd::Time,
        Some(ABRT) => WorkEnd::Memory,
        _ => WorkEnd::Crashed(format!("{status}: {said}")),
    }
}
