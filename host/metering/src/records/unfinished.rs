//! Calls that have begun and have no line yet.
//!
//! Invariant: each call gets one line. Calls that still run when the server ends get it then, and their own threads
//! write no other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use scorpiox_audit::{ClientName, Entry, Outcome, Uses};
use scorpiox_runtime::Component;

use super::recording::label_of;
use super::watcher::{Ended, Kind};
use super::{Audit, Records};

/// Outcome of a call that had not ended when the server did.
const ENDED: Outcome = Outcome::Fault("ended");
/// Maximum time that the end of the server waits for the lines of stopped calls.
const LAST_TIME: Duration = Duration::from_millis(500);

/// Calls without a line, by number. A call whose line is being written is `None`.
#[derive(Default)]
pub(super) struct Unfinished {
    calls: Mutex<Calls>,
    is_fewer: Condvar,
}

#[derive(Default)]
struct Calls {
    last: u64,
    by_number: BTreeMap<u64, Option<Begun>>,
}

/// A call that has begun.
pub(super) struct Begun {
    pub(super) time: u64,
    pub(super) since: Instant,
    pub(super) client: Option<Arc<ClientName>>,
    pub(super) tool: String,
    /// `None` if the host runs the tool.
    pub(super) component: Option<Arc<Component>>,
    pub(super) uses: Uses,
    /// `None` if lines have no arguments.
    pub(super) arguments: Option<String>,
}

impl Unfinished {
    /// Adds a call, and returns its number.
    pub(super) fn add(&self, begun: Begun) -> u64 {
        let mut calls = self.calls.lock();
        calls.last += 1;
        let number = calls.last;
        calls.by_number.insert(number, Some(begun));
        number
    }

    /// Returns `true` if the thread of a call is to write the line.
    pub(super) fn claim(&self, number: u64) -> bool {
        self.calls.lock().by_number.get_mut(&number).and_then(Option::take).is_some()
    }

    /// Removes a call that has its line.
    pub(super) fn remove(&self, number: u64) {
        self.calls.lock().by_number.remove(&number);
        self.is_fewer.notify_all();
    }

    /// Waits until all calls have their lines, and returns those that have none after `time`.
    fn rest(&self, time: Duration) -> Vec<Begun> {
        let mut calls = self.calls.lock();
        let until = Instant::now() + time;
        while !calls.by_number.is_empty() && !self.is_fewer.wait_until(&mut calls, until).timed_out() {}
        calls.by_number.values_mut().filter_map(Option::take).collect()
    }
}

impl Records {
    /// Queues a line for each call that still runs, because the server ends.
    pub(super) fn record_unfinished(&self) {
        for call in self.unfinished.rest(LAST_TIME) {
            tracing::warn!("{} still ran when the server ended", call.tool);
            self.tell(&Ended {
                kind: Kind::Call,
                name: &call.tool,
                client: call.client.as_deref(),
                component: call.component.as_deref().map(label_of).and_then(scorpiox_audit::Component::id),
                uses: &call.uses,
                time: call.time,
                duration: call.since.elapsed(),
                outcome: ENDED,
                cost: scorpiox_audit::Cost::default(),
            });
            if let Some(audit) = self.audit() {
                self.push_unfinished(audit, &call);
            }
        }
    }

    fn push_unfinished(&self, audit: &Audit, call: &Begun) {
        use scorpiox_audit::UnderPolicy as _;
        let in_force = self.in_force();
        let entry = Entry {
            time: call.time,
            origin: call.uses.origin().unwrap_or_else(|| in_force.origin()),
            client: call.client.as_deref(),
            tool: &call.tool,
            component: call.component.as_deref().map(label_of),
            uses: &call.uses,
            duration: call.since.elapsed(),
            outcome: ENDED,
            arguments: call.arguments.as_deref(),
        };
        audit.spool.push(|out| entry.push(out));
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn begun(tool: &str) -> Begun {
        Begun {
            time: 0,
            since: Instant::now(),
            client: None,
            tool: tool.to_owned(),
            component: None,
            uses: Uses::default(),
            arguments: None,
        }
    }

    #[test]
    fn the_end_takes_the_lines_of_calls_that_do_not_end() {
        let unfinished = Unfinished::default();
        let [ends, writes, runs] = ["Ends", "Writes", "Runs"].map(|tool| unfinished.add(begun(tool)));
        assert!(unfinished.claim(ends));
        unfinished.remove(ends);
        assert!(unfinished.claim(writes));
        let rest = unfinished.rest(Duration::ZERO);
        assert_eq!(rest.iter().map(|call| &*call.tool).collect::<Vec<_>>(), ["Runs"]);
        assert!(!unfinished.claim(runs) && unfinished.rest(Duration::ZERO).is_empty(), "it has its line");
    }

    #[test]
    fn the_end_waits_for_calls_that_react() {
        let unfinished = Unfinished::default();
        let number = unfinished.add(begun("Reacts"));
        thread::scope(|scope| {
            scope.spawn(|| {
                assert!(unfinished.claim(number));
                unfinished.remove(number);
            });
            assert!(unfinished.rest(Duration::from_mins(1)).is_empty());
        });
    }
}
