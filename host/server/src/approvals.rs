//! Approvals of calls in this process: the questions that are open, the calls that wait, and the calls that ran
//! with an approval of their client.
//!
//! Questions and runs are counted per principal, so that one principal uses up the approvals of no other.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use parking_lot::Mutex;
use scorpiox_capabilities::setup::SessionId;
use scorpiox_exchange::request_state::{CallNumber, age};
use scorpiox_executor::{Cancel, Reason, threads};

use crate::client::APPROVAL_TIME;

/// Maximum number of questions that are open at once. Each of them occupies a thread of its session.
const MAX_OPEN: usize = 32;
/// Maximum number of open questions of one principal.
const MAX_OPEN_OF_ONE: usize = 4;
/// Maximum number of open questions to the one person of a server without principals.
const MAX_OPEN_TO_ONE: usize = 8;
/// Maximum number of remembered calls of one principal. Beyond it, none of its approvals is accepted.
const MAX_CALLS: usize = 1000;

/// Maximum number of calls that wait for the answer to the question of another call, or of an approver. Each of
/// them occupies a thread of its session.
const MAX_FOLLOWING: usize = 50;
/// Interval between checks for an answer from elsewhere.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Number of requests from which on those without a used answer are forgotten. A call that waits for one of them
/// counts as one that waited at another server.
const MAX_EXPECTED: usize = 10_000;
/// Maximum number of approvals remembered for sessions.
const MAX_REMEMBERED: usize = 1000;

/// Approvals of a process.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    open: Mutex<Questions>,
    /// Calls that ran with an approval, by the key of the principal. They are remembered as long as the approval
    /// is good.
    calls: Mutex<HashMap<String, HashMap<CallNumber, Runs>>>,
    /// Numbers of the requests that a call of this process asks about.
    leading: Mutex<HashSet<u64>>,
    /// Number of calls that wait for an answer without asking.
    following: Mutex<usize>,
    /// Calls that wait for an answer, and those that used it, by the ID of their request.
    expected: Mutex<HashMap<String, Expected>>,
    /// Bindings of approvals that hold for a session, oldest first.
    remembered: Mutex<VecDeque<(SessionId, String)>>,
}

#[derive(Debug, Default)]
struct Questions {
    all: usize,
    of: HashMap<String, usize>,
}

/// Calls of a request.
#[derive(Debug, Default, Clone, Copy)]
struct Expected {
    /// Calls that wait, or used the answer.
    counted: u32,
    /// Calls that ended and are to be repeated.
    away: u32,
    /// Calls that used the answer.
    used: u32,
    /// End of the time in which the answer can be used, in milliseconds since 1970.
    end: u64,
}

/// Runs of a call.
#[derive(Debug)]
struct Runs {
    count: usize,
    /// Time of the last question, in milliseconds since 1970.
    asked: u64,
}

/// Decision on the use of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spent {
    /// The call may run.
    Now,
    /// The approval was used before.
    Before,
    /// The principal has used too many approvals.
    TooMany,
}

/// An open question.
#[derive(Debug)]
pub(crate) struct Open<'a> {
    all: &'a Approvals,
    principal: String,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let mut open = self.all.open.lock();
        open.all = open.all.saturating_sub(1);
        if let Some(count) = open.of.get_mut(&self.principal) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.of.remove(&self.principal);
            }
        }
    }
}

/// The exclusive right to ask about a request.
#[derive(Debug)]
pub(crate) struct Lead<'a> {
    all: &'a Approvals,
    number: u64,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.all.leading.lock().remove(&self.number);
    }
}

/// The place of a call that waits without asking.
#[derive(Debug)]
pub(crate) struct Follow<'a>(&'a Approvals);

impl Drop for Follow<'_> {
    fn drop(&mut self) {
        let mut following = self.0.following.lock();
        *following = following.saturating_sub(1);
    }
}

