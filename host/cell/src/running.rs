//! A command that runs, from the host's side.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::packet;
use crate::seam::{CellError, Happened};
use crate::wire::{Event, Outcome, Stop};

/// Bytes read at once.
const CHUNK_BYTES: usize = 256 * 1024;
/// After the supervisor's report all writers are gone; a process that cannot be killed, stuck
/// in the kernel, is given up on.
const LAST_WORDS_TIME: Duration = Duration::from_secs(1);

/// A command that runs. Dropped, it is killed.
#[derive(Debug)]
pub struct Running {
    output: OwnedFd,
    control: OwnedFd,
    chunk: Vec<u8>,
    outcome: Option<(Outcome, Instant)>,
    output_ended: bool,
    listener: Option<TcpListener>,
}

impl Running {
    pub(crate) fn new(output: OwnedFd, control: OwnedFd) -> Self {
        Self { output, control, chunk: Vec::new(), outcome: None, output_ended: false, listener: None }
    }

    /// Waits until the command's sandbox is complete and its shell is about to run.
    pub fn wait_until_started(&mut self) -> Result<(), CellError> {
        loop {
            match self.receive()? {
                (Event::Started, _) => return Ok(()),
                (Event::Listening, mut fds) => self.listener = fds.pop().map(TcpListener::from),
                (Event::Failed(fault), _) => return Err(fault.into()),
                (Event::Done(_), _) => return Err(CellError::helper("an unexpected report")),
            }
        }
    }

    /// A listener on [`crate::PROXY_PORT`] of the command's own network, where the cell has none
    /// for all.
    pub fn take_listener(&mut self) -> Option<TcpListener> {
        self.listener.take()
    }

    /// Waits for what happens next, for at most `time`, or until `waker` can be read.
    pub fn next(
        &mut self,
        time: Option<Duration>,
        waker: Option<BorrowedFd<'_>>,
    ) -> Result<Happened<'_>, CellError> {
        if let Some((outcome, reported)) = &self.outcome
            && (self.output_ended || reported.elapsed() > LAST_WORDS_TIME)
        {
            return Ok(Happened::Done(outcome.clone()));
        }
        let (output, control) = self.wait(time, waker).map_err(CellError::helper)?;
        if control && self.outcome.is_none() {
            self.outcome = Some((self.report()?, Instant::now()));
        }
        if output {
            let got = self.read().map_err(CellError::helper)?;
            if got > 0 {
                return Ok(Happened::Output(&self.chunk[..got]));
            }
            self.output_ended = true;
        }
        Ok(Happened::Nothing)
    }

    /// Asks for the end: SIGTERM, and SIGKILL when that is not enough; or SIGKILL at once.
    pub fn stop(&self, gently: bool) {
        let stop = if gently { Stop::Gently } else { Stop::Now };
        // Fails when it has ended, which is as well.
        let _ = packet::send(self.control.as_fd(), &stop, &[]);
    }

    /// Whether the output and the control socket have something.
    fn wait(&self, time: Option<Duration>, waker: Option<BorrowedFd<'_>>) -> io::Result<(bool, bool)> {
        // A descriptor that has ended would wake at once, and each time.
        let output = (!self.output_ended).then_some(self.output.as_fd());
        let control = self.outcome.is_none().then_some(self.control.as_fd());
        let watched = [output, control, waker];
        let mut polled: Vec<_> =
            watched.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        // After the report only the rest of the output is waited for.
        let time = if self.outcome.is_some() { Some(LAST_WORDS_TIME) } else { time };
        let time = time.map(|time| Timespec::try_from(time).unwrap_or_default());
        match poll(&mut polled, time.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok((false, false)),
            other => other?,
        };
        let mut ready = polled.iter().map(|polled| !polled.revents().is_empty());
        let mut is_ready = |fd: Option<BorrowedFd<'_>>| fd.is_some() && ready.next() == Some(true);
        Ok((is_ready(output), is_ready(control)))
    }

    fn report(&self) -> Result<Outcome, CellError> {
        let received = packet::receive(self.control.as_fd(), true).map_err(CellError::helper)?;
        match received.ok_or(CellError::Gone)?.0 {
            Event::Done(outcome) => Ok(outcome),
            Event::Failed(fault) => Err(fault.into()),
            Event::Started | Event::Listening => Err(CellError::helper("an unexpected report")),
        }
    }

    fn receive(&self) -> Result<(Event, Vec<OwnedFd>), CellError> {
        let gone = || CellError::helper("the command's supervisor was killed, and the command with it");
        let received = packet::receive(self.control.as_fd(), true).map_err(CellError::helper)?;
        received.ok_or_else(gone)
    }

    fn read(&mut self) -> io::Result<usize> {
        // Not filled with zeros: of a large buffer only what is read into becomes memory.
        self.chunk.clear();
        self.chunk.reserve(CHUNK_BYTES);
        let (output, chunk) = (&self.output, &mut self.chunk);
        Ok(rustix::io::retry_on_intr(|| rustix::io::read(output, rustix::buffer::spare_capacity(chunk)))?)
    }
}
