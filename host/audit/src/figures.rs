//! Counting what tools do, in memory.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
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
}

/// The counts of a server.
#[derive(Debug, Default)]
pub struct Figures {
    tools: Mutex<HashMap<String, Counts>>,
    principals: Mutex<HashMap<String, Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    calls: u64,
    errors: u64,
    cancelled: u64,
    refused: u64,
    memory: u64,
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrincipalFigures {
    /// Its name, after the address of who vouches for that.
    pub principal: String,
    /// Calls that ended, however.
    pub calls: u64,
    /// Those that ended with an error or were stopped.
    pub errors: u64,
    /// Those that the client, or the end of the server, took back.
    pub cancelled: u64,
    /// Those that did not run.
    pub refused: u64,
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
        let mut told: Vec<_> = principals
            .iter()
            .map(|(principal, &Counts { calls, errors, cancelled, refused, .. })| PrincipalFigures {
                principal: principal.replace('\n', " "),
                calls,
                errors,
                cancelled,
                refused,
            })
            .collect();
        drop(principals);
        told.sort_unstable_by(|a, b| a.principal.cmp(&b.principal));
        told
    }
}

fn count(all: &mut HashMap<String, Counts>, name: &str, called: &Called<'_>) {
    // Looked up before a name is made for it, since almost always it is there.
    if let Some(counts) = all.get_mut(name) {
        return counts.add(called);
    }
    let name = if all.len() < MAX_NAMES { name } else { OTHERS };
    all.entry(name.to_owned()).or_default().add(called);
}

impl Counts {
    fn add(&mut self, called: &Called<'_>) {
        self.calls += 1;
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
        let [ann] = &figures.principals()[..] else { panic!("{:?}", figures.principals()) };
        assert_eq!((ann.principal.as_str(), ann.calls, ann.refused), ("https://login.example.com ann", 5, 1));
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
