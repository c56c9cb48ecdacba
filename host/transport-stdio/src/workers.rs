//! Decides which thread reads the input and which ones run calls.
//!
//! One thread at a time holds the input. It answers small requests itself, one after the other, without
//! waking another thread. Before a tool call it puts the input on loan. If the call ends soon, the same
//! thread takes the input back, without a single context switch. Otherwise the ticker gives the input to
//! another thread after [`HAND_OVER_TICKS`], and the first thread becomes a spare when its call ends. A fast
//! call therefore causes no scheduling, and a slow call delays other requests by that time at most.
//!
//! Limits: [`MAX_RUNNING`] calls run, [`MAX_QUEUED`] more are queued, and their lines have [`MAX_BYTES`] in
//! total. Requests beyond that are refused.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

/// Maximum number of running calls.
pub(crate) const MAX_RUNNING: usize = 64;
/// Maximum number of queued calls.
pub(crate) const MAX_QUEUED: usize = 192;
/// Maximum total size of the lines of all running and queued calls. A single call may exceed it.
pub(crate) const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Ticks after which a call is slow and its input moves to another thread.
const HAND_OVER_TICKS: u64 = 2;
/// Time after which a spare thread exits, unless it is one of the last [`SPARES`].
const SPARE_TIME: Duration = Duration::from_secs(5);
const SPARES: usize = 2;

/// Shared state of the threads. `I` is the input, `J` a queued call.
pub(crate) struct Workers<I, J> {
    state: Mutex<State<I, J>>,
    /// Signaled when there is work. Only spare threads wait for it.
    work: Condvar,
    /// Signaled when the input has ended and, during shutdown, when a call has ended.
    ended: Condvar,
}

struct State<I, J> {
    input: Input<I>,
    /// Queued calls, with the sizes of their lines.
    queue: VecDeque<(J, usize)>,
    running: usize,
    /// Total size of the lines of all running and queued calls.
    bytes: usize,
    spares: usize,
    loans: u64,
    /// `true` during shutdown, while it waits for calls to end.
    ending: bool,
}

enum Input<I> {
    /// Held by a thread that reads it or answers from it.
    Held,
    /// On loan while its holder runs a call, since some tick.
    Lent { input: I, loan: u64, since: u64 },
    /// Available to any thread.
    Free(I),
    /// The input has ended.
    Ended,
}

/// Task of a thread.
pub(crate) enum Task<I, J> {
    Read(I),
    /// A call, with the size of its line.
    Run(J, usize),
    Exit,
}

/// Outcome of admitting a call.
pub(crate) enum Admission<J> {
    /// The call runs immediately in this thread and counts as running.
    Run(J),
    /// The call runs when another one has ended.
    Queued,
    /// Too many calls are queued.
    Refused(J),
}

impl<I, J> State<I, J> {
    fn can_run(&self) -> bool {
        self.running < MAX_RUNNING && !self.queue.is_empty()
    }

    /// Wakes a spare thread if there is more work. Returns `true` if no thread is spare, so that the caller
    /// must start one.
    fn call_for_help(&self, work: &Condvar) -> bool {
        if !self.can_run() && !matches!(self.input, Input::Free(_)) {
            return false;
        }
        work.notify_one();
        self.spares == 0
    }
}

impl<I, J> Workers<I, J> {
    pub(crate) fn new(input: I) -> Self {
        let state = State {
            input: Input::Free(input),
            queue: VecDeque::new(),
            running: 0,
            bytes: 0,
            spares: 0,
            loans: 0,
            ending: false,
        };
        Self { state: Mutex::new(state), work: Condvar::new(), ended: Condvar::new() }
    }

    /// Returns the next task, blocking until there is one, and `true` if a thread must be started for the
    /// remaining work.
    pub(crate) fn next(&self) -> (Task<I, J>, bool) {
        let mut state = self.lock();
        loop {
            match std::mem::replace(&mut state.input, Input::Held) {
                Input::Free(input) => return (Task::Read(input), state.call_for_help(&self.work)),
                Input::Ended if state.queue.is_empty() => {
                    state.input = Input::Ended;
                    return (Task::Exit, false);
                }
                other => state.input = other,
            }
            if state.can_run()
                && let Some((job, size)) = state.queue.pop_front()
            {
                state.running += 1;
                return (Task::Run(job, size), state.call_for_help(&self.work));
            }
            state.spares += 1;
            let timeout = self.work.wait_for(&mut state, SPARE_TIME);
            state.spares -= 1;
            let idle = !state.can_run() && !matches!(state.input, Input::Free(_));
            if timeout.timed_out() && state.spares >= SPARES && idle {
                return (Task::Exit, false);
            }
        }
    }

    /// Admits a call whose line has `size` bytes.
    pub(crate) fn admit(&self, job: J, size: usize) -> Admission<J> {
        let mut state = self.lock();
        let fits = state.bytes == 0 || state.bytes + size <= MAX_BYTES;
        let admission = if fits && state.running < MAX_RUNNING && state.queue.is_empty() {
            state.running += 1;
            Admission::Run(job)
        } else if fits && state.queue.len() < MAX_QUEUED {
            state.queue.push_back((job, size));
            Admission::Queued
        } else {
            return Admission::Refused(job);
        };
        state.bytes += size;
        admission
    }

    /// Releases the slot of a call that has ended.
    pub(crate) fn done(&self, size: usize) {
        let mut state = self.lock();
        state.running -= 1;
        state.bytes -= size;
        if state.ending {
            self.ended.notify_all();
        }
        if state.can_run() && state.spares > 0 {
            self.work.notify_one();
        }
    }

