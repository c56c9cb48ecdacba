//! Telling a running call to stop.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::event::{EventfdFlags, eventfd};

/// Why a call must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The client cancelled the request.
    Client,
    /// The server ends.
    Shutdown,
}

/// A flag that one call checks and anybody may set; it stays set.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    reason: AtomicU8,
    /// For a call that waits for descriptors; made when the first one does.
    bell: OnceLock<Option<OwnedFd>>,
}

impl Cancel {
    /// Asks the call to stop. The first reason stays.
    pub fn set(&self, reason: Reason) {
        let reason = reason as u8 + 1;
        let _ = self.0.reason.compare_exchange(0, reason, Ordering::SeqCst, Ordering::SeqCst);
        if let Some(Some(bell)) = self.0.bell.get() {
            ring(bell);
        }
    }

    /// Why to stop, if so.
    pub fn reason(&self) -> Option<Reason> {
        match self.0.reason.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Reason::Client),
            _ => Some(Reason::Shutdown),
        }
    }

    /// Whether to stop.
    pub fn is_set(&self) -> bool {
        self.reason().is_some()
    }

    /// A descriptor that can be read once the flag is set. None where the process has no
    /// descriptor left; the flag has to be looked at now and then.
    pub fn bell(&self) -> Option<BorrowedFd<'_>> {
        let bell =
            self.0.bell.get_or_init(|| eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok());
        // Set between the call's beginning and now: nobody rang.
        if let (Some(bell), true) = (bell, self.is_set()) {
            ring(bell);
        }
        bell.as_ref().map(AsFd::as_fd)
    }
}

fn ring(bell: &OwnedFd) {
    // Fails only when it has rung 2^64 times.
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
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
