//! Answers seccomp notifications: seccomp blocks certain system calls of a command's processes until the
//! supervisor has decided about them. The kernel permits only one such listener for a process tree, so this
//! module dispatches all notifications.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::guard::{
    Decision, Guard, Pipe, asks_about_modes, asks_about_new_modes, change_mode, makes_set_id,
};
use scorpiox_sandbox::wire::Names;
use scorpiox_sys::linux::questions::{self, Answer, Ask, Question};
use scorpiox_sys::linux::syscalls::OF_SUPERVISOR;

use crate::bound::{self, Bounds};
use crate::pace::Pace;
use crate::reserved;
use crate::sockets::{self, Sockets};
use crate::tree::Tree;

/// Maximum time for moves that are decided again before the supervisor attends to other events.
const TIME_AT_ONCE: Duration = Duration::from_millis(10);
/// Maximum number of threads that wait for the reader of a pipe.
const MAX_WAITING: usize = 512;
/// Interval between attempts to move while another command starts, which takes a few milliseconds.
const START_RETRY_TIME: Duration = Duration::from_millis(1);
/// Time that a move gives way to starts of other commands, until further starts have to wait for it.
const GIVE_WAY_TIME: Duration = Duration::from_millis(100);

/// `ERESTARTSYS`: the kernel restarts the call after the signal, or fails it with `EINTR`, depending on the
/// program's signal handler.
pub(super) const INTERRUPTED: Answer = Answer::Fail(512);

/// Notifications of a command and their decision makers.
#[derive(Debug)]
pub(super) struct Questions {
    listener: Arc<OwnedFd>,
    bounds: Bounds,
    guard: Option<Guard>,
    /// The connections of the command, unless the kernel makes them.
    sockets: Option<Sockets>,
    /// Calls that wait for the reader of a pipe.
    waiting: Vec<(Question, Pipe)>,
    pace: Pace,
    /// Moves that wait for the start of another command, oldest first: at most one for each thread.
    giving_way: VecDeque<Question>,
    /// Time since which there are waiting moves.
    since: Option<Instant>,
}

/// Lets no process hide its memory, which the supervisor has to read to decide about its calls. Without a
/// reader outside of the sandbox, hiding protects nothing.
const STAY_READABLE: Ask = Ask::Ignore { call: libc::SYS_prctl, values: [(0, SET_DUMPABLE); 2] };
const SET_DUMPABLE: u32 = libc::PR_SET_DUMPABLE.unsigned_abs();

/// Returns the calls that seccomp has to forward.
pub(super) fn asks(bounds: &Bounds, guard: Option<&Guard>) -> Vec<Ask> {
    let mut asks = bound::asks(bounds);
    asks.push(reserved::ASK);
    asks.push(STAY_READABLE);
    let inspects = OF_SUPERVISOR.iter().copied().flatten();
    asks.extend(inspects.map(|call| Ask::Deny { call: *call, error: libc::ENOSYS }));
    match guard {
        Some(guard) => asks.extend(guard.asks()),
        None => asks.extend(asks_about_modes().chain(asks_about_new_modes())),
    }
    asks
}

impl Questions {
    /// Creates the decision makers of a command. `connect` creates that of its connections, unless the kernel
    /// makes them.
    pub(super) fn new(
        listener: OwnedFd,
        bounds: Bounds,
        guard: Option<Guard>,
        connect: Option<impl FnOnce(Arc<OwnedFd>) -> Sockets>,
    ) -> Self {
        let listener = Arc::new(listener);
        Self {
            sockets: connect.map(|connect| connect(Arc::clone(&listener))),
            listener,
            bounds,
            guard,
            waiting: Vec::new(),
            pace: Pace::default(),
            giving_way: VecDeque::new(),
            since: None,
        }
    }

