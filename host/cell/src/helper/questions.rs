//! What a command's processes ask before they go on: the filter on system calls stops them, and
//! the supervisor answers. A kernel lets a tree of processes have one such filter, so that all
//! questions come here.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::bound::{self, Bounds};
use super::guard::Guard;
use super::tree::Tree;
use crate::sys::{self, Answer, Ask};
use crate::wire::Names;

/// Most questions that are answered before the supervisor looks at something else.
const MAX_AT_ONCE: usize = 256;

/// What the supervisor knows to answer.
#[derive(Debug)]
pub(super) struct Questions {
    listener: OwnedFd,
    bounds: Bounds,
    guard: Option<Guard>,
}

/// What is asked about.
pub(super) fn asks(bounds: &Bounds, guard: Option<&Guard>) -> Vec<Ask> {
    let mut asks = bound::asks(bounds);
    if let Some(guard) = guard {
        asks.extend(guard.asks());
    }
    asks
}

impl Questions {
    pub(super) fn new(listener: OwnedFd, bounds: Bounds, guard: Option<Guard>) -> Self {
        Self { listener, bounds, guard }
    }

    /// Can be read when there is one.
    pub(super) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Answers those that there are.
    pub(super) fn answer(&mut self, tree: Tree) {
        for _ in 0..MAX_AT_ONCE {
            self.answer_one(tree);
            let mut polled = [PollFd::new(&self.listener, PollFlags::IN)];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            if poll(&mut polled, Some(&now)) != Ok(1) || !polled[0].revents().contains(PollFlags::IN) {
                return;
            }
        }
    }

    fn answer_one(&mut self, tree: Tree) {
        // Who asked may be gone meanwhile.
        let Ok(question) = sys::question(self.listener.as_fd()) else { return };
        let listener = &self.listener;
        let waits = || sys::still_waits(listener.as_fd(), &question);
        let by_bounds = self.bounds.decide(question.call, tree);
        let answer =
            by_bounds.or_else(|| self.guard.as_mut()?.decide(&question, &waits)).unwrap_or(Answer::Go);
        // Fails when who asked is gone, which is as well.
        let _ = sys::answer(self.listener.as_fd(), &question, &answer);
    }

    /// What came of names that must stay absent. Called when no process of the command is left.
    pub(super) fn end(self) -> Names {
        self.guard.map(Guard::end).unwrap_or_default()
    }
}
