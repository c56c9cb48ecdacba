//! Ends a command whose processes hold up its supervisor.
//!
//! The supervisor reads paths in the memory of who asks, and the kernel lets a process with many threads make that last.
//! Meanwhile nobody enforces a timeout, hears the host or counts memory. So a thread that looks at no process's memory
//! does what cannot wait.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use scorpiox_cell::wire::Ended;

use crate::tree::Tree;

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// A supervisor that does not go on for so long is held up: by the command, or by a slow disk.
const HELD_UP_TIME: Duration = Duration::from_secs(5);

/// The moment at which a supervisor went on last, in milliseconds since it began; and the reasons for which its command
/// was killed meanwhile.
#[derive(Debug, Clone)]
pub(super) struct Beat {
    begun: Instant,
    last: Arc<AtomicU64>,
    was_over: Arc<AtomicBool>,
    was_late: Arc<AtomicBool>,
}

impl Beat {
    pub(super) fn new(begun: Instant) -> Self {
        Self { begun, last: Arc::default(), was_over: Arc::default(), was_late: Arc::default() }
    }

    /// Notes that the supervisor goes on.
    pub(super) fn note(&self) {
        let elapsed = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(elapsed, Ordering::Relaxed);
    }

    /// The reason for which the command was killed here, if it was.
    pub(super) fn ended(&self) -> Option<Ended> {
        let (was_over, was_late) =
            (self.was_over.load(Ordering::Relaxed), self.was_late.load(Ordering::Relaxed));
        was_over.then_some(Ended::Memory).or_else(|| was_late.then_some(Ended::Timeout))
    }

    fn is_old(&self) -> bool {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.begun.elapsed().saturating_sub(last) > HELD_UP_TIME
    }
}

/// Watches a supervisor until its process ends. `until` is when its command has to have ended, `control` the socket that
/// the host speaks on. False where there is no room for a thread now.
pub(super) fn watch(beat: Beat, tree: Tree, control: OwnedFd, until: Option<Instant>, memory: u64) -> bool {
    let watch = move || {
        loop {
            thread::sleep(PAUSE);
            if !beat.is_old() {
                continue;
            }
            let is_late = until.is_some_and(|until| Instant::now() > until);
            let is_over = tree.usage().memory > memory && tree.memory_shared_out() > memory;
            beat.was_over.fetch_or(is_over, Ordering::Relaxed);
            beat.was_late.fetch_or(is_late, Ordering::Relaxed);
            if is_over || is_late || has_word(&control) {
                tree.signal(Signal::KILL);
            }
        }
    };
    thread::Builder::new().name("watchdog".to_owned()).stack_size(64 * 1024).spawn(watch).is_ok()
}

/// Reports whether the host has said something that nobody has read, or is gone.
fn has_word(control: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(control, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1)
}
