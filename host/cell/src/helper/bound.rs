//! A bound on the processes of a command, where the kernel has none that fits: the filter on
//! system calls asks the supervisor before each new process or thread.
//!
//! The supervisor counts what there is only when as many have begun as there was room for; in
//! between it subtracts.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use super::tree::Tree;
use crate::sys::{self, Answer};

/// Calls that make a process or a thread. `clone3` is not allowed at all.
#[cfg(target_arch = "x86_64")]
const CALLS: &[libc::c_long] = &[libc::SYS_clone, libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const CALLS: &[libc::c_long] = &[libc::SYS_clone];

/// When there is no room, this long passes before processes are counted again.
const RECOUNT_TIME: Duration = Duration::from_millis(20);

/// What decides whether a command may have one more process.
#[derive(Debug)]
pub(super) struct Bound {
    questions: OwnedFd,
    most: u32,
    /// How many may begin before the next count.
    room: u32,
    count_at: Instant,
}

/// Makes this process, and all that it starts, ask. Who holds the descriptor answers.
pub(super) fn ask() -> std::io::Result<OwnedFd> {
    sys::ask_before(CALLS)
}

impl Bound {
    pub(super) fn new(questions: OwnedFd, most: u32) -> Self {
        // The shell is there already.
        Self { questions, most, room: most.saturating_sub(1), count_at: Instant::now() }
    }

    /// Can be read when there is a question.
    pub(super) fn questions(&self) -> BorrowedFd<'_> {
        self.questions.as_fd()
    }

    /// Answers one question.
    pub(super) fn answer(&mut self, tree: Tree) {
        // Who asked may be gone meanwhile.
        let Ok(question) = sys::question(self.questions.as_fd()) else { return };
        let now = Instant::now();
        if self.room == 0 && now >= self.count_at {
            self.room = self.most.saturating_sub(tree.threads());
            self.count_at = now + RECOUNT_TIME;
        }
        let answer = if self.room > 0 { Answer::Go } else { Answer::Fail(libc::EAGAIN) };
        self.room = self.room.saturating_sub(1);
        // Fails when who asked is gone, which is as well.
        let _ = sys::answer(self.questions.as_fd(), &question, answer);
    }
}
