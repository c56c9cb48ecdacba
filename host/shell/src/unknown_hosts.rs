//! Asks a person about hosts that no entry of a profile's list covers, while the connections to them wait.
//!
//! The proxy holds a connection, and a running call of a client that can ask takes the question. An answer is
//! kept with the cell: an approval as long as the cell, a refusal until no call can ask.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Maximum time that a connection waits for an answer.
const MAX_WAIT: Duration = Duration::from_mins(5);
/// Maximum number of hosts that wait for an answer at once.
const MAX_WAITING: usize = 16;
/// Maximum number of questions, until no call can ask any more.
const MAX_QUESTIONS: usize = 10;

/// A host and a port.
pub type Target = (String, u16);

/// Outcome of a question about a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAnswer {
    /// A person allowed the host.
    Allowed,
    /// A person denied the host.
    Denied,
    /// Nobody answered, for this reason.
    NotAsked(String),
}

/// Questions and answers of a cell.
#[derive(Debug, Default)]
pub(super) struct UnknownHosts {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Number of calls that can ask.
    askers: usize,
    /// Number of questions since there was no call that can ask.
    asked: usize,
    /// Hosts for which no call has taken the question.
    waiting: VecDeque<Target>,
    answers: BTreeMap<Target, HostAnswer>,
    /// Hosts for which a call has taken the question.
    taken: Vec<Target>,
}

/// A running call that can ask.
#[derive(Debug)]
pub(super) struct CanAsk<'a>(&'a UnknownHosts);

impl Drop for CanAsk<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.askers -= 1;
        if state.askers == 0 {
            state.asked = 0;
            state.waiting.clear();
            state.answers.retain(|_, answer| *answer == HostAnswer::Allowed);
        }
        self.0.changed.notify_all();
    }
}

impl UnknownHosts {
    /// Registers a call that can ask.
    pub(super) fn can_ask(&self) -> CanAsk<'_> {
        self.state.lock().askers += 1;
        CanAsk(self)
    }

    /// Returns the next host to ask about. The caller has to [`answer`](Self::answer).
    pub(super) fn next(&self) -> Option<Target> {
        let mut state = self.state.lock();
        let target = state.waiting.pop_front()?;
        state.taken.push(target.clone());
        Some(target)
    }

    /// Sets the answer for a host, and continues the connections that wait for it.
    pub(super) fn answer(&self, target: &Target, answer: HostAnswer) {
        let mut state = self.state.lock();
        state.taken.retain(|taken| taken != target);
        state.answers.insert(target.clone(), answer);
        self.changed.notify_all();
    }

    /// Waits until a person has decided about a host. Equal questions are one question.
    pub(super) fn decide(&self, target: &Target) -> HostAnswer {
        let until = Instant::now() + MAX_WAIT;
        let mut state = self.state.lock();
        loop {
            if let Some(answer) = state.answers.get(target) {
                return answer.clone();
            }
            if state.askers == 0 {
                return HostAnswer::NotAsked("no running call can ask".to_owned());
            }
            if !state.waiting.contains(target) && !state.taken.contains(target) {
                if state.waiting.len() >= MAX_WAITING || state.asked >= MAX_QUESTIONS {
                    return HostAnswer::NotAsked(format!("{} questions were asked already", state.asked));
                }
                state.asked += 1;
                state.waiting.push_back(target.clone());
            }
            if self.changed.wait_until(&mut state, until).timed_out() {
                state.waiting.retain(|waiting| waiting != target);
                return HostAnswer::NotAsked(format!("nobody answered within {} s", MAX_WAIT.as_secs()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn target(name: &str) -> Target {
        (name.to_owned(), 443)
    }

    fn next(hosts: &UnknownHosts) -> Target {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(target) = hosts.next() {
                return target;
            }
            assert!(Instant::now() < until, "no question");
            thread::yield_now();
        }
    }

    #[test]
    fn equal_questions_are_one_question_and_an_approval_stays() {
        let hosts = UnknownHosts::default();
        let asker = hosts.can_ask();
        thread::scope(|scope| {
            let waits: Vec<_> = (0..5).map(|_| scope.spawn(|| hosts.decide(&target("a")))).collect();
            let asked = next(&hosts);
            hosts.answer(&asked, HostAnswer::Allowed);
            for wait in waits {
                assert_eq!(wait.join().expect("no panic"), HostAnswer::Allowed);
            }
        });
        assert_eq!(hosts.next(), None);
        drop(asker);
        assert_eq!(hosts.decide(&target("a")), HostAnswer::Allowed);
        assert!(matches!(hosts.decide(&target("b")), HostAnswer::NotAsked(_)), "no call can ask");
    }

    #[test]
    fn a_refusal_holds_until_no_call_can_ask() {
        let hosts = UnknownHosts::default();
        for _ in 0..2 {
            let _asker = hosts.can_ask();
            thread::scope(|scope| {
                let wait = scope.spawn(|| hosts.decide(&target("a")));
                hosts.answer(&next(&hosts), HostAnswer::Denied);
                assert_eq!(wait.join().expect("no panic"), HostAnswer::Denied);
            });
            assert_eq!(hosts.decide(&target("a")), HostAnswer::Denied);
        }
    }

    #[test]
    fn connections_do_not_wait_for_a_call_that_ended() {
        let hosts = UnknownHosts::default();
        let asker = hosts.can_ask();
        thread::scope(|scope| {
            let wait = scope.spawn(|| hosts.decide(&target("a")));
            let _taken = next(&hosts);
            drop(asker);
            assert!(matches!(wait.join().expect("no panic"), HostAnswer::NotAsked(_)));
        });
    }

    #[test]
    fn a_command_asks_a_few_questions_at_most() {
        let hosts = UnknownHosts::default();
        let _asker = hosts.can_ask();
        for number in 0..MAX_QUESTIONS {
            thread::scope(|scope| {
                let wait = scope.spawn(|| hosts.decide(&target(&number.to_string())));
                hosts.answer(&next(&hosts), HostAnswer::Denied);
                assert_eq!(wait.join().expect("no panic"), HostAnswer::Denied);
            });
        }
        assert!(matches!(hosts.decide(&target("one more")), HostAnswer::NotAsked(_)));
    }
}
