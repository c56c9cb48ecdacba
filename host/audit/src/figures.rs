//! Counting what tools do, in memory.

use std::collections::{BTreeMap, HashMap};
use std::ops::AddAssign;
use std::time::Duration;

use parking_lot::Mutex;
use scorpiox_text::principals::Names;
use serde::{Deserialize, Serialize};

use crate::Outcome;
use crate::histogram::Histogram;

/// Tools, and principals, that are told apart. Plugins may come and go while a server runs, and so may people.
const MAX_NAMES: usize = 256;
/// The name of all others.
const OTHERS: &str = "(others)";

/// One call, as it is counted.
#[derive(Debug, Clone, Copy)]
pub struct Called<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Who called over HTTP.
    pub principal: Option<&'a str>,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub duration: Duration,
    /// The most memory of its guest, in bytes.
    pub memory: u64,
    /// Something was denied to it, whether it went on or not.
    pub is_denied: bool,
    /// What it took.
    pub cost: Cost,
}

/// What calls took, of what there is only so much.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Time of processors: of its component, and of its commands.
    pub processor: Duration,
    /// Bytes that the store took of it.
    pub stored: u64,
    /// Bytes of requests.
    pub received: u64,
    /// Bytes of answers.
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

/// The counts of a server.
#[derive(Debug, Default)]
pub struct Figures {
    tools: Mutex<HashMap<String, Counts>>,
    principals: Mutex<HashMap<String, Counts>>,
    /// Refused calls, by the reason: the program's own words, so that there are few.
    refusals: Mutex<BTreeMap<&'static str, u64>>,
}

/// What was counted of a tool, or of a principal.
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

/// What is told of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolFigures {
    /// The tool.
    pub tool: String,
    /// Calls that ended, however.
    pub calls: u64,
    /// Those that ended with an error or were stopped.
    pub errors: u64,
    /// Those that the client, or the end of the server, took back.
    pub cancelled: u64,
    /// Those that did not run.
    pub refused: u64,
    /// Those to which something was denied, whether they went on or not.
    pub denied: u64,
    /// Half of those that ran were not slower. Milliseconds, as all times.
    pub p50_ms: f64,
    /// Nine of ten were not slower.
    pub p90_ms: f64,
    /// 99 of 100 were not slower.
    pub p99_ms: f64,
    /// The slowest.
    pub max_ms: f64,
    /// The most memory of a guest, in bytes; 0 for tools of the host.
    pub peak_memory_bytes: u64,
}

/// What is told of a principal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrincipalFigures {
    /// Its name; with who vouches for that, where two have the same.
    pub principal: String,
    /// Calls that ended, however.
    pub calls: u64,
    /// Those that ended with an error or were stopped.
    pub errors: u64,
    /// Those that the client, or the end of the server, took back.
    pub cancelled: u64,
    /// Those that did not run.
    pub refused: u64,
    /// Time of processors that its calls took.
    pub processor_ms: f64,
    /// Bytes that the store took of its calls.
    pub stored_bytes: u64,
    /// Bytes of its requests.
    pub received_bytes: u64,
    /// Bytes of the answers to them.
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

    /// Counts a call of which nothing but its principal is told: it names no tool.
    pub fn add_unknown(&self, called: &Called<'_>) {
        if let Some(principal) = called.principal {
            count(&mut self.principals.lock(), principal, called);
        }
    }

    /// Counts a call that was refused for this reason.
    pub fn add_refusal(&self, why: &'static str) {
        *self.refusals.lock().entry(why).or_default() += 1;
    }

    /// Refused calls, by the reason.
    pub fn refusals(&self) -> BTreeMap<&'static str, u64> {
        self.refusals.lock().clone()
    }

    /// All of it, in the order of names.
    pub fn tools(&self) -> Vec<ToolFigures> {
        let tools = self.tools.lock();
        let mut told: Vec<_> = tools.iter().map(|(tool, counts)| counts.told(tool)).collect();
        drop(tools);
        told.sort_unstable_by(|a, b| a.tool.cmp(&b.tool));
        told
    }

    /// The same for who called over HTTP.
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

    /// Counts what a principal took beside what is counted with its calls.
    pub fn add_cost(&self, principal: &str, cost: Cost) {
        counts(&mut self.principals.lock(), principal).cost += cost;
    }

    /// All that was counted of tools, by their names.
    pub fn counts_of_tools(&self) -> BTreeMap<String, Counts> {
        self.tools.lock().iter().map(|(tool, counts)| (tool.clone(), counts.clone())).collect()
    }

    /// All that was counted of who called over HTTP, by their names.
    pub fn counts_of_principals(&self) -> BTreeMap<String, Counts> {
        let principals = self.principals.lock();
        let names = Names::of(principals.keys().map(String::as_str));
        let mut told = BTreeMap::new();
        for (principal, counts) in &*principals {
            let mut name = names.shown(principal);
            // Somebody may be called as another is shown: nobody's counts take the place of others.
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
    // Looked up before a name is made for it, since almost always it is there.
    if !all.contains_key(name) {
        all.insert(name.to_owned(), Counts::default());
    }
    all.get_mut(name).expect("it was there, or was put there")
}

impl Counts {
    /// How many calls ended in which way, by the names of the ways.
    pub fn outcomes(&self) -> [(&'static str, u64); 4] {
        let Self { calls, errors, cancelled, refused, .. } = *self;
        let ok = calls - errors - cancelled - refused;
        [("ok", ok), ("error", errors), ("cancelled", cancelled), ("refused", refused)]
    }

    /// Calls to which something was denied.
    pub fn denied(&self) -> u64 {
        self.denied
    }

    /// What they took.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// The most memory of a guest, in bytes.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// How long those took together that ran.
    pub fn time(&self) -> Duration {
        self.times.sum()
    }

    /// How many of those that ran took no longer than each of these, and longer than the one before it; within 4 %.
    pub fn within<const N: usize>(&self, bounds: [Duration; N]) -> [u64; N] {
        let mut before = 0;
        bounds.map(|bound| {
            let up_to = self.times.up_to(bound).max(before);
            up_to - std::mem::replace(&mut before, up_to)
        })
    }

    /// How many ran.
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

/// In thousandths, as nobody needs more.
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
