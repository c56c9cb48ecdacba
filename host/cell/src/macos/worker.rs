//! What holds a worker to its bounds: a profile that opens nothing, and this process, which looks at its memory.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use scorpiox_macos::process::Pid;

use super::SANDBOX_EXEC;
use crate::seatbelt;
use crate::worker::{Bounds, WorkEnd};

/// Becomes the worker within its processor time.
const START: &str =
    "ulimit -c 0 && ulimit -t \"$2\" || exit 126\nprofile=$1; shift 2; exec \"$0\" -p \"$profile\" \"$@\"";
/// What the system ends it with whose processor time is over, and what a program of Rust ends with that gets no memory.
const XCPU: i32 = 24;
const ABRT: i32 = 6;

/// What it may use, as far as this process has to look.
pub(crate) struct Held {
    worker: Option<Pid>,
    memory: u64,
}

impl Held {
    /// Whether it uses more memory than it may.
    pub(crate) fn exceeds(&self) -> bool {
        self.worker.is_some_and(|worker| worker.memory() > self.memory)
    }
}

/// A file that lasts as long as it is open.
pub(crate) fn passing(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    fs::remove_file(path)?;
    Ok(file)
}

/// A file, in a folder of this user's that no command can write.
pub(crate) fn pinned(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o500))?;
    File::open(path)
}

/// What starts a worker from its file.
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

/// Starts it.
#[allow(clippy::disallowed_methods)] // as above
pub(crate) fn start(command: &mut Command, bounds: &Bounds) -> io::Result<(Child, Held)> {
    let child = command.spawn()?;
    let worker = Pid::of(&child);
    Ok((child, Held { worker, memory: bounds.memory }))
}

/// How it ended that neither did its task nor refused it.
pub(crate) fn judge(status: ExitStatus, said: &str) -> WorkEnd {
    match status.signal() {
        Some(XCPU) => WorkEnd::Time,
        Some(ABRT) => WorkEnd::Memory,
        _ => WorkEnd::Crashed(format!("{status}: {said}")),
    }
}