impl Approvals {
    /// Returns the right to ask about a request, unless another call has it.
    pub(crate) fn lead(&self, number: u64) -> Option<Lead<'_>> {
        let is_first = self.leading.lock().insert(number);
        is_first.then(|| Lead { all: self, number })
    }

    /// Counts a call as waiting without a question; returns `None` if too many are.
    pub(crate) fn follow(&self) -> Option<Follow<'_>> {
        let mut following = self.following.lock();
        if *following >= MAX_FOLLOWING {
            return None;
        }
        *following += 1;
        Some(Follow(self))
    }

    /// Counts a call that waits for the answer to a request, which can be used until `end`. Returns `false` if the
    /// answer was used here: no call waits for it any more, so that somebody wrote to the store.
    pub(crate) fn expects(&self, id: &str, end: u64) -> bool {
        self.count(id, end, |runs| {
            let is_new = runs.used == 0;
            if is_new {
                // It may be the repetition of a call that ended.
                runs.away = runs.away.saturating_sub(1);
                runs.counted += 1;
            }
            is_new
        })
    }

    /// Counts a call that no longer waits, and will not be repeated.
    pub(crate) fn gives_up(&self, id: &str) {
        if let Some(runs) = self.expected.lock().get_mut(id) {
            runs.counted = runs.counted.saturating_sub(1);
        }
    }

    /// Counts a call that no longer waits, and is to be repeated.
    pub(crate) fn goes_away(&self, id: &str) {
        if let Some(runs) = self.expected.lock().get_mut(id) {
            runs.counted = runs.counted.saturating_sub(1);
            runs.away += 1;
        }
    }

    /// Counts a call that uses the answer to a request. Returns `false` if more calls do than waited here: whoever
    /// writes to the store must not have an approved call run again and again. The first may be one that waited at
    /// another server.
    pub(crate) fn uses(&self, id: &str, end: u64) -> bool {
        self.count(id, end, |runs| {
            let is_good = runs.used < (runs.counted + runs.away).max(1);
            runs.used += u32::from(is_good);
            is_good
        })
    }

    /// Changes the counts of a request. Those of an answer that was used are kept as long as it can be used; the
    /// others are forgotten if there are many.
    fn count(&self, id: &str, end: u64, change: impl FnOnce(&mut Expected) -> bool) -> bool {
        let mut all = self.expected.lock();
        if all.len() >= MAX_EXPECTED && !all.contains_key(id) {
            all.retain(|_, runs| runs.used > 0 && is_ahead(runs.end));
        }
        let runs = all.entry(id.to_owned()).or_default();
        runs.end = runs.end.max(end);
        change(runs)
    }

    /// Remembers an approval for a session, in place of the oldest if there are too many.
    pub(crate) fn remember(&self, session: SessionId, binding: String) {
        let mut remembered = self.remembered.lock();
        if remembered.len() >= MAX_REMEMBERED {
            remembered.pop_front();
        }
        remembered.push_back((session, binding));
    }

    /// Returns `true` if an approval is remembered for a session.
    pub(crate) fn is_remembered(&self, session: SessionId, binding: &str) -> bool {
        self.remembered.lock().iter().any(|(known, bound)| *known == session && bound == binding)
    }

    /// Counts a question as open; returns `None` if too many are. Without principals there is one person, who
    /// may be asked all questions.
    pub(crate) fn begin(&self, principal: Option<&str>) -> Option<Open<'_>> {
        let most = if principal.is_some() { MAX_OPEN_OF_ONE } else { MAX_OPEN_TO_ONE };
        let principal = principal.unwrap_or_default().to_owned();
        let mut open = self.open.lock();
        let of_one = open.of.get(&principal).copied().unwrap_or(0);
        if open.all >= MAX_OPEN || of_one >= most {
            return None;
        }
        open.all += 1;
        open.of.insert(principal.clone(), of_one + 1);
        Some(Open { all: self, principal })
    }

    /// Counts a run of an approved call, of which there may be `most` so far. A client that gives no new answer
    /// needs no further run.
    /// The question was `asked` at this time, in milliseconds since 1970: a later clock may be set back.
    pub(crate) fn spend(&self, principal: &str, call: CallNumber, most: usize, asked: u64) -> Spent {
        let mut all = self.calls.lock();
        all.retain(|_, calls| {
            calls.retain(|_, runs| age(runs.asked).is_none_or(|age| age <= APPROVAL_TIME));
            !calls.is_empty()
        });
        let calls = all.entry(principal.to_owned()).or_default();
        if !calls.contains_key(&call) && calls.len() >= MAX_CALLS {
            return Spent::TooMany;
        }
        let runs = calls.entry(call).or_insert(Runs { count: 0, asked });
        runs.asked = runs.asked.max(asked);
        if runs.count >= most {
            return Spent::Before;
        }
        runs.count += 1;
        Spent::Now
    }
}

/// Returns `true` if a time, in milliseconds since 1970, is not over. The clock of the store may be ahead of this
/// machine's, or behind it.
fn is_ahead(time: u64) -> bool {
    age(time).is_none_or(|age| age <= APPROVAL_TIME)
}

