//! Approvals of calls: the questions that are open, and the calls that ran with an approval.
//!
//! Both are counted per principal, so that one principal uses up the approvals of no other.

use std::collections::HashMap;

use parking_lot::Mutex;
use scorpiox_exchange::request_state::{CallNumber, age};

use crate::client::APPROVAL_TIME;

/// Maximum number of questions that are open at once. Each of them occupies a thread of its session.
const MAX_OPEN: usize = 32;
/// Maximum number of open questions of one principal.
const MAX_OPEN_OF_ONE: usize = 4;
/// Maximum number of open questions to the one person of a server without principals.
const MAX_OPEN_TO_ONE: usize = 8;
/// Maximum number of remembered calls of one principal. Beyond it, none of its approvals is accepted.
const MAX_CALLS: usize = 1000;

/// Approvals of a process.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    open: Mutex<Questions>,
    /// Calls that ran with an approval, by the key of the principal. They are remembered as long as the approval
    /// is good.
    calls: Mutex<HashMap<String, HashMap<CallNumber, Runs>>>,
}

#[derive(Debug, Default)]
struct Questions {
    all: usize,
    of: HashMap<String, usize>,
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

impl Approvals {
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
