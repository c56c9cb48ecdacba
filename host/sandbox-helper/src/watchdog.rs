//! Ends a command whose processes block its supervisor.
//!
//! The supervisor reads paths in the memory of calling threads, and a process with many threads can delay
//! such a read. The supervisor then enforces no timeout, receives no message of the host, and checks no
//! memory. A thread that reads no process's memory therefore takes over the urgent tasks.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use scorpiox_sandbox::wire::Ended;

use crate::tree::Tree;

/// Interval between checks.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum time to count shared memory.
const COUNT_TIME: Duration = Duration::from_secs(3);
/// Time after which a supervisor without progress is considered blocked, by the command or by a slow disk.
const HELD_UP_TIME: Duration = Duration::from_secs(5);

/// Time of a supervisor's last progress, in milliseconds since its start, and the reasons for which the
/// watchdog killed its command.
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

    /// Records progress of the supervisor.
    pub(super) fn note(&self) {
        let elapsed = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(elapsed, Ordering::Relaxed);
    }

    /// Returns the reason for which the watchdog killed the command, if it did.
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

/// Watches a supervisor until its process exits. `until` is the deadline of its command, `control` the socket
/// to the host. Returns `false` if no thread can be started.
pub(super) fn watch(beat: Beat, tree: Tree, control: OwnedFd, until: Option<Instant>, memory: u64) -> bool {
    let watch = move || {
        loop {
            thread::sleep(PAUSE);
            if !beat.is_old() {
                continue;
            }
            // Checked before any read that could block.
            let is_late = until.is_some_and(|until| Instant::now() > until);
            beat.was_late.fetch_or(is_late, Ordering::Relaxed);
            if is_late || has_word(&control) || beat.was_over.load(Ordering::Relaxed) {
                tree.signal(Signal::KILL);
                continue;
            }
            if tree.usage().memory > memory && shares_too_much(tree, memory) {
                beat.was_over.store(true, Ordering::Relaxed);
                tree.signal(Signal::KILL);
            }
        }
    };
    thread::Builder::new().name("watchdog".to_owned()).stack_size(64 * 1024).spawn(watch).is_ok()
}

/// Returns `true` if the command exceeds the limit even if shared memory counts once, or if a process
/// prevents that count by blocking the kernel.
fn shares_too_much(tree: Tree, memory: u64) -> bool {
    let (tell, told) = mpsc::channel();
    let count = move || {
        // Fails if the count took too long.
        let _ = tell.send(tree.memory_shared_out());
    };
    let counts = thread::Builder::new().name("counting".to_owned()).stack_size(64 * 1024).spawn(count);
    let is_within = told.recv_timeout(COUNT_TIME).is_ok_and(|shared_out| shared_out <= memory);
    counts.is_err() || !is_within
}

/// Returns `true` if the host has sent an unread message, or has exited.
fn has_word(control: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(control, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1)
}
