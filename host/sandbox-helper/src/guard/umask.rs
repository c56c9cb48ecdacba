//! Umasks of the command's threads, with which the supervisor creates files on their behalf.

use std::io;
use std::os::fd::OwnedFd;

use libc::c_long;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;

use super::caller::{Caller, Status, may_be_in};

/// Umask of the shell, which holds until a process of the command sets another one.
const USUAL_UMASK: u32 = 0o022;
/// Maximum number of threads with a known umask. Each takes a descriptor.
const MAX_KNOWN: usize = 32;
/// Maximum number of threads that may be about to set their umask.
const MAX_PENDING: usize = 32;

/// Umasks of the callers. The kernel tells the umask of a thread only in a text that takes it as long as all the rest
/// of a decision, so the text is read once, until a thread sets its umask again.
///
/// Invariant: a known umask is exact. A thread shares its umask with others, or has a copy of its own (`CLONE_FS`).
/// Either changes only by `umask`, which the supervisor sees before the kernel performs it. The ID of a process's first
/// thread passes to another thread that starts a program; its umask is therefore known only if there was no other one.
#[derive(Debug, Default)]
pub(super) struct Umasks {
    differ: bool,
    /// Umask of this process.
    set: Option<u32>,
    known: Vec<Task<u32>>,
    /// Threads whose call to set their umask the kernel may not have performed yet.
    pending: Vec<Task<()>>,
    /// `true` if a thread that may be about to set its umask is not in `pending`.
    is_uncertain: bool,
}

/// A thread, with the umask that it has.
#[derive(Debug)]
struct Task<T> {
    thread: u32,
    /// Becomes readable when the thread ends.
    alive: OwnedFd,
    umask: T,
}

impl<T> Task<T> {
    fn is_alive(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.alive, PollFlags::IN)], Some(&now)) == Ok(0)
    }

    /// Returns `true` if the thread has left the system call that it was in, or has ended. A umask that is the expected
    /// one proves nothing: it may have been that before.
    fn has_left(&self, call: c_long) -> bool {
        !may_be_in(self.thread, call) || !self.is_alive()
    }
}

impl Umasks {
    /// Records that a thread sets a umask. Other threads can share it.
    pub(super) fn may_differ(&mut self, caller: &Caller<'_>) {
        self.differ = true;
        self.known.clear();
        // The earlier call of the same thread has been performed.
        self.pending.retain(|task| task.thread != caller.thread());
        match caller.task() {
            Ok(alive) if self.pending.len() < MAX_PENDING => {
                self.pending.push(Task { thread: caller.thread(), alive, umask: () });
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
        // A umask that is set after this one was read would not be noticed. The caller itself has done so.
        self.pending.retain(|task| task.thread != thread && !task.has_left(libc::SYS_umask));
        let Status { umask, may_be_replaced } = caller.status()?;
        if self.pending.is_empty()
            && !self.is_uncertain
            && !may_be_replaced
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Instant;

    use super::super::caller::descriptor_of;
    use super::*;

    /// The umask of such a thread can be the expected one before the kernel performs the call.
    #[test]
    fn a_thread_in_a_call_may_not_have_performed_it() {
        let (there, here) = rustix::pipe::pipe().expect("a pipe");
        let (tell, told) = channel();
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_pid().cast_unsigned()).expect("tells");
            let _ = rustix::io::read(&there, &mut [0; 1]);
        });
        let number = told.recv().expect("a number");
        let alive = descriptor_of(number).expect("a descriptor");
        let task = Task { thread: number, alive, umask: () };
        let begun = Instant::now();
        // Nothing is known of it as long as it runs.
        while task.has_left(libc::SYS_read) == task.has_left(libc::SYS_umask) {
            assert!(begun.elapsed().as_secs() < 10, "it never waits");
        }
        assert!(task.has_left(libc::SYS_umask) && !task.has_left(libc::SYS_read));
        drop(here);
        thread.join().expect("ends");
        while !task.has_left(libc::SYS_read) {
            assert!(begun.elapsed().as_secs() < 10, "it never ends");
        }
    }
}
