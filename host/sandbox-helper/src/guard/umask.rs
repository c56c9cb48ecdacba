//! Umasks of the command's threads, with which the supervisor creates files on their behalf.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;

use super::caller::{Caller, umask_of};

/// Umask of the shell, which holds until a process of the command sets another one.
const USUAL_UMASK: u32 = 0o022;
/// Maximum number of threads with a known umask. Each takes a descriptor.
const MAX_KNOWN: usize = 32;
/// Maximum number of threads that may be about to set their umask.
const MAX_PENDING: usize = 32;

/// Umasks of the callers. The kernel tells the umask of a thread only in a text that takes it as long as all the rest
/// of a decision, so the text is read once, until a thread sets its umask again.
#[derive(Debug, Default)]
pub(super) struct Umasks {
    differ: bool,
    /// Umask of this process.
    set: Option<u32>,
    known: Vec<Task>,
    /// Threads whose call to set their umask the kernel may not have performed yet.
    pending: Vec<Task>,
    /// `true` if a thread that may be about to set its umask is not in `pending`.
    is_uncertain: bool,
}

/// A thread with the umask that it has, or will have.
#[derive(Debug)]
struct Task {
    thread: u32,
    /// Becomes readable when the thread ends.
    alive: OwnedFd,
    umask: u32,
}

impl Task {
    fn is_alive(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.alive, PollFlags::IN)], Some(&now)) == Ok(0)
    }

    /// Returns `true` if the thread has this umask, or has ended.
    fn has_set(&self) -> bool {
        umask_of(self.thread).is_ok_and(|umask| umask == self.umask) || !self.is_alive()
    }
}

impl Umasks {
    /// Records that a thread sets a umask. Other threads can share it.
    pub(super) fn may_differ(&mut self, caller: &Caller<'_>, umask: u32) {
        self.differ = true;
        self.known.clear();
        // The earlier call of the same thread has been performed.
        self.pending.retain(|task| task.thread != caller.thread());
        match caller.task() {
            Ok(alive) if self.pending.len() < MAX_PENDING => {
                self.pending.push(Task { thread: caller.thread(), alive, umask });
            }
            _ => self.is_uncertain = true,
        }
    }

    /// Sets the umask of this process to the caller's.
    pub(super) fn take(&mut self, caller: &Caller<'_>) -> io::Result<()> {
        let wanted = if self.differ { self.of(caller)? } else { USUAL_UMASK };
        if self.set != Some(wanted) {
            rustix::process::umask(Mode::from_raw_mode(wanted));
            self.set = Some(wanted);
        }
        Ok(())
    }

    fn of(&mut self, caller: &Caller<'_>) -> io::Result<u32> {
        let thread = caller.thread();
        self.known.retain(|task| task.thread != thread || task.is_alive());
        if let Some(task) = self.known.iter().find(|task| task.thread == thread) {
            return Ok(task.umask);
        }
        // A umask that is set after this one was read would not be noticed.
        if self.pending.iter().all(|task| task.thread == thread || task.has_set()) {
            self.pending.clear();
        }
        let umask = caller.umask()?;
        if self.pending.is_empty()
            && !self.is_uncertain
            && let Ok(alive) = caller.task()
        {
            if self.known.len() == MAX_KNOWN {
                self.known.remove(0);
            }
            self.known.push(Task { thread, alive, umask });
        }
        Ok(umask)
    }
}
