//! In-memory counters of tool calls.

use std::collections::{BTreeMap, HashMap};
use std::ops::AddAssign;
use std::time::Duration;

use parking_lot::Mutex;
use scorpiox_text::principals::Names;
use serde::{Deserialize, Serialize};

use crate::Outcome;
use crate::histogram::Histogram;

/// Maximum number of tools, and of principals, that are counted separately. Plugins and users come and go
/// while a server runs.
const MAX_NAMES: usize = 256;
/// Name under which all further tools or principals are counted.
const OTHERS: &str = "(others)";

/// Call to count.
#[derive(Debug, Clone, Copy)]
pub struct Called<'a> {
    /// Name of the tool.
    pub tool: &'a str,
    /// Principal that called over HTTP.
    pub principal: Option<&'a str>,
    /// Outcome of the call.
    pub outcome: Outcome,
    /// Duration of the call.
    pub duration: Duration,
    /// Peak memory of the guest, in bytes.
    pub memory: u64,
    /// `true` if a capability denied something, even if the call continued.
    pub is_denied: bool,
    /// Metered resources the call consumed.
    pub cost: Cost,
}

/// Metered resources consumed by calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// CPU time of the component and its commands.
    pub processor: Duration,
    /// Bytes written to the store.
    pub stored: u64,
    /// Bytes of requests.
    pub received: u64,
    /// Bytes of responses.
    pub sent: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, more: Self) {
        self.processor = self.processor.saturating_add(more.processor);
        self.stored = self.stored.saturating_add(more.stored);
        self.received = self.received.saturating_add(more.received);
        self.sent = self.sent.saturating_add(more.sent);
    }
}

/// Counters of a server.
#[derive(Debug, Default)]
pub struct Figures {
    tools: Mutex<HashMap<String, Counts>>,
    principals: Mutex<HashMap<String, Counts>>,
    /// Refused calls by reason. Reasons are constants of the program, so there are few.
    refusals: Mutex<BTreeMap<&'static str, u64>>,
}

/// Counters of a tool or a principal.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    calls: u64,
    errors: u64,
    cancelled: u64,
    refused: u64,
    denied: u64,
    memory: u64,
    cost: Cost,
    times: Histogram,
}

/// Reported figures of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolFigures {
    /// Name of the tool.
    pub tool: String,
    /// Number of finished calls, whatever their outcome.
    pub calls: u64,
    /// Number of calls that ended with an error or were stopped.
    pub errors: u64,
    /// Number of calls cancelled by the client or by the shutdown of the server.
    pub cancelled: u64,
    /// Number of calls that did not run.
    pub refused: u64,
    /// Number of calls in which a capability denied something, even if they continued.
    pub denied: u64,
    /// Median duration of the calls that ran, in milliseconds (like all durations here).
    pub p50_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Longest duration.
    pub max_ms: f64,
    /// Peak memory of a guest, in bytes; 0 for tools of the host.
    pub peak_memory_bytes: u64,
}

/// Reported figures of a principal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrincipalFigures {
    /// Display name; includes the issuer if two principals have the same name.
    pub principal: String,
    /// Number of finished calls, whatever their outcome.
    pub calls: u64,
    /// Number of calls that ended with an error or were stopped.
    pub errors: u64,
    /// Number of calls cancelled by the client or by the shutdown of the server.
    pub cancelled: u64,
    /// Number of calls that did not run.
    pub refused: u64,
    /// CPU time consumed by the calls.
    pub processor_ms: f64,
    /// Bytes that the calls wrote to the store.
    pub stored_bytes: u64,
    /// Bytes of requests.
    pub received_bytes: u64,
    /// Bytes of responses.
    pub sent_bytes: u64,
}

impl Figures {
    /// Counts a call.
    pub fn add(&self, called: &Called<'_>) {
        count(&mut self.tools.lock(), called.tool, called);
        if let Some(principal) = called.principal {
            count(&mut self.principals.lock(), principal, called);
        }
    }

    /// Counts a call to an unknown tool, for the principal only.
    pub fn add_unknown(&self, called: &Called<'_>) {
        if let Some(principal) = called.principal {
            count(&mut self.principals.lock(), principal, called);
        }
    }

