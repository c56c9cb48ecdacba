//! Asks a person about hosts that no entry of a profile's list covers, while the connections to them wait.
//!
//! The proxy holds a connection, and a running call of a client that can ask takes the question. An answer is
//! kept with the cell: an approval as long as the cell, a refusal until no call can ask. A question is withdrawn
//! when its call ends or no connection waits for it.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use scorpiox_executor::{Cancel, Reason};

/// Maximum time that a connection waits for an answer.
const MAX_WAIT: Duration = Duration::from_mins(5);
/// Maximum number of connections that wait for an answer at once. The proxy serves more in all.
const MAX_WAITING: usize = 32;
/// Maximum number of questions, until no call can ask any more.
const MAX_QUESTIONS: usize = 10;
/// Interval between checks whether a call has ended.
const LOOK_TIME: Duration = Duration::from_millis(100);

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

/// Asks a person about a host, until the flag is set.
pub type Ask<'a> = dyn Fn(&Target, &Cancel) -> HostAnswer + Sync + 'a;

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
    open: VecDeque<Target>,
    /// Hosts for which a call has taken the question, with the flag that withdraws it.
    taken: BTreeMap<Target, Cancel>,
    /// `true` for an approval.
    answers: BTreeMap<Target, bool>,
    /// Number of connections that wait, by host.
    waiting: BTreeMap<Target, usize>,
    /// Reason why the last call could not ask.
    reason: Option<String>,
}

impl UnknownHosts {
    /// Asks questions, until the call is over or nobody can be asked.
    pub(super) fn serve(&self, ask: &Ask<'_>, is_over: &Cancel) {
        {
            let mut state = self.state.lock();
            state.askers += 1;
            state.reason = None;
        }
        while let Some((target, withdrawn)) = self.next(is_over) {
            let end = withdrawn.clone();
            let _watch = is_over.watch(move || end.set(Reason::Client));
            match ask(&target, &withdrawn) {
                HostAnswer::NotAsked(reason) => {
                    let is_withdrawn = withdrawn.is_set() && !is_over.is_set();
                    self.give_back(&target, reason);
                    // The client can still ask about other hosts.
                    if !is_withdrawn {
                        break;
                    }
                }
                answer => self.answer(&target, answer == HostAnswer::Allowed),
            }
        }
        let mut state = self.state.lock();
        state.askers -= 1;
        if state.askers == 0 {
            state.asked = 0;
            state.open.clear();
            state.answers.retain(|_, is_allowed| *is_allowed);
        }
        self.changed.notify_all();
    }

    /// Waits for the next host to ask about. Returns `None` if the call is over.
    fn next(&self, is_over: &Cancel) -> Option<(Target, Cancel)> {
        let mut state = self.state.lock();
        loop {
            if is_over.is_set() {
                return None;
            }
            if let Some(target) = state.open.pop_front() {
                let withdrawn = Cancel::default();
                state.taken.insert(target.clone(), withdrawn.clone());
                return Some((target, withdrawn));
            }
            let _ = self.changed.wait_for(&mut state, LOOK_TIME);
        }
    }

    /// Sets the answer for a host, and continues the connections that wait for it.
    fn answer(&self, target: &Target, is_allowed: bool) {
        let mut state = self.state.lock();
        state.taken.remove(target);
        state.answers.insert(target.clone(), is_allowed);
        self.changed.notify_all();
    }

    /// Leaves a question to other calls.
    fn give_back(&self, target: &Target, reason: String) {
        let mut state = self.state.lock();
        state.taken.remove(target);
        state.reason = Some(reason);
        if state.waiting.contains_key(target) {
            state.open.push_front(target.clone());
        }
        self.changed.notify_all();
    }