/// Runs `ask` until it returns or `elsewhere` reports an answer, which sets the flag.
pub(crate) fn withdrawn_by<T>(
    withdrawn: &Cancel,
    elsewhere: impl Fn() -> bool + Send + 'static,
    ask: impl FnOnce() -> T,
) -> T {
    let over = Cancel::default();
    let (ended, flag) = (over.clone(), withdrawn.clone());
    let watcher = threads::start_small("approval", move || {
        while !ended.wait(LOOK_EVERY) {
            if elsewhere() {
                flag.set(Reason::Client);
                return;
            }
        }
    });
    if let Err(error) = watcher {
        tracing::warn!("answers from elsewhere do not end the question: {error}");
    }
    let result = ask();
    over.set(Reason::Client);
    result
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn call(number: usize) -> CallNumber {
        u128::try_from(number).expect("small").to_be_bytes()
    }

    fn now() -> u64 {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a date");
        u64::try_from(now.as_millis()).expect("a date")
    }

    /// The clock was set back after the call, so the approval is good again later.
    #[test]
    fn a_run_is_remembered_as_long_as_its_approval_can_be_good() {
        let approvals = Approvals::default();
        let spend = |number, asked| approvals.spend("ann", call(number), 1, asked);
        let hour = 3_600_000;
        assert_eq!([spend(1, now() + hour), spend(2, now() - hour), spend(3, now())], [Spent::Now; 3]);
        assert_eq!(approvals.calls.lock()["ann"].len(), 2, "the old one is forgotten");
        assert_eq!(spend(1, now() + hour), Spent::Before);
    }

    #[test]
    fn an_approval_is_good_for_one_run_and_one_more_for_each_answer() {
        let approvals = Approvals::default();
        let spend = |number, most| approvals.spend("ann", call(number), most, now());
        assert_eq!([spend(1, 1), spend(2, 1), spend(1, 1)], [Spent::Now, Spent::Now, Spent::Before]);
        assert_eq!([spend(1, 2), spend(1, 2), spend(1, 1)], [Spent::Now, Spent::Before, Spent::Before]);
    }

    #[test]
    fn equal_calls_have_one_leader_at_a_time_and_followers_are_bounded() {
        let approvals = Approvals::default();
        let lead = approvals.lead(1).expect("nobody leads");
        assert!(approvals.lead(1).is_none() && approvals.lead(1).is_none() && approvals.lead(2).is_some());
        drop(lead);
        assert!(approvals.lead(1).is_some());
        let mut following: Vec<_> = (0..MAX_FOLLOWING).map_while(|_| approvals.follow()).collect();
        assert!(following.len() == MAX_FOLLOWING && approvals.follow().is_none());
        following.pop();
        assert!(approvals.follow().is_some());
    }

    #[test]
    fn an_answer_is_used_by_as_many_calls_as_waited_here_or_by_the_first() {
        let approvals = Approvals::default();
        let end = now() + 1000;
        let (expects, uses) = (|id| approvals.expects(id, end), |id| approvals.uses(id, end));
        assert!(uses("another server's") && !uses("another server's"));
        assert!(expects("own") && expects("own") && expects("own"));
        approvals.gives_up("own");
        assert!(uses("own") && uses("own") && !uses("own"));
        // A call that is repeated again and again is one call, and two that ended are two.
        for _ in 0..5 {
            assert!(expects("repeated"));
            approvals.goes_away("repeated");
        }
        assert!(uses("repeated") && !uses("repeated"));
        (0..2).for_each(|_| assert!(expects("two")));
        (0..2).for_each(|_| approvals.goes_away("two"));
        assert!(uses("two") && uses("two") && !uses("two"));
        // Somebody wrote the request back to the store as it was before the answer.
        assert!(!expects("own") && !uses("own"));
    }

    #[test]
    fn answers_that_were_used_are_remembered_as_long_as_they_are_good() {
        let approvals = Approvals::default();
        let hour = 3_600_000;
        assert!(approvals.uses("used", now() + hour) && approvals.uses("over", now() - hour));
        for number in 0..MAX_EXPECTED {
            assert!(approvals.expects(&number.to_string(), now() + hour));
        }
        assert!(!approvals.uses("used", now() + hour));
        let expected = approvals.expected.lock();
        assert!(expected.len() < MAX_EXPECTED && !expected.contains_key("over"));
    }

    #[test]
    fn a_principal_uses_up_its_own_approvals_only() {
        let approvals = Approvals::default();
        assert!((0..MAX_CALLS).all(|number| approvals.spend("eve", call(number), 1, now()) == Spent::Now));
        assert_eq!(approvals.spend("eve", call(MAX_CALLS), 1, now()), Spent::TooMany);
        assert_eq!(approvals.spend("eve", call(0), 1, now()), Spent::Before);
        assert_eq!(approvals.spend("bob", call(0), 1, now()), Spent::Now);
    }

    #[test]
    fn a_few_questions_are_open_at_once_and_fewer_of_one_principal() {
        let approvals = Approvals::default();
        let mut open: Vec<_> = (0..MAX_OPEN_TO_ONE).map(|_| approvals.begin(None).expect("room")).collect();
        assert!(approvals.begin(None).is_none());
        open.clear();
        let begin = |number| approvals.begin(Some(&format!("{}", number % (MAX_OPEN / 2)))).expect("room");
        open.extend((0..MAX_OPEN).map(begin));
        assert!(approvals.begin(Some("ann")).is_none());
        open.clear();
        open.extend((0..MAX_OPEN_OF_ONE).map(|_| approvals.begin(Some("eve")).expect("room")));
        assert!(approvals.begin(Some("eve")).is_none());
        open.push(approvals.begin(Some("bob")).expect("there is room for others"));
        open.remove(0);
        open.push(approvals.begin(Some("eve")).expect("a question was answered"));
        assert!(approvals.begin(Some("eve")).is_none());
        drop(open);
        let questions = approvals.open.lock();
        assert!(questions.all == 0 && questions.of.is_empty());
    }
}
