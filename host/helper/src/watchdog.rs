//! Ends a command whose processes hold up its supervisor.
//!
//! The supervisor reads paths in the memory of who asks, and the kernel lets a process with many threads make that last.
//! Meanwhile nobody enforces a timeout, hears the host or counts memory. So a thread that looks at no process's memory
//! does what cannot wait.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use crate::tree::Tree;

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// A supervisor that does not go on for so long is held up: by the command, or by a slow disk.
const HELD_UP_TIME: Duration = Duration::from_secs(5);

/// The moment at which a supervisor went on last, in milliseconds since it began.
#[derive(Debug, Clone)]
pub(super) struct Beat {
    begun: Instant,
    last: Arc<AtomicU64>,
}

impl Beat {
    pub(super) fn new(begun: Instant) -> Self {
        Self { begun, last: Arc::default() }
    }

    /// Notes that the supervisor goes on.
    pub(super) fn note(&self) {
        let elapsed = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(elapsed, Ordering::Relaxed);
    }

    fn is_old(&self) -> bool {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.begun.elapsed().saturating_sub(last) > HELD_UP_TIME
    }
}

/// Watches a supervisor until its process ends. `until` is when its command has to have ended, `control` the socket that
/// the host speaks on.
pub(super) fn watch(beat: Beat, tree: Tree, control: OwnedFd, until: Option<Instant>, memory: u64) {
    let watch = move || {
        loop {
            thread::sleep(PAUSE);
            if !beat.is_old() {
                continue;
            }
            let is_over = until.is_some_and(|until| Instant::now() > until);
            if is_over || has_word(&control) || tree.usage().memory > memory {
                tree.signal(Signal::KILL);
            }
        }
    };
    // Without it a command that holds its supervisor up runs for longer.
    let _ = thread::Builder::new().name("watchdog".to_owned()).stack_size(64 * 1024).spawn(watch);
}

/// Reports whether the host has said something that nobody has read, or is gone.
fn has_word(control: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(control, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1)
}
