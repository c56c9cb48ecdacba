//! Calls that may begin, and what they hold of the limits meanwhile.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use scorpiox_audit::Outcome;

use crate::meter::Limit;
use crate::quotas::Counted;

/// The count of each principal that has some.
pub(crate) type Counts = Arc<Mutex<HashMap<String, u32>>>;

/// A call that may begin: it is in flight until this is dropped. It counts for the day if it was not refused.
#[derive(Default)]
pub struct Admitted {
    pub(crate) in_flight: Vec<InFlight>,
    pub(crate) days: Vec<Counted>,
}

impl Admitted {
    /// Notes how the call ended: one that was refused does not count for a day.
    pub fn ended(&mut self, outcome: &Outcome) {
        if !matches!(outcome, Outcome::Refused(_)) {
            self.days.iter_mut().for_each(Counted::use_up);
        }
    }
}

/// A call that one rule counts as in flight.
pub(crate) struct InFlight {
    of: Counts,
    who: String,
}

impl InFlight {
    /// One that is counted already.
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

/// Calls of a minute that were taken, and are put back where the call does not begin.
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
