//! What a command's processes ask before they go on: the filter on system calls stops them, and
//! the supervisor answers. A kernel lets a tree of processes have one such filter, so that all
//! questions come here.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use scorpiox_cell::wire::Names;
use scorpiox_guard::{Decision, Guard, Pipe, asks_about_modes, change_mode};
use scorpiox_kernel::sys::{self, Answer, Ask, Question};

use crate::bound::{self, Bounds};
use crate::reserved;
use crate::tree::Tree;

/// Most questions that are answered before the supervisor looks at something else.
const MAX_AT_ONCE: usize = 256;
/// And the longest time for them.
const TIME_AT_ONCE: Duration = Duration::from_millis(10);
/// Most that wait for the reader of a pipe.
const MAX_WAITING: usize = 512;
/// How often a reader is looked for.
const RETRY_TIME: Duration = Duration::from_millis(5);

/// The same for the start of another command, which takes a few milliseconds.
const START_RETRY_TIME: Duration = Duration::from_millis(1);
/// The time for which a move gives way to the starts of other commands before those are to wait for it.
const GIVE_WAY_TIME: Duration = Duration::from_millis(100);

/// `ERESTARTSYS`: the kernel makes the call again after the signal, or fails it with `EINTR`, as the program's
/// handler has it.
const INTERRUPTED: Answer = Answer::Fail(512);

/// What the supervisor knows to answer.
#[derive(Debug)]
pub(super) struct Questions {
    listener: OwnedFd,
    bounds: Bounds,
    guard: Option<Guard>,
    /// Those who wait for the reader of a pipe.
    waiting: Vec<(Question, Pipe)>,
    /// Moves that wait for the start of another command, the first one first: at most as many as there are threads.
    giving_way: VecDeque<Question>,
    /// Since when somebody does.
    since: Option<Instant>,
}

/// What is asked about.
pub(super) fn asks(bounds: &Bounds, guard: Option<&Guard>) -> Vec<Ask> {
    let mut asks = bound::asks(bounds);
    asks.push(reserved::ASK);
    match guard {
        Some(guard) => asks.extend(guard.asks()),
        None => asks.extend(asks_about_modes()),
    }
    asks
}

impl Questions {
    pub(super) fn new(listener: OwnedFd, bounds: Bounds, guard: Option<Guard>) -> Self {
        Self { listener, bounds, guard, waiting: Vec::new(), giving_way: VecDeque::new(), since: None }
    }

    /// Can be read when there is one.
    pub(super) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Answers those that there are.
    pub(super) fn answer(&mut self, tree: Tree) {
        let until = Instant::now() + TIME_AT_ONCE;
        for _ in 0..MAX_AT_ONCE {
            self.answer_one(tree);
            if Instant::now() >= until {
                return;
            }
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
        let counted = || self.bounds.decide(question.call, tree);
        let by_number = reserved::decide(&question).or_else(counted).map(Decision::Now);
        let decision = by_number.or_else(|| self.guarded(&question));
        let answer = match decision.unwrap_or(Decision::Now(Answer::Go)) {
            Decision::Now(answer) => answer,
            Decision::Later(_) if self.is_full() => Answer::Fail(libc::EMFILE),
            Decision::Later(pipe) => {
                self.waiting.push((question, pipe));
                return;
            }
            Decision::Again => {
                self.since.get_or_insert_with(Instant::now);
                self.giving_way.push_back(question);
                return;
            }
        };
        // Fails when who asked is gone, which is as well.
        let _ = sys::answer(self.listener.as_fd(), &question, answer);
    }

    fn guarded(&mut self, question: &Question) -> Option<Decision> {
        let listener = self.listener.as_fd();
        let Some(guard) = &mut self.guard else {
            return change_mode(question, &|| sys::still_waits(listener, question)).map(Decision::Now);
        };
        guard.decide(question, &|| sys::still_waits(listener, question))
    }

    /// Whether nobody else can wait.
    fn is_full(&mut self) -> bool {
        if self.waiting.len() >= MAX_WAITING {
            self.retry_pipes();
        }
        self.waiting.len() >= MAX_WAITING
    }

    /// Answers those who waited, and need not any more. When to do so again, where somebody waits.
    pub(super) fn retry(&mut self) -> Option<Duration> {
        let (pipes, moves) = (self.retry_pipes(), self.retry_moves());
        pipes.into_iter().chain(moves).min()
    }

    /// Decides again about moves that gave way to another command's start.
    fn retry_moves(&mut self) -> Option<Duration> {
        let since = self.since?;
        let until = Instant::now() + TIME_AT_ONCE;
        while let Some(question) = self.giving_way.front().copied() {
            if sys::still_waits(self.listener.as_fd(), &question) {
                match self.guarded(&question) {
                    Some(Decision::Again) => {
                        if since.elapsed() >= GIVE_WAY_TIME {
                            self.insist(true);
                        }
                        return Some(START_RETRY_TIME);
                    }
                    Some(Decision::Now(answer)) => {
                        let _ = sys::answer(self.listener.as_fd(), &question, answer);
                    }
                    // No move waits for a pipe, and all are asked about.
                    Some(Decision::Later(_)) | None => {
                        let _ = sys::answer(self.listener.as_fd(), &question, Answer::Fail(libc::EIO));
                    }
                }
            }
            self.giving_way.pop_front();
            if Instant::now() >= until {
                return Some(Duration::ZERO);
            }
        }
        self.insist(false);
        self.since = None;
        None
    }

    fn insist(&self, insists: bool) {
        if let Some(guard) = &self.guard {
            guard.insist_on_moves(insists);
        }
    }

    fn retry_pipes(&mut self) -> Option<Duration> {
        let listener = self.listener.as_fd();
        self.waiting.retain(|(question, pipe)| {
            if !sys::still_waits(listener, question) {
                return false;
            }
            let answer = pipe.open().or_else(|| is_interrupted(question.thread).then_some(INTERRUPTED));
            let Some(answer) = answer else { return true };
            let _ = sys::answer(listener, question, answer);
            false
        });
        (!self.waiting.is_empty()).then_some(RETRY_TIME)
    }

    /// What came of names that must stay absent. Called when no process of the command is left.
    pub(super) fn end(self) -> Names {
        self.guard.map(Guard::end).unwrap_or_default()
    }
}

/// Whether a signal waits for a thread that has a handler for it. Who asks is woken by no other signal than one
/// that ends it.
fn is_interrupted(thread: u32) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{thread}/status")) else { return false };
    let mask = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0)
    };
    (mask("SigPnd") | mask("ShdPnd")) & mask("SigCgt") & !mask("SigBlk") != 0
}
