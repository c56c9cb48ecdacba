//! Observers of finished calls, in addition to the audit log, for servers with many users.

use std::sync::Arc;
use std::time::Duration;

use scorpiox_audit::{ClientName, Cost, Figures, Outcome, Trace, Uses};

use super::Records;

/// Kind of a finished activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Call of an existing tool.
    Call,
    /// Call of a nonexistent tool.
    Unknown,
    /// Another recorded request.
    Method,
    /// Background command that outlived its call.
    Task,
}

/// Finished call, or another recorded activity.
pub struct Ended<'a> {
    /// Kind of activity.
    pub kind: Kind,
    /// Name of the tool or method.
    pub name: &'a str,
    /// Caller.
    pub client: Option<&'a ClientName>,
    /// Component that ran, if any.
    pub component: Option<&'a str>,
    /// Resources accessed, and the trace context.
    pub uses: &'a Uses,
    /// Start time, in milliseconds since the Unix epoch.
    pub time: u64,
    /// Duration.
    pub duration: Duration,
    /// Outcome.
    pub outcome: Outcome,
    /// Resources consumed.
    pub cost: Cost,
}

/// Observer of calls. Implementations must be quick, because the call waits for them.
pub trait Watcher: Send + Sync {
    /// Reports a finished call.
    fn ended(&self, ended: &Ended<'_>);
    /// Reports the request and response sizes of an answered request.
    fn moved(&self, _principal: &str, _received: u64, _sent: u64) {}
    /// Returns `true` if each call needs a trace, even if the caller sends no trace context.
    fn wants_traces(&self) -> bool {
        false
    }
}

impl Records {
    /// Sets the observers. Has no effect if observers are already set.
    pub fn watched_by(&self, watchers: Vec<Arc<dyn Watcher>>) {
        let _ = self.watchers.set(watchers);
    }

    fn watchers(&self) -> &[Arc<dyn Watcher>] {
        self.watchers.get().map_or(&[], Vec::as_slice)
    }

    /// Counts the request and response sizes of an answered request of a principal, in bytes.
    pub fn moved(&self, principal: &str, received: usize, sent: usize) {
        let (received, sent) = (received as u64, sent as u64);
        self.figures.add_cost(principal, Cost { received, sent, ..Cost::default() });
        self.watchers().iter().for_each(|watcher| watcher.moved(principal, received, sent));
    }

    /// Starts a trace for a call without trace context, if an observer wants one.
    pub fn begin_trace(&self) -> Option<Trace> {
        self.watchers().iter().any(|watcher| watcher.wants_traces()).then(Trace::begin)
    }

    pub(super) fn tell(&self, ended: &Ended<'_>) {
        self.watchers().iter().for_each(|watcher| watcher.ended(ended));
    }

    /// Returns the counters since the start of the server.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }
}