    /// Returns the descriptor that becomes readable with the next notification.
    pub(super) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Answers a pending notification.
    pub(super) fn answer(&mut self, tree: Tree) {
        // The calling thread may have ended in the meantime.
        let Ok(question) = questions::question(self.listener.as_fd()) else { return };
        let counted = || self.bounds.decide(question.call, tree);
        let mut by_number = reserved::decide(&question).or_else(counted);
        if let (sockets::CONNECT, Some(Answer::Go), Some(sockets)) =
            (question.call, &by_number, &mut self.sockets)
        {
            by_number = sockets.connect(&question);
            if by_number.is_none() {
                return;
            }
        }
        let by_number = by_number.map(Decision::Now);
        let decision = by_number.or_else(|| self.guarded(&question));
        let answer = match decision.unwrap_or(Decision::Now(Answer::Go)) {
            // The kernel would create the file as it was asked to.
            Decision::Now(Answer::Go) if makes_set_id(&question) => Answer::Fail(libc::EPERM),
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
        // Fails if the calling thread has ended.
        let _ = questions::answer(self.listener.as_fd(), &question, answer);
    }

    fn guarded(&mut self, question: &Question) -> Option<Decision> {
        let listener = self.listener.as_fd();
        let Some(guard) = &mut self.guard else {
            return change_mode(question, &|| questions::still_waits(listener, question)).map(Decision::Now);
        };
        guard.decide(question, &|| questions::still_waits(listener, question))
    }

    /// Returns `true` if no further call can wait.
    fn is_full(&mut self) -> bool {
        if self.waiting.len() >= MAX_WAITING {
            open_pipes(self.listener.as_fd(), &mut self.waiting);
        }
        self.waiting.len() >= MAX_WAITING
    }

    /// Answers waiting calls that can proceed. Returns the time until the next attempt, if some still wait.
    pub(super) fn retry(&mut self) -> Option<Duration> {
        let connections = self.sockets.as_mut().and_then(Sockets::interrupt);
        let (pipes, moves) = (self.retry_pipes(), self.retry_moves());
        pipes.into_iter().chain(moves).chain(connections).min()
    }

    /// Decides again about moves that gave way to the start of another command.
    fn retry_moves(&mut self) -> Option<Duration> {
        let since = self.since?;
        let until = Instant::now() + TIME_AT_ONCE;
        while let Some(question) = self.giving_way.front().copied() {
            if questions::still_waits(self.listener.as_fd(), &question) {
                match self.guarded(&question) {
                    Some(Decision::Again) => {
                        if since.elapsed() >= GIVE_WAY_TIME {
                            self.insist(true);
                        }
                        return Some(START_RETRY_TIME);
                    }
                    Some(Decision::Now(answer)) => {
                        let _ = questions::answer(self.listener.as_fd(), &question, answer);
                    }
                    // A move never waits for a pipe, and the guard decides about every move.
                    Some(Decision::Later(_)) | None => {
                        let _ = questions::answer(self.listener.as_fd(), &question, Answer::Fail(libc::EIO));
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
        let Self { listener, waiting, pace, .. } = self;
        pace.check(|| {
            open_pipes(listener.as_fd(), waiting);
            !waiting.is_empty()
        })
    }

    /// Looks for traces that the command can remove before it ends.
    pub(super) fn look(&mut self) {
        if let Some(guard) = &mut self.guard {
            guard.look();
        }
    }

    /// Returns the result concerning names. Must be called after the last process of the command has ended.
    pub(super) fn end(self) -> Names {
        let names = self.guard.map(Guard::end).unwrap_or_default();
        let (sockets, sockets_others) = self.sockets.map(Sockets::end).unwrap_or_default();
        Names { sockets, sockets_others, ..names }
    }
}

/// Opens the pipes that have a reader now, and answers their calls.
fn open_pipes(listener: BorrowedFd<'_>, waiting: &mut Vec<(Question, Pipe)>) {
    waiting.retain(|(question, pipe)| {
        if !questions::still_waits(listener, question) {
            return false;
        }
        let answer = pipe.open().or_else(|| is_interrupted(question.thread).then_some(INTERRUPTED));
        let Some(answer) = answer else { return true };
        let _ = questions::answer(listener, question, answer);
        false
    });
}

/// Returns `true` if a thread has a pending signal that it handles. Otherwise only a fatal signal interrupts
/// a forwarded call.
pub(super) fn is_interrupted(thread: u32) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{thread}/status")) else { return false };
    let mask = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0)
    };
    (mask("SigPnd") | mask("ShdPnd")) & mask("SigCgt") & !mask("SigBlk") != 0
}
