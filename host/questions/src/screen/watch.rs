//! Waits for events: keys, resizes, a closed terminal, termination signals.
//!
//! The terminal library reads indefinitely from a closed terminal. It is therefore only polled for available
//! events, after a check that the terminal is open. A separate thread covers the race between the two: it
//! ends the process if a termination signal has no effect.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::flag;
use signal_hook::iterator::{Handle, Signals};

use super::terminal::{input, restore_modes};

/// Deadline after a termination signal. After it the process exits even during a blocked drawing or read,
/// because a terminal may be stopped.
const END_WITHIN: Duration = Duration::from_secs(1);

/// Time within which the rest of a key's sequence follows its first byte, which is Escape. On a slow line an
/// arrow key must not count as declining.
const REST_WITHIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

pub(super) struct Watch {
    terminal: OwnedFd,
    /// Receives a byte for each signal.
    wake: UnixStream,
    is_ending: Arc<AtomicBool>,
    /// Set when termination signals shall end the process again.
    is_over: Arc<AtomicBool>,
    signals: Handle,
    /// Dropped when the end was noticed.
    noticed: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Next event.
pub(super) enum Next {
    Event(Event),
    /// Nothing within the timeout.
    Quiet,
    /// No more events will follow.
    End,
}

/// State of the terminal.
#[derive(Default)]
struct Seen {
    is_gone: bool,
    has_input: bool,
}

impl Watch {
    pub(super) fn start() -> io::Result<Self> {
        let terminal = input()?;
        // The library's handler for resizes must be installed before ours, which triggers polling of the
        // library.
        event::poll(Duration::ZERO)?;
        let (is_ending, is_over) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&is_over))?;
        }
        let signals = Signals::new([SIGHUP, SIGINT, SIGTERM, SIGWINCH])?;
        let handle = signals.handle();
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        let (noticed, is_noticed) = channel();
        let ending = Arc::clone(&is_ending);
        let thread = std::thread::Builder::new()
            .name("ask-signals".to_owned())
            .spawn(move || watch_signals(signals, &ending, waker, &is_noticed))?;
        Ok(Self {
            terminal,
            wake,
            is_ending,
            is_over,
            signals: handle,
            noticed: Some(noticed),
            thread: Some(thread),
        })
    }

    /// Returns the next event within a timeout.
    pub(super) fn next_within(&mut self, time: Duration) -> io::Result<Next> {
        let end = Instant::now() + time;
        // Events of an earlier read may be left.
        let mut left = Duration::ZERO;
        loop {
            let seen = self.wait(&timespec(left))?;
            if seen.is_gone || self.is_ending() {
                return Ok(Next::End);
            }
            if event::poll(Duration::ZERO)? {
                let event = event::read()?;
                if !(is_escape(&event) && self.drop_rest()?) {
                    return Ok(Next::Event(event));
                }
            }
            left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Next::Quiet);
            }
        }
    }

    /// Drops the rest of an escape sequence. Returns `true` if there was a rest, so that the Escape was not a
    /// key press.
    fn drop_rest(&mut self) -> io::Result<bool> {
        let seen = self.wait(&REST_WITHIN)?;
        if seen.is_gone || !seen.has_input {
            return Ok(false);
        }
        while event::poll(Duration::ZERO)? {
            event::read()?;
        }
        Ok(true)
    }

    /// Returns `true` if the process received a termination signal.
    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    /// Waits for input or a signal.
    fn wait(&mut self, timeout: &Timespec) -> io::Result<Seen> {
        let mut sources =
            [PollFd::new(&self.terminal, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
        match poll(&mut sources, Some(timeout)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Seen::default()),
            Err(error) => return Err(error.into()),
        }
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        let on_terminal = sources[0].revents();
        // Any number of signals is a single reason to check.
        while matches!(self.wake.read(&mut [0; 64]), Ok(count) if count > 0) {}
        Ok(Seen { is_gone: on_terminal.intersects(gone), has_input: on_terminal.contains(PollFlags::IN) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        self.noticed = None;
        self.signals.close();
        if let Some(thread) = self.thread.take() {
            // A panic of that thread has no effect here.
            let _ = thread.join();
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

pub(super) fn is_escape(event: &Event) -> bool {
    event.as_key_press_event().is_some_and(|key| key.code == KeyCode::Esc)
}

fn watch_signals(
    mut signals: Signals,
    is_ending: &AtomicBool,
    mut waker: UnixStream,
    is_noticed: &Receiver<()>,
) {
    for signal in signals.forever() {
        if signal != SIGWINCH {
            is_ending.store(true, Ordering::Release);
        }
        // A full pipe also wakes the reader.
        let _ = waker.write(&[0]);
        if signal != SIGWINCH
            && is_noticed.recv_timeout(END_WITHIN) == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
        {
            restore_modes();
            std::process::exit(128 + signal);
        }
    }
}
