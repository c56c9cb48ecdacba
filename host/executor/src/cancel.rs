//! Cancellation of running calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

/// Reason for a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The client cancelled the request.
    Client,
    /// The server is shutting down.
    Shutdown,
    /// The deadline for the response has passed.
    Overdue,
    /// The policy was changed, and may no longer allow what the call can use.
    PolicyChanged,
}

/// Cancellation flag that a call checks and any thread may set. It is never reset.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    reason: AtomicU8,
    watchers: Mutex<Watchers>,
    #[cfg(unix)]
    bell: std::sync::OnceLock<Option<crate::bell::Bell>>,
}

/// Callbacks for when the flag is set.
#[derive(Default)]
struct Watchers {
    last: u64,
    waiting: Vec<(u64, Wake)>,
}

type Wake = Arc<dyn Fn() + Send + Sync>;

impl std::fmt::Debug for Watchers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} watchers", self.waiting.len())
    }
}

/// Registration of a callback, which lasts until it is dropped.
#[derive(Debug)]
pub struct Watch<'a> {
    flag: &'a Flag,
    number: u64,
}

impl Cancel {
    /// Returns `true` if both are the same flag.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Cancels the call. The first reason is retained.
    pub fn set(&self, reason: Reason) {
        let reason = reason as u8 + 1;
        let _ = self.0.reason.compare_exchange(0, reason, Ordering::SeqCst, Ordering::SeqCst);
        #[cfg(unix)]
        if let Some(Some(bell)) = self.0.bell.get() {
            bell.ring();
        }
        // The callbacks run outside of the lock, because they may check the flag or drop their watch.
        let waiting = self.0.watchers().waiting.clone();
        for (_, wake) in waiting {
            wake();
        }
    }

    /// Returns the reason for the cancellation, if any.
    pub fn reason(&self) -> Option<Reason> {
        match self.0.reason.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Reason::Client),
            2 => Some(Reason::Shutdown),
            3 => Some(Reason::Overdue),
            _ => Some(Reason::PolicyChanged),
        }
    }

    /// Returns `true` if the call is cancelled.
    pub fn is_set(&self) -> bool {
        self.reason().is_some()
    }

    /// Calls `wake` on the thread that sets the flag, or immediately if the flag is already set.
    pub fn watch(&self, wake: impl Fn() + Send + Sync + 'static) -> Watch<'_> {
        let wake: Wake = Arc::new(wake);
        let mut watchers = self.0.watchers();
        watchers.last += 1;
        let number = watchers.last;
        watchers.waiting.push((number, Arc::clone(&wake)));
        drop(watchers);
        if self.is_set() {
            wake();
        }
        Watch { flag: &self.0, number }
    }

    /// Sleeps until the time has passed or the flag is set. Returns `true` if the flag is set.
    pub fn wait(&self, time: Duration) -> bool {
        let until = Instant::now().checked_add(time);
        let sleeper = thread::current();
        let _watch = self.watch(move || sleeper.unpark());
        while !self.is_set() {
            match until.map(|until| until.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return false,
                Some(left) => thread::park_timeout(left),
                None => thread::park(),
            }
        }
        true
    }

    /// Returns a descriptor that is readable once the flag is set. Returns `None` if the process has no free
    /// descriptor, in which case the caller must poll the flag.
    #[cfg(unix)]
    pub fn bell(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        let bell = self.0.bell.get_or_init(|| crate::bell::Bell::new().ok()).as_ref()?;
        // If the flag was set before the pipe existed, nothing has signaled the pipe yet.
        if self.is_set() {
            bell.ring();
        }
        Some(bell.rung())
    }

    /// Returns `None`: on Windows, the caller must poll the flag.
    #[cfg(windows)]
    pub fn bell(&self) -> Option<std::os::windows::io::BorrowedHandle<'_>> {
        None
    }
}

impl Flag {
    fn watchers(&self) -> MutexGuard<'_, Watchers> {
        self.watchers.lock()
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.flag.watchers().waiting.retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn who_watches_is_woken_once_and_not_after_letting_go() {
        let cancel = Cancel::default();
        let woken = Arc::new(AtomicU32::new(0));
        let count = || woken.load(Ordering::SeqCst);
        let wake = || {
            let woken = Arc::clone(&woken);
            move || {
                woken.fetch_add(1, Ordering::SeqCst);
            }
        };
        drop(cancel.watch(wake()));
        let watch = cancel.watch(wake());
        assert_eq!(count(), 0);
        cancel.set(Reason::Client);
        assert_eq!(count(), 1);
        drop(watch);
        let _late = cancel.watch(wake());
        assert_eq!(count(), 2, "it was set before");
    }

    #[test]
    fn a_sleeper_wakes_when_it_is_set_or_the_time_is_over() {
        let cancel = Cancel::default();
        assert!(!cancel.wait(Duration::from_millis(1)));
        let other = cancel.clone();
        let setter = thread::spawn(move || other.set(Reason::Client));
        assert!(cancel.wait(Duration::from_mins(1)) && cancel.wait(Duration::MAX));
        setter.join().expect("a thread");
    }

    #[cfg(unix)]
    fn rings(bell: std::os::fd::BorrowedFd<'_>) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        poll(&mut [PollFd::from_borrowed_fd(bell, PollFlags::IN)], Some(&Timespec::default())).expect("poll")
            == 1
    }

    #[cfg(unix)]
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
