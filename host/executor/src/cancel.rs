//! Telling a running call to stop.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Why a call must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The client cancelled the request.
    Client,
    /// The server ends.
    Shutdown,
    /// The client has to be answered.
    Overdue,
}

/// A flag that one call checks and anybody may set; it stays set.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    reason: AtomicU8,
    /// For a call that waits for descriptors; made when the first one does.
    bell: OnceLock<Option<Bell>>,
}

/// A pipe that nobody writes to: it can be read, to its end, once it is closed for writing.
#[derive(Debug)]
struct Bell {
    rung: PipeReader,
    open: Mutex<Option<PipeWriter>>,
}

impl Cancel {
    /// Asks the call to stop. The first reason stays.
    pub fn set(&self, reason: Reason) {
        let reason = reason as u8 + 1;
        let _ = self.0.reason.compare_exchange(0, reason, Ordering::SeqCst, Ordering::SeqCst);
        if let Some(Some(bell)) = self.0.bell.get() {
            bell.ring();
        }
    }

    /// Why to stop, if so.
    pub fn reason(&self) -> Option<Reason> {
        match self.0.reason.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Reason::Client),
            2 => Some(Reason::Shutdown),
            _ => Some(Reason::Overdue),
        }
    }

    /// Whether to stop.
    pub fn is_set(&self) -> bool {
        self.reason().is_some()
    }

    /// A descriptor that can be read once the flag is set. None where the process has no
    /// descriptor left; the flag has to be looked at now and then.
    pub fn bell(&self) -> Option<BorrowedFd<'_>> {
        let bell = self.0.bell.get_or_init(|| Bell::new().ok()).as_ref()?;
        // Set between the call's beginning and now: nobody rang.
        if self.is_set() {
            bell.ring();
        }
        Some(bell.rung.as_fd())
    }
}

impl Bell {
    fn new() -> io::Result<Self> {
        let (rung, open) = io::pipe()?;
        Ok(Self { rung, open: Mutex::new(Some(open)) })
    }

    fn ring(&self) {
        drop(self.open.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn rings(bell: BorrowedFd<'_>) -> bool {
        poll(&mut [PollFd::from_borrowed_fd(bell, PollFlags::IN)], Some(&Timespec::default())).expect("poll")
            == 1
    }

    #[test]
    fn the_bell_rings_whenever_it_was_set() {
        let cancel = Cancel::default();
        assert!(!rings(cancel.bell().expect("a descriptor")));
        cancel.set(Reason::Client);
        assert!(rings(cancel.bell().expect("a descriptor")));

        let early = Cancel::default();
        early.set(Reason::Shutdown);
        early.set(Reason::Client);
        assert!(rings(early.bell().expect("a descriptor")));
        assert_eq!(early.reason(), Some(Reason::Shutdown), "the first reason stays");
    }
}
