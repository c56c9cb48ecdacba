//! Running command that threads of the host follow, on systems without a supervisor process.

use std::io::{self, PipeReader, Read as _};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::dialer::Dialer;
use crate::listeners::Listeners;
use crate::seam::{Bell, CellError, Happened};
use crate::wire::{Ended, Names, Outcome, Status};

/// Bytes of a read, and maximum number of queued chunks.
const CHUNK_BYTES: usize = 64 * 1024;
const PIECES: usize = 16;
/// Maximum duration of a wait: no waker interrupts it, and the caller has to check for cancellation.
const LOOK_TIME: Duration = Duration::from_millis(50);
/// Time to read the remaining output after the last process has ended. A process that inherited the pipe and
/// left the tree may keep it open.
const LAST_WORDS_TIME: Duration = Duration::from_secs(1);

/// Grace period between the request to end and the kill.
const GRACE_TIME: Duration = Duration::from_secs(2);

/// All processes of a command, which are killed on drop.
pub trait Tree: std::fmt::Debug {
    /// Returns the number of running processes.
    fn processes(&self) -> io::Result<u32>;

    /// Asks all processes to end; returns `false` if the system has no such request.
    fn ask(&self) -> bool;

    /// Kills all processes.
    fn end(&self) -> io::Result<()>;

    /// Returns the limit that the processes exceed, if the system does not enforce it itself.
    fn exceeds(&self) -> Option<Ended>;
}

/// Running command, which is killed on drop.
#[derive(Debug)]
pub struct Followed<T> {
    tree: T,
    news: Receiver<News>,
    chunk: Vec<u8>,
    begun: Instant,
    until: Option<Instant>,
    /// Time at which processes are killed that were asked to end.
    kill_at: Option<Instant>,
    ended: Option<Ended>,
    shell: Option<(Outcome, Instant)>,
    output_ended: bool,
}

/// Message of the threads that read the output and wait for the shell.
#[derive(Debug)]
enum News {
    Output(Vec<u8>),
    OutputEnded,
    ShellEnded(io::Result<ExitStatus>),
}

impl<T: Tree> Followed<T> {
    pub(crate) fn new(
        tree: T,
        child: Child,
        output: PipeReader,
        timeout_ms: Option<u64>,
    ) -> io::Result<Self> {
        let (teller, news) = sync_channel(PIECES);
        let reader = teller.clone();
        thread::Builder::new().name("output".to_owned()).spawn(move || read(output, &reader))?;
        thread::Builder::new().name("command".to_owned()).spawn(move || wait(child, &teller))?;
        let begun = Instant::now();
        let until = timeout_ms.and_then(|time| begun.checked_add(Duration::from_millis(time)));
        let (chunk, kill_at, ended, shell, output_ended) = (Vec::new(), None, None, None, false);
        Ok(Self { tree, news, chunk, begun, until, kill_at, ended, shell, output_ended })
    }

    /// Returns immediately: the command is already running.
    #[allow(clippy::unnecessary_wraps, clippy::unused_self)] // same signature as on Linux
    pub fn wait_until_started(&mut self) -> Result<(), CellError> {
        Ok(())
    }

    /// Returns none: no listener belongs to this command alone.
    #[allow(clippy::unused_self)] // same signature as on Linux
    pub fn take_listeners(&mut self) -> Listeners {
        Listeners::default()
    }

    /// Returns `None`: the command has no network of its own.
    #[allow(clippy::unused_self)] // same signature as on Linux
    pub fn take_dialer(&mut self) -> Option<Dialer> {
        None
    }

    /// Waits for the next event, for at most `time`.
    pub fn next(&mut self, time: Option<Duration>, _: Option<Bell<'_>>) -> Result<Happened<'_>, CellError> {
        if let Some((outcome, reported)) = &self.shell
            && (self.output_ended || reported.elapsed() > LAST_WORDS_TIME)
        {
            return Ok(Happened::Done(Box::new(outcome.clone())));
        }
        if self.shell.is_none() {
            self.see_to_its_end();
        }
        match self.news.recv_timeout(time.map_or(LOOK_TIME, |time| time.min(LOOK_TIME))) {
            Ok(News::Output(bytes)) => {
                self.chunk = bytes;
                return Ok(Happened::Output(&self.chunk));
            }
            Ok(News::OutputEnded) | Err(RecvTimeoutError::Disconnected) => self.output_ended = true,
            Ok(News::ShellEnded(status)) => {
                self.shell = Some((self.judge(status.map_err(CellError::helper)?)?, Instant::now()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        Ok(Happened::Nothing)
    }

    fn see_to_its_end(&mut self) {
        let now = Instant::now();
        if self.until.take_if(|until| *until <= now).is_some() {
            self.ask(Ended::Timeout);
        }
        if self.kill_at.take_if(|at| *at <= now).is_some() {
            self.kill();
        }
        if self.ended.is_none()
            && let Some(limit) = self.tree.exceeds()
        {
            self.ended = Some(limit);
            self.kill();
        }
    }

    /// Returns the result of the command, and kills the processes that outlived the shell.
    fn judge(&self, status: ExitStatus) -> Result<Outcome, CellError> {
        let leftover = self.tree.processes().map_err(CellError::helper)?;
        self.tree.end().map_err(CellError::helper)?;
        let duration = self.begun.elapsed();
        Ok(Outcome {
            status: how(status),
            ended: self.ended,
            leftover,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            processor_us: 0,
            names: Names::default(),
            full: Vec::new(),
        })
    }

    /// Asks the command to end, and kills it after a grace period; without `gently`, kills it at once.
    pub fn stop(&mut self, gently: bool) {
        if gently {
            self.ask(Ended::Stopped);
        } else {
            self.ended.get_or_insert(Ended::Stopped);
            self.kill();
        }
    }

    fn ask(&mut self, why: Ended) {
        self.ended.get_or_insert(why);
        if self.tree.ask() {
            self.kill_at = Instant::now().checked_add(GRACE_TIME);
        } else {
            self.kill();
        }
    }

    fn kill(&self) {
        // Fails if the command has already ended.
        let _ = self.tree.end();
    }
}

#[cfg(unix)]
fn how(status: ExitStatus) -> Status {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal().map_or_else(|| Status::Code(status.code().unwrap_or(-1)), Status::Signal)
}

#[cfg(windows)]
fn how(status: ExitStatus) -> Status {
    Status::Code(status.code().unwrap_or(-1))
}

fn read(mut output: PipeReader, teller: &SyncSender<News>) {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        match output.read(&mut chunk) {
            Ok(got) if got > 0 => {
                chunk.truncate(got);
                if teller.send(News::Output(chunk)).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // An error means that the other end is closed.
            Ok(_) | Err(_) => {
                let _ = teller.send(News::OutputEnded);
                return;
            }
        }
    }
}

fn wait(mut child: Child, teller: &SyncSender<News>) {
    let _ = teller.send(News::ShellEnded(child.wait()));
}
