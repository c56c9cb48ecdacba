//! Starting a worker, and seeing to its end.

use std::fs::File;
use std::io::{self, PipeReader, Read, Seek};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::process::Signal;

use super::inside::{REFUSED, WORKER_NAME};
use super::{Work, WorkEnd};
use crate::seam::CellError;

/// How often it is asked whether to stop.
const LOOK_TIME: Duration = Duration::from_millis(20);
/// Longest explanation that is kept, in bytes.
const MAX_TEXT_BYTES: usize = 4 * 1024;

/// Does a task, unless `stop` says to leave it. Blocks.
pub fn run(work: Work<'_>, stop: impl Fn() -> bool) -> Result<WorkEnd, CellError> {
    let mut output = memory_file("output", MemfdFlags::empty()).map_err(CellError::worker)?;
    let time = work.bounds.time;
    let mut worker = Worker::start(work, &output).map_err(CellError::worker)?;
    let until = Instant::now().checked_add(time);
    loop {
        if worker.has_ended().map_err(CellError::worker)? {
            break;
        }
        if stop() {
            return Ok(WorkEnd::Stopped);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(WorkEnd::Time);
        }
    }
    let status = worker.child.wait().map_err(CellError::worker)?;
    output.rewind().map_err(CellError::worker)?;
    let said = String::from_utf8_lossy(&worker.said);
    Ok(judge(status, said.trim(), output))
}

fn judge(status: ExitStatus, said: &str, output: File) -> WorkEnd {
    let signal = status.signal().and_then(Signal::from_named_raw);
    match (status.code(), signal) {
        (Some(0), _) => WorkEnd::Done(output),
        (Some(code), _) if code == REFUSED => WorkEnd::Refused(said.to_owned()),
        (_, Some(Signal::XCPU)) => WorkEnd::Time,
        (_, Some(Signal::XFSZ)) => WorkEnd::Output,
        // A Rust program aborts where it gets no memory, and where its stack ends; a machine without memory
        // kills it.
        (_, Some(Signal::ABORT | Signal::KILL)) => WorkEnd::Memory,
        _ => WorkEnd::Crashed(format!("{status}: {said}")),
    }
}

/// A worker that runs. Dropped, it is killed.
struct Worker {
    child: Child,
    /// Its standard error, which ends with it.
    text: PipeReader,
    said: Vec<u8>,
}

impl Worker {
    #[allow(clippy::disallowed_methods)] // the other place that starts a program: its own, from bytes
    fn start(work: Work<'_>, output: &File) -> io::Result<Self> {
        let program = sealed("worker", work.program, MemfdFlags::EXEC)?;
        let input = sealed("input", &mut { work.input }, MemfdFlags::NOEXEC_SEAL)?;
        let (text, theirs) = io::pipe()?;
        rustix::io::ioctl_fionbio(&text, true)?;
        let child = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()))
            .arg0(WORKER_NAME)
            .arg(work.task)
            .args(work.bounds.to_arguments())
            .env_clear()
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output.try_clone()?))
            .stderr(Stdio::from(OwnedFd::from(theirs)))
            .spawn()?;
        Ok(Self { child, text, said: Vec::new() })
    }

    /// Waits a moment; whether it has ended, or is about to.
    fn has_ended(&mut self) -> io::Result<bool> {
        let time = Timespec::try_from(LOOK_TIME).unwrap_or_default();
        match poll(&mut [PollFd::from_borrowed_fd(self.text.as_fd(), PollFlags::IN)], Some(&time)) {
            Ok(0) | Err(Errno::INTR) => return Ok(false),
            other => other?,
        };
        let mut chunk = [0; MAX_TEXT_BYTES];
        match self.text.read(&mut chunk) {
            Ok(0) => Ok(true),
            Ok(got) => {
                let room = MAX_TEXT_BYTES.saturating_sub(self.said.len());
                self.said.extend_from_slice(&chunk[..got.min(room)]);
                Ok(false)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file in memory with these bytes, which nobody can change any more.
fn sealed(name: &str, bytes: &mut dyn Read, executable: MemfdFlags) -> io::Result<File> {
    let mut file = memory_file(name, executable | MemfdFlags::ALLOW_SEALING)?;
    io::copy(bytes, &mut file)?;
    file.rewind()?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file)
}

fn memory_file(name: &str, flags: MemfdFlags) -> io::Result<File> {
    let executable = MemfdFlags::EXEC | MemfdFlags::NOEXEC_SEAL;
    let made = memfd_create(name, flags | MemfdFlags::CLOEXEC);
    // Kernels before 6.3 know neither word, and make every such file executable.
    let made = match made {
        Err(Errno::INVAL) if flags.intersects(executable) => {
            memfd_create(name, flags.difference(executable) | MemfdFlags::CLOEXEC)
        }
        other => other,
    };
    Ok(File::from(made?))
}
