//! Asks a person about hosts that no entry of a profile's list covers, while the connections to them wait.
//!
//! The proxy holds a connection, and a running call of a client that can ask takes the question. An answer is
//! kept with the cell: an approval as long as the cell, a refusal until no call can ask. A question is withdrawn
//! when its call ends or no connection waits for it. Over HTTP, each principal has a cell of its own for that.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
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
    /// Nobody has answered yet. The answer to this question counts for a command that is repeated.
    Waits(String),
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

/// A call that can ask. As long as there is one, connections wait for an answer.
#[derive(Debug)]
pub(super) struct Asker(Arc<UnknownHosts>);

impl Drop for Asker {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.askers -= 1;
        if state.askers == 0 {
            state.asked = 0;
            state.open.clear();
            state.answers.retain(|_, is_allowed| *is_allowed);
        }
        self.0.changed.notify_all();
    }
}

impl Asker {
    /// Registers a call that can ask, before its command can connect.
    pub(super) fn of(hosts: &Arc<UnknownHosts>) -> Self {
        let mut state = hosts.state.lock();
        state.askers += 1;
        state.reason = None;
        drop(state);
        Self(Arc::clone(hosts))
    }

    /// Asks questions until the call is over, and then returns the asker; `None` if nobody can be asked. Questions that
    /// wait for an answer beyond the call are added to `kept`, as sentences.
    pub(super) fn serve(self, ask: &Ask<'_>, is_over: &Cancel, kept: &mut Vec<String>) -> Option<Self> {
        let hosts = &*self.0;
        while let Some((target, withdrawn)) = hosts.next(is_over) {
            let end = withdrawn.clone();
            let _watch = is_over.watch(move || end.set(Reason::Client));
            let unreached = format!("{}:{} was not reached: ", target.0, target.1);
            let answer = ask(&target, &withdrawn);
            // Only the last question about a host counts.
            kept.retain(|known| !known.starts_with(&unreached));
            let reason = match answer {
                HostAnswer::Allowed => {
                    hosts.answer(&target, true);
                    continue;
                }
                HostAnswer::Denied => {
                    hosts.answer(&target, false);
                    continue;
                }
                HostAnswer::NotAsked(reason) => reason,
                HostAnswer::Waits(reason) => {
                    kept.push(format!("{unreached}{reason}."));
                    reason
                }
            };
            let is_withdrawn = withdrawn.is_set() && !is_over.is_set();
            hosts.give_back(&target, reason);
            // The client can still ask about other hosts.
            if !is_withdrawn && !is_over.is_set() {
                return None;
            }
        }
        Some(self)
    }
}

impl UnknownHosts {
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
    fn while_asking(hosts: &Arc<UnknownHosts>, answer: &HostAnswer, test: impl FnOnce()) -> usize {
        let (over, asked) = (Cancel::default(), AtomicUsize::new(0));
        let waiting = Asker::of(hosts);
        thread::scope(|scope| {
            scope.spawn(|| {
                let ask = |_: &Target, _: &Cancel| {
                    asked.fetch_add(1, Ordering::SeqCst);
                    answer.clone()
                };
                drop(waiting.serve(&ask, &over, &mut Vec::new()));
            });
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
        let hosts = Arc::new(UnknownHosts::default());
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
        let hosts = Arc::new(UnknownHosts::default());
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
        let hosts = Arc::new(UnknownHosts::default());
        let over = Cancel::default();
        let asker = Asker::of(&hosts);
        thread::scope(|scope| {
            scope.spawn(|| {
                let cannot = |_: &Target, _: &Cancel| HostAnswer::NotAsked("no form".to_owned());
                assert!(asker.serve(&cannot, &over, &mut Vec::new()).is_none());
            });
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
        let hosts = Arc::new(UnknownHosts::default());
        let over = Cancel::default();
        let asker = Asker::of(&hosts);
        thread::scope(|scope| {
            let call = scope.spawn(|| {
                let waits = |_: &Target, withdrawn: &Cancel| {
                    until(|| withdrawn.is_set());
                    HostAnswer::Waits("approval 3 waits".to_owned())
                };
                let mut kept = Vec::new();
                drop(asker.serve(&waits, &over, &mut kept).expect("the call was over"));
                kept
            });
            let wait = scope.spawn(|| hosts.decide(&target("a")));
            until(|| !hosts.state.lock().taken.is_empty());
            over.set(Reason::Client);
            let refused = HostAnswer::NotAsked("approval 3 waits".to_owned());
            assert_eq!(wait.join().expect("no panic"), refused);
            assert_eq!(call.join().expect("no panic"), ["a:443 was not reached: approval 3 waits."]);
        });
    }

    #[test]
    fn a_connection_waits_for_a_call_that_has_not_begun_to_ask() {
        let hosts = Arc::new(UnknownHosts::default());
        let (asker, over) = (Asker::of(&hosts), Cancel::default());
        thread::scope(|scope| {
            let wait = scope.spawn(|| hosts.decide(&target("a")));
            until(|| !hosts.state.lock().open.is_empty());
            scope.spawn(|| {
                let allow = |_: &Target, _: &Cancel| HostAnswer::Allowed;
                drop(asker.serve(&allow, &over, &mut Vec::new()));
            });
            assert_eq!(wait.join().expect("no panic"), HostAnswer::Allowed);
            over.set(Reason::Client);
        });
        assert!(matches!(hosts.decide(&target("b")), HostAnswer::NotAsked(_)), "the call is over");
    }

    #[test]
    fn a_command_asks_a_few_questions_at_most() {
        let hosts = Arc::new(UnknownHosts::default());
        let asked = while_asking(&hosts, &HostAnswer::Denied, || {
            for number in 0..MAX_QUESTIONS {
                assert_eq!(hosts.decide(&target(&number.to_string())), HostAnswer::Denied);
            }
            assert!(matches!(hosts.decide(&target("one more")), HostAnswer::NotAsked(_)));
        });
        assert_eq!(asked, MAX_QUESTIONS);
    }
}
