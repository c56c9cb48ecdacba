//! Admitted calls, and the limits they occupy while running.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use scorpiox_audit::Outcome;

use crate::usage::meter::Limit;
use crate::usage::quotas::Counted;

/// Number of calls in flight for each principal.
pub(crate) type Counts = Arc<Mutex<HashMap<String, u32>>>;

/// Admitted call: in flight until dropped. It counts toward daily limits unless it is refused.
#[derive(Default)]
pub struct Admitted {
    pub(crate) in_flight: Vec<InFlight>,
    pub(crate) days: Vec<Counted>,
}

impl Admitted {
    /// Processes the outcome of the call. Refused calls do not count toward daily limits.
    pub fn ended(&mut self, outcome: &Outcome) {
        if !matches!(outcome, Outcome::Refused(_)) {
            self.days.iter_mut().for_each(Counted::use_up);
        }
    }
}

/// Call counted as in flight by one rule.
pub(crate) struct InFlight {
    of: Counts,
    who: String,
}

impl InFlight {
    /// Wraps a call that is already counted.
    pub(crate) fn new(of: &Counts, who: &str) -> Self {
        Self { of: Arc::clone(of), who: who.to_owned() }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut of = self.of.lock();
        let Some(count) = of.get_mut(&self.who) else { return };
        *count -= 1;
        if *count == 0 {
            of.remove(&self.who);
        }
    }
}

/// Tokens taken from minute buckets; returned on drop unless the call starts.
#[derive(Default)]
pub(crate) struct Minutes<'a> {
    pub(crate) taken: Vec<(&'a Limit, &'a str)>,
    pub(crate) is_kept: bool,
}

impl Drop for Minutes<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.taken.iter().for_each(|(limit, who)| limit.minute.lock().put_back(who));
        }
    }
}
