//! Telling a running call to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

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
    watchers: Mutex<Watchers>,
    #[cfg(unix)]
    bell: std::sync::OnceLock<Option<crate::bell::Bell>>,
}

/// Who is woken when the flag is set.
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

/// Somebody who is woken for as long as this is held.
#[derive(Debug)]
pub struct Watch<'a> {
    flag: &'a Flag,
    number: u64,
}

impl Cancel {
    /// Asks the call to stop. The first reason stays.
    pub fn set(&self, reason: Reason) {
        let reason = reason as u8 + 1;
        let _ = self.0.reason.compare_exchange(0, reason, Ordering::SeqCst, Ordering::SeqCst);
        #[cfg(unix)]
        if let Some(Some(bell)) = self.0.bell.get() {
            bell.ring();
        }
        // Outside of the lock: who is woken may look, and stop watching.
        let waiting = self.0.watchers().waiting.clone();
        for (_, wake) in waiting {
            wake();
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

    /// Calls `wake` when the flag is set, by whatever thread sets it, and now if it is set already.
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

    /// Sleeps for a time, or until the flag is set; whether it is.
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

    /// A descriptor that can be read once the flag is set. None where the process has no
    /// descriptor left; the flag has to be looked at now and then.
    #[cfg(unix)]
    pub fn bell(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        let bell = self.0.bell.get_or_init(|| crate::bell::Bell::new().ok()).as_ref()?;
        // Set between the call's beginning and now: nobody rang.
        if self.is_set() {
            bell.ring();
        }
        Some(bell.rung())
    }

    /// There is none here: the flag has to be looked at now and then.
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
