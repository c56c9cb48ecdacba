//! Host side of a running command.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::dialer::Dialer;
use crate::listeners::Listeners;
use crate::packet;
use crate::seam::{CellError, Happened};
use crate::wire::{Event, Outcome, Stop};

/// Bytes of a read.
const CHUNK_BYTES: usize = 256 * 1024;
/// Time to read the remaining output after the supervisor's report, when all writers should have exited. A
/// process that cannot be killed, stuck in the kernel, is abandoned.
const LAST_WORDS_TIME: Duration = Duration::from_secs(1);

/// Running command, which is killed on drop.
#[derive(Debug)]
pub struct Running {
    output: OwnedFd,
    control: OwnedFd,
    chunk: Vec<u8>,
    outcome: Option<(Outcome, Instant)>,
    output_ended: bool,
    listeners: Listeners,
    dialer: Option<Dialer>,
}

impl Running {
    pub(crate) fn new(output: OwnedFd, control: OwnedFd, dialer: Option<Dialer>) -> Self {
        let (chunk, listeners) = (Vec::new(), Listeners::default());
        Self { output, control, chunk, outcome: None, output_ended: false, listeners, dialer }
    }

    /// Waits until the command is completely confined and its shell is about to run.
    pub fn wait_until_started(&mut self) -> Result<(), CellError> {
        loop {
            match self.receive()? {
                (Event::Started, _) => return Ok(()),
                (Event::Listening(kinds), fds) => self.listeners = Listeners::of(&kinds, fds),
                (Event::Failed(fault), _) => return Err(fault.into()),
                (Event::Done(_) | Event::DoneAtLength, _) => {
                    return Err(CellError::helper("an unexpected report"));
                }
            }
        }
    }

    /// Returns the listeners in the command's own network, if the cell has no common one; the proxy's is on
    /// [`crate::PROXY_PORT`].
    pub fn take_listeners(&mut self) -> Listeners {
        std::mem::take(&mut self.listeners)
    }

    /// Returns the way to the command's servers, if its specification requests one.
    pub fn take_dialer(&mut self) -> Option<Dialer> {
        self.dialer.take()
    }

    /// Waits for the next event, for at most `time`, or until `waker` is readable.
    pub fn next(
        &mut self,
        time: Option<Duration>,
        waker: Option<BorrowedFd<'_>>,
    ) -> Result<Happened<'_>, CellError> {
        if let Some((outcome, reported)) = &self.outcome
            && (self.output_ended || reported.elapsed() > LAST_WORDS_TIME)
        {
            return Ok(Happened::Done(Box::new(outcome.clone())));
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

    /// Ends the command: with SIGTERM, followed by SIGKILL after a grace period; without `gently`, with
    /// SIGKILL at once.
    pub fn stop(&self, gently: bool) {
        let stop = if gently { Stop::Gently } else { Stop::Now };
        // Fails if the command has already ended.
        let _ = packet::send(self.control.as_fd(), &stop, &[]);
    }

    /// Returns whether the output and the control socket are readable.
    fn wait(&self, time: Option<Duration>, waker: Option<BorrowedFd<'_>>) -> io::Result<(bool, bool)> {
        // A descriptor at its end would wake `poll` every time.
        let output = (!self.output_ended).then_some(self.output.as_fd());
        let control = self.outcome.is_none().then_some(self.control.as_fd());
        let watched = [output, control, waker];
        let mut polled: Vec<_> =
            watched.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        // After the report only the remaining output is read.
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
        let (event, fds) = received.ok_or(CellError::Gone)?;
        match (event, fds.into_iter().next()) {
            (Event::Done(outcome), _) => Ok(outcome),
            (Event::DoneAtLength, Some(file)) => packet::from_file(file).map_err(CellError::helper),
            (Event::Failed(fault), _) => Err(fault.into()),
            _ => Err(CellError::helper("an unexpected report")),
        }
    }

    fn receive(&self) -> Result<(Event, Vec<OwnedFd>), CellError> {
        let gone = || CellError::helper("the command's supervisor was killed, and the command with it");
        let received = packet::receive(self.control.as_fd(), true).map_err(CellError::helper)?;
        received.ok_or_else(gone)
    }

    fn read(&mut self) -> io::Result<usize> {
        // The buffer is not zeroed: of a large buffer, only the pages that are read into become resident.
        self.chunk.clear();
        self.chunk.reserve(CHUNK_BYTES);
        let (output, chunk) = (&self.output, &mut self.chunk);
        Ok(rustix::io::retry_on_intr(|| rustix::io::read(output, rustix::buffer::spare_capacity(chunk)))?)
    }
}