    /// Waits until a person has decided about a host. Equal questions are one question.
    pub(super) fn decide(&self, target: &Target) -> HostAnswer {
        let until = Instant::now() + MAX_WAIT;
        let mut state = self.state.lock();
        if state.waiting.values().sum::<usize>() >= MAX_WAITING {
            return HostAnswer::NotAsked(format!("{MAX_WAITING} connections wait for answers already"));
        }
        *state.waiting.entry(target.clone()).or_default() += 1;
        let decided = loop {
            if let Some(is_allowed) = state.answers.get(target) {
                break if *is_allowed { HostAnswer::Allowed } else { HostAnswer::Denied };
            }
            if state.askers == 0 {
                break HostAnswer::NotAsked(state.reason.clone().unwrap_or_else(|| {
                    "no Bash call is running for a client that requests progress".to_owned()
                }));
            }
            if !state.open.contains(target) && !state.taken.contains_key(target) {
                if state.asked >= MAX_QUESTIONS {
                    break HostAnswer::NotAsked(format!("{MAX_QUESTIONS} questions were asked already"));
                }
                state.asked += 1;
                state.open.push_back(target.clone());
                self.changed.notify_all();
            }
            if self.changed.wait_until(&mut state, until).timed_out() {
                break HostAnswer::NotAsked(format!("nobody answered within {} s", MAX_WAIT.as_secs()));
            }
        };
        if let Some(count) = state.waiting.get_mut(target) {
            *count -= 1;
            if *count == 0 {
                state.waiting.remove(target);
                state.open.retain(|open| open != target);
                if let Some(withdrawn) = state.taken.get(target) {
                    withdrawn.set(Reason::Client);
                }
            }
        }
        decided
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    fn target(name: &str) -> Target {
        (name.to_owned(), 443)
    }

    /// Runs `test` while a call answers every question like this.
    fn while_asking(hosts: &UnknownHosts, answer: &HostAnswer, test: impl FnOnce()) -> usize {
        let (over, asked) = (Cancel::default(), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                let ask = |_: &Target, _: &Cancel| {
                    asked.fetch_add(1, Ordering::SeqCst);
                    answer.clone()
                };
                hosts.serve(&ask, &over);
            });
            until(|| hosts.state.lock().askers == 1);
            test();
            over.set(Reason::Client);
        });
        asked.load(Ordering::SeqCst)
    }

    fn until(mut is_true: impl FnMut() -> bool) {
        let end = Instant::now() + Duration::from_secs(10);
        while !is_true() {
            assert!(Instant::now() < end, "it never holds");
            thread::yield_now();
        }
    }

    #[test]
    fn equal_questions_are_one_question_and_an_approval_stays() {
        let hosts = UnknownHosts::default();
        let asked = while_asking(&hosts, &HostAnswer::Allowed, || {
            thread::scope(|scope| {
                let waits: Vec<_> = (0..5).map(|_| scope.spawn(|| hosts.decide(&target("a")))).collect();
                for wait in waits {
                    assert_eq!(wait.join().expect("no panic"), HostAnswer::Allowed);
                }
            });
        });
        assert_eq!(asked, 1);
        assert_eq!(hosts.decide(&target("a")), HostAnswer::Allowed);
        assert!(matches!(hosts.decide(&target("b")), HostAnswer::NotAsked(_)), "no call can ask");
    }

    #[test]
    fn a_refusal_holds_until_no_call_can_ask() {
        let hosts = UnknownHosts::default();
        for _ in 0..2 {
            let asked = while_asking(&hosts, &HostAnswer::Denied, || {
                for _ in 0..3 {
                    assert_eq!(hosts.decide(&target("a")), HostAnswer::Denied);
                }
            });
            assert_eq!(asked, 1);
        }
    }

    #[test]
    fn a_question_that_a_call_cannot_ask_is_left_to_another() {
        let hosts = UnknownHosts::default();
        let over = Cancel::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                let cannot = |_: &Target, _: &Cancel| HostAnswer::NotAsked("no form".to_owned());
                hosts.serve(&cannot, &over);
            });
            until(|| hosts.state.lock().askers == 1);
            let HostAnswer::NotAsked(reason) = hosts.decide(&target("a")) else { panic!("asked") };
            assert_eq!(reason, "no form");
        });
        assert_eq!(
            while_asking(&hosts, &HostAnswer::Allowed, || {
                assert_eq!(hosts.decide(&target("a")), HostAnswer::Allowed);
            }),
            1
        );
    }

    #[test]
    fn an_open_question_is_withdrawn_when_its_call_ends() {
        let hosts = UnknownHosts::default();
        let over = Cancel::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                let waits = |_: &Target, withdrawn: &Cancel| {
                    until(|| withdrawn.is_set());
                    HostAnswer::NotAsked("it was withdrawn".to_owned())
                };
                hosts.serve(&waits, &over);
            });
            until(|| hosts.state.lock().askers == 1);
            let wait = scope.spawn(|| hosts.decide(&target("a")));
            until(|| !hosts.state.lock().taken.is_empty());
            over.set(Reason::Client);
            assert!(matches!(wait.join().expect("no panic"), HostAnswer::NotAsked(_)));
        });
    }

    #[test]
    fn a_command_asks_a_few_questions_at_most() {
        let hosts = UnknownHosts::default();
        let asked = while_asking(&hosts, &HostAnswer::Denied, || {
            for number in 0..MAX_QUESTIONS {
                assert_eq!(hosts.decide(&target(&number.to_string())), HostAnswer::Denied);
            }
            assert!(matches!(hosts.decide(&target("one more")), HostAnswer::NotAsked(_)));
        });
        assert_eq!(asked, MAX_QUESTIONS);
    }
}
