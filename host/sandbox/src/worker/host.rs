//! Starts a worker and waits for its end.

use std::fs::File;
use std::io::{self, PipeReader, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use super::{REFUSED, WORKER_NAME, Work, WorkEnd};
use crate::memory;
use crate::seam::CellError;

/// Interval between cancellation checks.
const LOOK_TIME: Duration = Duration::from_millis(20);
/// Maximum number of stored bytes of an explanation.
const MAX_TEXT_BYTES: usize = 4 * 1024;

/// Runs a task until it ends or `stop` returns `true`. Blocks.
pub fn run(work: Work<'_>, stop: impl Fn() -> bool) -> Result<WorkEnd, CellError> {
    let mut output = memory::new("output", MemfdFlags::empty()).map_err(CellError::worker)?;
    let time = work.bounds.time;
    let mut worker = Worker::start(work, &output).map_err(CellError::worker)?;
    let until = Instant::now().checked_add(time);
    let status = loop {
        if worker.has_ended().map_err(CellError::worker)? {
            break worker.child.0.wait().map_err(CellError::worker)?;
        }
        if stop() {
            return Ok(WorkEnd::Stopped);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(WorkEnd::Time);
        }
    };
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
        // A Rust program aborts on a failed allocation and on stack overflow. The kernel kills it if the
        // machine runs out of memory.
        (_, Some(Signal::ABORT | Signal::KILL)) => WorkEnd::Memory,
        _ => WorkEnd::Crashed(format!("{status}: {said}")),
    }
}

/// Running worker, which is killed on drop.
struct Worker {
    child: Killed,
    /// Becomes readable when the worker has ended.
    end: OwnedFd,
    /// Standard error, until the worker closes it.
    text: Option<PipeReader>,
    said: Vec<u8>,
}

/// Process that is killed on drop.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Worker {
    #[allow(clippy::disallowed_methods)] // the other place that starts a program: its own, from bytes
    fn start(work: Work<'_>, output: &File) -> io::Result<Self> {
        let Work { program, task, input, bounds } = work;
        let program = memory::sealed("worker", MemfdFlags::EXEC, |file| io::copy(program, file).map(drop))?;
        let input = memory::sealed("input", MemfdFlags::NOEXEC_SEAL, |file| file.write_all(input))?;
        let (text, theirs) = io::pipe()?;
        rustix::io::ioctl_fionbio(&text, true)?;
        let child = Command::new(memory::path(&program))
            .arg0(WORKER_NAME)
            .arg(task)
            .arg(std::process::id().to_string())
            .args(bounds.to_arguments())
            .env_clear()
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output.try_clone()?))
            .stderr(Stdio::from(OwnedFd::from(theirs)))
            .spawn()?;
        let child = Killed(child);
        // The status has not been collected yet, so the process ID cannot have been reused.
        let number = i32::try_from(child.0.id()).ok().and_then(Pid::from_raw);
        let end = pidfd_open(number.ok_or(io::ErrorKind::InvalidData)?, PidfdFlags::empty())?;
        Ok(Self { child, end, text: Some(text), said: Vec::new() })
    }

    /// Waits briefly; returns `true` if the worker has ended. A closed standard error does not imply that.
    fn has_ended(&mut self) -> io::Result<bool> {
        let time = Timespec::try_from(LOOK_TIME).unwrap_or_default();
        let watched = [Some(self.end.as_fd()), self.text.as_ref().map(AsFd::as_fd)];
        let mut polled: Vec<_> =
            watched.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        match poll(&mut polled, Some(&time)) {
            Ok(0) | Err(Errno::INTR) => return Ok(false),
            other => other?,
        };
        let mut ready = polled.iter().map(|polled| !polled.revents().is_empty());
        let (has_ended, has_text) = (ready.next() == Some(true), ready.next() == Some(true));
        drop(ready);
        if has_text || has_ended {
            self.listen()?;
        }
        Ok(has_ended)
    }

    /// Reads the available explanation.
    fn listen(&mut self) -> io::Result<()> {
        let mut chunk = [0; MAX_TEXT_BYTES];
        while let Some(text) = &mut self.text {
            match text.read(&mut chunk) {
                Ok(0) => self.text = None,
                Ok(got) => {
                    let room = MAX_TEXT_BYTES.saturating_sub(self.said.len());
                    self.said.extend_from_slice(&chunk[..got.min(room)]);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
