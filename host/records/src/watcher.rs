//! Who is told of each call that has ended, beside the audit: while a server serves many.

use std::sync::Arc;
use std::time::Duration;

use scorpiox_audit::{ClientName, Cost, Figures, Outcome, Trace, Uses};

use super::Records;

/// What has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A call of a tool that there is.
    Call,
    /// A call of what somebody takes for a tool.
    Unknown,
    /// Another request that is recorded.
    Method,
    /// A command that went on after its call.
    Task,
}

/// A call that has ended, or what is recorded like one.
pub struct Ended<'a> {
    /// What it is.
    pub kind: Kind,
    /// The tool, or the method.
    pub name: &'a str,
    /// Who called.
    pub client: Option<&'a ClientName>,
    /// Which component ran, where there is one.
    pub component: Option<&'a str>,
    /// What it touched, and which trace it is part of.
    pub uses: &'a Uses,
    /// When it began, in milliseconds since 1970.
    pub time: u64,
    /// How long it took.
    pub duration: Duration,
    /// How it ended.
    pub outcome: Outcome,
    /// What it took.
    pub cost: Cost,
}

/// Is told of calls. It must be quick: the call waits for it.
pub trait Watcher: Send + Sync {
    /// A call has ended.
    fn ended(&self, ended: &Ended<'_>);
    /// A request of a principal was answered: so many bytes came, and so many went.
    fn moved(&self, _principal: &str, _received: u64, _sent: u64) {}
    /// Whether each call is to be part of a trace, also where its caller says nothing of one.
    fn wants_traces(&self) -> bool {
        false
    }
}

impl Records {
    /// Has these told of each call from now on. The first ones stay.
    pub fn watched_by(&self, watchers: Vec<Arc<dyn Watcher>>) {
        let _ = self.watchers.set(watchers);
    }

    fn watchers(&self) -> &[Arc<dyn Watcher>] {
        self.watchers.get().map_or(&[], Vec::as_slice)
    }

    /// Counts a request of a principal, and what answered it, in bytes.
    pub fn moved(&self, principal: &str, received: usize, sent: usize) {
        let (received, sent) = (received as u64, sent as u64);
        self.figures.add_cost(principal, Cost { received, sent, ..Cost::default() });
        self.watchers().iter().for_each(|watcher| watcher.moved(principal, received, sent));
    }

    /// A trace for a call whose caller says nothing of one, where somebody wants such.
    pub fn begin_trace(&self) -> Option<Trace> {
        self.watchers().iter().any(|watcher| watcher.wants_traces()).then(Trace::begin)
    }

    pub(super) fn tell(&self, ended: &Ended<'_>) {
        self.watchers().iter().for_each(|watcher| watcher.ended(ended));
    }

    /// What was counted since the start.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }
}
