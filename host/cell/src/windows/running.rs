//! A command that runs.

use std::io::{self, PipeReader, Read as _};
use std::net::TcpListener;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_windows::job::Job;

use crate::seam::{Bell, CellError, Happened};
use crate::wire::{Ended, Names, Outcome, Status};

/// Bytes read at once, and pieces that wait to be taken.
const CHUNK_BYTES: usize = 64 * 1024;
const PIECES: usize = 16;
/// Longest wait at once: nothing wakes who waits, who has to look whether to stop.
const LOOK_TIME: Duration = Duration::from_millis(50);
/// After the last process has ended all writers are gone, but for one that inherited the pipe and was let go.
const LAST_WORDS_TIME: Duration = Duration::from_secs(1);

/// A command that runs. Dropped, it is killed.
#[derive(Debug)]
pub struct Running {
    job: Job,
    news: Receiver<News>,
    chunk: Vec<u8>,
    begun: Instant,
    until: Option<Instant>,
    ended: Option<Ended>,
    shell: Option<(Outcome, Instant)>,
    output_ended: bool,
}

/// What the threads tell that read and wait.
#[derive(Debug)]
enum News {
    Output(Vec<u8>),
    OutputEnded,
    ShellEnded(io::Result<ExitStatus>),
}

impl Running {
    pub(super) fn new(
        job: Job,
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
        let (chunk, ended, shell, output_ended) = (Vec::new(), None, None, false);
        Ok(Self { job, news, chunk, begun, until, ended, shell, output_ended })
    }

    /// It runs by now.
    #[allow(clippy::unnecessary_wraps, clippy::unused_self)] // as where there is something to wait for
    pub fn wait_until_started(&mut self) -> Result<(), CellError> {
        Ok(())
    }

    /// Nothing listens: commands have the machine's network.
    pub fn take_listener(&mut self) -> Option<TcpListener> {
        None
    }

    /// Waits for what happens next, for at most `time`.
    pub fn next(&mut self, time: Option<Duration>, _: Option<Bell<'_>>) -> Result<Happened<'_>, CellError> {
        if let Some((outcome, reported)) = &self.shell
            && (self.output_ended || reported.elapsed() > LAST_WORDS_TIME)
        {
            return Ok(Happened::Done(outcome.clone()));
        }
        if self.shell.is_none() && self.until.is_some_and(|until| until <= Instant::now()) {
            self.until = None;
            self.end(Ended::Timeout);
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

    /// How it ended. What outlived the shell is ended, too.
    fn judge(&self, status: ExitStatus) -> Result<Outcome, CellError> {
        let leftover = self.job.processes().map_err(CellError::helper)?;
        self.job.end().map_err(CellError::helper)?;
        let duration = self.begun.elapsed();
        Ok(Outcome {
            status: Status::Code(status.code().unwrap_or(-1)),
            ended: self.ended,
            leftover,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            names: Names::default(),
        })
    }

    /// Ends it, at once: no program here is asked to end.
    pub fn stop(&mut self, _gently: bool) {
        self.end(Ended::Stopped);
    }

    fn end(&mut self, why: Ended) {
        self.ended.get_or_insert(why);
        // Fails when it has ended, which is as well.
        let _ = self.job.end();
    }
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
            // An error is the end: the other one is closed.
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