    /// Counts a call that was refused for this reason.
    pub fn add_refusal(&self, why: &'static str) {
        *self.refusals.lock().entry(why).or_default() += 1;
    }

    /// Returns the refused calls by reason.
    pub fn refusals(&self) -> BTreeMap<&'static str, u64> {
        self.refusals.lock().clone()
    }

    /// Returns the figures of all tools, sorted by name.
    pub fn tools(&self) -> Vec<ToolFigures> {
        let tools = self.tools.lock();
        let mut told: Vec<_> = tools.iter().map(|(tool, counts)| counts.told(tool)).collect();
        drop(tools);
        told.sort_unstable_by(|a, b| a.tool.cmp(&b.tool));
        told
    }

    /// Returns the figures of all principals that called over HTTP, sorted by name.
    pub fn principals(&self) -> Vec<PrincipalFigures> {
        let principals = self.principals.lock();
        let names = Names::of(principals.keys().map(String::as_str));
        let mut told: Vec<_> = principals
            .iter()
            .map(|(principal, &Counts { calls, errors, cancelled, refused, cost, .. })| PrincipalFigures {
                principal: names.shown(principal),
                calls,
                errors,
                cancelled,
                refused,
                processor_ms: millis(cost.processor),
                stored_bytes: cost.stored,
                received_bytes: cost.received,
                sent_bytes: cost.sent,
            })
            .collect();
        drop(principals);
        told.sort_unstable_by(|a, b| a.principal.cmp(&b.principal));
        told
    }

    /// Adds resources that a principal consumed outside of its counted calls.
    pub fn add_cost(&self, principal: &str, cost: Cost) {
        counts(&mut self.principals.lock(), principal).cost += cost;
    }

    /// Returns the counters of all tools by name.
    pub fn counts_of_tools(&self) -> BTreeMap<String, Counts> {
        self.tools.lock().iter().map(|(tool, counts)| (tool.clone(), counts.clone())).collect()
    }

    /// Returns the counters of all principals that called over HTTP by display name.
    pub fn counts_of_principals(&self) -> BTreeMap<String, Counts> {
        let principals = self.principals.lock();
        let names = Names::of(principals.keys().map(String::as_str));
        let mut told = BTreeMap::new();
        for (principal, counts) in &*principals {
            let mut name = names.shown(principal);
            // A principal's name may equal the display name of another; neither may replace the other's
            // counts.
            while told.contains_key(&name) {
                name.push('\'');
            }
            told.insert(name, counts.clone());
        }
        told
    }
}

fn count(all: &mut HashMap<String, Counts>, name: &str, called: &Called<'_>) {
    counts(all, name).add(called);
}

fn counts<'a>(all: &'a mut HashMap<String, Counts>, name: &str) -> &'a mut Counts {
    let name = if all.len() < MAX_NAMES || all.contains_key(name) { name } else { OTHERS };
    // Look up first, because the name almost always exists and needs no allocation.
    if !all.contains_key(name) {
        all.insert(name.to_owned(), Counts::default());
    }
    all.get_mut(name).expect("it was there, or was put there")
}

