//! What holds a worker to its bounds: a job.
//!
//! A worker is a process of its own in a job: it can start no other one, and its memory and time are bounded. It keeps
//! the rights of who runs the server: what a stranger's bytes could make of the program would have them.

use std::fs::File;
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use scorpiox_windows::file::FILE_FLAG_DELETE_ON_CLOSE;
use scorpiox_windows::job::{Job, Limits};

use crate::worker::{Bounds, WorkEnd};

/// Others may read it meanwhile, and nothing else.
const FILE_SHARE_READ: u32 = 1;
/// How Windows says that a program recursed too deeply, or aborted, as one of Rust does that gets no memory.
const STACK_OVERFLOW: u32 = 0xC000_00FD;
const FAIL_FAST: u32 = 0xC000_0409;
/// How a job says that its time is over.
const QUOTA: u32 = 1816;

/// What ends with it.
pub(crate) struct Held {
    _job: Job,
}

impl Held {
    /// The system ends what exceeds its bounds.
    #[allow(clippy::unused_self)] // as where it is this process that looks
    pub(crate) fn exceeds(&self) -> bool {
        false
    }
}

/// A file that lasts as long as it is open.
pub(crate) fn passing(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true).share_mode(0);
    options.custom_flags(FILE_FLAG_DELETE_ON_CLOSE).open(path)
}

/// A file that nobody changes as long as it is open.
pub(crate) fn pinned(path: &Path) -> io::Result<File> {
    File::options().read(true).share_mode(FILE_SHARE_READ).open(path)
}

/// What starts a worker from its file.
#[allow(clippy::disallowed_methods)] // the other place that starts a program: its own, from bytes
#[allow(clippy::unnecessary_wraps)] // as where it can fail
pub(crate) fn command(path: &Path, _: &Bounds) -> io::Result<Command> {
    let mut command = Command::new(path);
    // Without it no program starts.
    command.env_clear().envs(std::env::var_os("SystemRoot").map(|root| ("SystemRoot", root)));
    Ok(command)
}

/// Starts it.
pub(crate) fn start(command: &mut Command, bounds: &Bounds) -> io::Result<(Child, Held)> {
    let job = Job::new(&Limits {
        processes: 1,
        memory: bounds.memory,
        time: Some(Duration::from_secs(bounds.cpu_seconds)),
    })?;
    let child = job.start(command)?;
    Ok((child, Held { _job: job }))
}

/// How it ended that neither did its task nor refused it.
pub(crate) fn judge(status: ExitStatus, said: &str) -> WorkEnd {
    match status.code().map(i32::cast_unsigned) {
        Some(QUOTA) => WorkEnd::Time,
        Some(STACK_OVERFLOW | FAIL_FAST) => WorkEnd::Memory,
        _ => WorkEnd::Crashed(format!("{status}: {said}")),
    }
}