    /// Puts the input on loan while its holder runs a call.
    pub(crate) fn lend(&self, input: I, now: u64) -> u64 {
        let mut state = self.lock();
        state.loans += 1;
        let loan = state.loans;
        // Once ended, the input is not returned to anybody.
        if !matches!(state.input, Input::Ended) {
            state.input = Input::Lent { input, loan, since: now };
        }
        loan
    }

    /// Takes the input back, unless it moved to another thread.
    pub(crate) fn reclaim(&self, loan: u64) -> Option<I> {
        let mut state = self.lock();
        match std::mem::replace(&mut state.input, Input::Held) {
            Input::Lent { input, loan: current, .. } if current == loan => Some(input),
            other => {
                state.input = other;
                None
            }
        }
    }

    /// Takes the input from a slow call. Returns `true` if a thread must be started to read it.
    pub(crate) fn tick(&self, now: u64) -> bool {
        let mut state = self.lock();
        match std::mem::replace(&mut state.input, Input::Held) {
            Input::Lent { input, since, .. } if now >= since + HAND_OVER_TICKS => {
                state.input = Input::Free(input);
                state.call_for_help(&self.work)
            }
            other => {
                state.input = other;
                state.can_run() && state.call_for_help(&self.work)
            }
        }
    }

    /// Records that the input has ended. Threads without work exit, too.
    pub(crate) fn end_input(&self) {
        self.lock().input = Input::Ended;
        self.work.notify_all();
        self.ended.notify_all();
    }

    /// Returns `true` if the input has ended.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.lock().input, Input::Ended)
    }

    /// Waits until the input has ended.
    pub(crate) fn wait_for_end(&self) {
        let mut state = self.lock();
        while !matches!(state.input, Input::Ended) {
            self.ended.wait(&mut state);
        }
    }

    /// Waits up to `time` until no call runs or is queued. Returns `true` on success.
    pub(crate) fn wait_until_idle(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut state = self.lock();
        state.ending = true;
        while state.running > 0 || !state.queue.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.ended.wait_for(&mut state, left);
        }
        true
    }

    /// Returns `true` if no call runs or is queued.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.lock();
        state.running == 0 && state.queue.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State<I, J>> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(workers: &Workers<&'static str, u32>) -> &'static str {
        match workers.next() {
            (Task::Read(input), _) => input,
            _ => panic!("the input is not free"),
        }
    }

    #[test]
    fn a_quick_call_takes_the_input_back() {
        let workers = Workers::<_, u32>::new("input");
        let loan = workers.lend(reading(&workers), 10);
        assert!(!workers.tick(11));
        assert_eq!(workers.reclaim(loan), Some("input"));
    }

    #[test]
    fn the_input_of_a_slow_call_goes_to_another_thread() {
        let workers = Workers::<_, u32>::new("input");
        let loan = workers.lend(reading(&workers), 10);
        assert!(workers.tick(10 + HAND_OVER_TICKS), "nobody is there to read");
        assert_eq!(reading(&workers), "input");
        assert_eq!(workers.reclaim(loan), None);
        let second = workers.lend("input", 20);
        assert_eq!(workers.reclaim(loan), None, "an old loan does not take a new one");
        assert_eq!(workers.reclaim(second), Some("input"));
    }

    #[test]
    fn a_spare_thread_gets_the_input_while_others_wait_for_the_end() {
        let workers = Workers::<_, u32>::new("input");
        let held = reading(&workers);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| workers.wait_for_end());
            }
            let spare = scope.spawn(|| reading(&workers));
            while workers.lock().spares == 0 {
                std::thread::yield_now();
            }
            workers.lend(held, 0);
            assert!(!workers.tick(HAND_OVER_TICKS), "a spare thread is there");
            assert_eq!(spare.join().expect("no panic"), "input");
            workers.end_input();
        });
    }

    #[test]
    fn calls_beyond_the_bounds_wait_and_then_are_refused() {
        let workers = Workers::<_, u32>::new("input");
        for job in 0..MAX_RUNNING {
            assert!(matches!(workers.admit(u32::try_from(job).expect("small"), 1), Admission::Run(_)));
        }
        for _ in 0..MAX_QUEUED {
            assert!(matches!(workers.admit(7, 1), Admission::Queued));
        }
        assert!(matches!(workers.admit(8, 1), Admission::Refused(8)));
        workers.done(1);
        assert_eq!(reading(&workers), "input", "the input comes first");
        assert!(matches!(workers.next(), (Task::Run(7, 1), false)));
    }

    #[test]
    fn who_takes_one_thing_calls_for_help_with_the_other() {
        let workers = Workers::<_, u32>::new("input");
        for job in 0..=64 {
            workers.admit(job, 1);
        }
        workers.done(1);
        let (task, start_thread) = workers.next();
        assert!(matches!(task, Task::Read(_)) && start_thread, "a call still waits");
    }

    #[test]
    fn large_lines_are_bounded_together_but_one_always_fits() {
        let workers = Workers::<&str, u32>::new("input");
        assert!(matches!(workers.admit(1, MAX_BYTES + 1), Admission::Run(1)));
        assert!(matches!(workers.admit(2, 1), Admission::Refused(2)));
        workers.done(MAX_BYTES + 1);
        assert!(matches!(workers.admit(3, MAX_BYTES), Admission::Run(3)));
    }

    #[test]
    fn threads_end_with_the_input() {
        let workers = Workers::<_, u32>::new("input");
        reading(&workers);
        workers.end_input();
        assert!(matches!(workers.next(), (Task::Exit, _)));
        workers.wait_for_end();
        assert!(workers.wait_until_idle(Duration::ZERO));
    }
}