impl Counts {
    /// Returns the number of calls for each outcome, with the outcome's name.
    pub fn outcomes(&self) -> [(&'static str, u64); 4] {
        let Self { calls, errors, cancelled, refused, .. } = *self;
        let ok = calls - errors - cancelled - refused;
        [("ok", ok), ("error", errors), ("cancelled", cancelled), ("refused", refused)]
    }

    /// Returns the number of calls in which a capability denied something.
    pub fn denied(&self) -> u64 {
        self.denied
    }

    /// Returns the resources consumed.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Returns the peak memory of a guest, in bytes.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Returns the total duration of the calls that ran.
    pub fn time(&self) -> Duration {
        self.times.sum()
    }

    /// Returns a histogram: for each bound, the number of calls that took at most that long and longer than
    /// the previous bound. Bounds are accurate to 4 %.
    pub fn within<const N: usize>(&self, bounds: [Duration; N]) -> [u64; N] {
        let mut before = 0;
        bounds.map(|bound| {
            let up_to = self.times.up_to(bound).max(before);
            up_to - std::mem::replace(&mut before, up_to)
        })
    }

    /// Returns the number of calls that ran.
    pub fn run(&self) -> u64 {
        self.calls - self.refused
    }

    fn add(&mut self, called: &Called<'_>) {
        self.calls += 1;
        self.denied += u64::from(called.is_denied);
        self.cost += called.cost;
        self.memory = self.memory.max(called.memory);
        match called.outcome {
            Outcome::Ok | Outcome::InputRequired => {}
            Outcome::Error | Outcome::Fault(_) => self.errors += 1,
            Outcome::Cancelled => self.cancelled += 1,
            Outcome::Refused(_) => {
                self.refused += 1;
                return;
            }
        }
        self.times.add(called.duration);
    }

    fn told(&self, tool: &str) -> ToolFigures {
        let [p50, p90, p99] = [50, 90, 99].map(|percent| millis(self.times.percentile(percent)));
        ToolFigures {
            tool: tool.to_owned(),
            calls: self.calls,
            errors: self.errors,
            cancelled: self.cancelled,
            refused: self.refused,
            denied: self.denied,
            p50_ms: p50,
            p90_ms: p90,
            p99_ms: p99,
            max_ms: millis(self.times.max()),
            peak_memory_bytes: self.memory,
        }
    }
}

/// Converts to milliseconds, rounded to three decimal places.
fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(figures: &Figures, tool: &str, outcome: Outcome, millis: u64) {
        let principal = (tool == "b").then_some("https://login.example.com\nann");
        figures.add(&Called {
            tool,
            principal,
            outcome,
            duration: Duration::from_millis(millis),
            memory: millis,
            is_denied: outcome == Outcome::Refused("busy"),
            cost: Cost { processor: Duration::from_millis(1), stored: 7, ..Cost::default() },
        });
    }

    #[test]
    fn calls_are_counted_by_tool_and_outcome() {
        let figures = Figures::default();
        call(&figures, "b", Outcome::Ok, 10);
        call(&figures, "b", Outcome::Error, 10);
        call(&figures, "b", Outcome::Fault("trap"), 30);
        call(&figures, "b", Outcome::Cancelled, 10);
        call(&figures, "b", Outcome::Refused("busy"), 999);
        call(&figures, "a", Outcome::InputRequired, 1);
        let told = figures.tools();
        assert_eq!(told.iter().map(|tool| tool.tool.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let b = &told[1];
        assert_eq!((b.calls, b.errors, b.cancelled, b.refused), (5, 2, 1, 1));
        assert!((b.p50_ms / 10.0 - 1.0).abs() < 0.05 && (b.max_ms - 30.0).abs() < 0.001, "{b:?}");
        assert_eq!(b.peak_memory_bytes, 999);
        let moved = Cost { received: 10, sent: 20, ..Cost::default() };
        figures.add_cost("https://login.example.com\nann", moved);
        let counts = &figures.counts_of_tools()["b"];
        assert_eq!(counts.outcomes(), [("ok", 1), ("error", 2), ("cancelled", 1), ("refused", 1)]);
        assert_eq!((counts.denied(), counts.run()), (1, 4));
        assert_eq!(counts.within([5, 20, 20, 60].map(Duration::from_millis)), [0, 3, 0, 1]);
        assert_eq!(counts.time(), Duration::from_millis(60));
        let [ann] = &figures.principals()[..] else { panic!("{:?}", figures.principals()) };
        assert_eq!((ann.principal.as_str(), ann.calls, ann.refused), ("ann", 5, 1));
        assert_eq!((ann.stored_bytes, ann.received_bytes, ann.sent_bytes), (35, 10, 20));
        assert!((ann.processor_ms - 5.0).abs() < 1e-9, "{ann:?}");
    }

    #[test]
    fn tools_are_bounded() {
        let figures = Figures::default();
        for index in 0..MAX_NAMES + 10 {
            call(&figures, &format!("tool{index}"), Outcome::Ok, 1);
        }
        let told = figures.tools();
        assert_eq!(told.len(), MAX_NAMES + 1);
        assert_eq!(told.iter().map(|tool| tool.calls).sum::<u64>(), MAX_NAMES as u64 + 10);
    }
}
