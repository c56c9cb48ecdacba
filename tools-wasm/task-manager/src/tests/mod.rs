//! Tests of the tool. Every successful result is checked against the output schema.

mod bounds;
mod complete;
mod create;
mod delete;
mod errors;
mod list;
mod naive;
mod paging;
mod rename;
mod reopen;
mod schema;
mod search;
mod switch;

use super::*;
use scorpiox_tool_kit::memory::{MemoryClient, MemoryStore};
use scorpiox_tool_kit::{Entry, Order, StoreError};
use serde_json::{Value, json};

const NOW: u64 = 1_795_214_432_000;

/// In-memory store that also counts calls, because each call crosses the sandbox boundary.
#[derive(Default, Clone)]
struct Bench {
    memory: MemoryStore,
    /// Number of calls, except writes to the two search indexes.
    ops: usize,
    /// Number of writes to the search indexes.
    index_writes: usize,
    client: MemoryClient,
}

impl Bench {
    fn count(&mut self, key: &str) {
        if key.starts_with("w/") || key.starts_with("n/") {
            self.index_writes += 1;
        } else {
            self.ops += 1;
        }
    }

    /// Resets the counters of reads, writes and calls.
    fn reset(&mut self) {
        self.memory.reads = 0;
        self.memory.writes = 0;
        self.ops = 0;
        self.index_writes = 0;
    }

    /// Makes a call that must succeed.
    #[track_caller]
    fn ok(&mut self, arguments: &Value) -> Output {
        let client = self.client;
        let output = call(self, &client, NOW, &arguments.to_string());
        let output = output.unwrap_or_else(|failure| panic!("{arguments}: {failure:?}"));
        schema::assert_conforms(&data(&output));
        output
    }

    #[track_caller]
    fn text(&mut self, arguments: &Value) -> String {
        self.ok(arguments).text
    }

    /// Makes a call that must be refused without a change.
    #[track_caller]
    fn invalid(&mut self, arguments: &Value) -> String {
        match self.failure(arguments) {
            Failure::InvalidInput(text) => text,
            other => panic!("{arguments}: {other:?}"),
        }
    }

    /// Makes a call that must return "not found" without a change.
    #[track_caller]
    fn not_found(&mut self, arguments: &Value) -> String {
        match self.failure(arguments) {
            Failure::NotFound(text) => text,
            other => panic!("{arguments}: {other:?}"),
        }
    }

    #[track_caller]
    fn failure(&mut self, arguments: &Value) -> Failure {
        let writes = self.memory.writes;
        let client = self.client;
        let failure = call(self, &client, NOW, &arguments.to_string()).expect_err("refused");
        assert_eq!(self.memory.writes, writes, "{arguments} wrote before it was refused");
        failure
    }

    fn create(&mut self, name: &str) {
        self.ok(&json!({"action": "create", "query": "", "text": name}));
    }

    /// Adds a step to the current task.
    fn add(&mut self, text: &str) {
        self.ok(&json!({"action": "add", "query": "", "text": text}));
    }
}

impl Store for Bench {
    fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.ops += 1;
        self.memory.get(key)
    }

    fn set(&mut self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        assert!(!key.is_empty() && key.len() <= 512, "the store refuses the key {key:?}");
        self.count(key);
        self.memory.set(key, value)
    }

    fn delete(&mut self, key: &str) -> Result<(), StoreError> {
        self.count(key);
        self.memory.delete(key)
    }

    fn scan(
        &mut self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
        order: Order,
    ) -> Result<Vec<Entry>, StoreError> {
        self.ops += 1;
        self.memory.scan(prefix, after, limit, order)
    }

    fn increment(&mut self, key: &str, delta: i64) -> Result<i64, StoreError> {
        self.count(key);
        self.memory.increment(key, delta)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

fn data(output: &Output) -> Value {
    serde_json::from_str(output.structured.as_deref().expect("data")).expect("JSON")
}

/// Returns the IDs of `tasks` or `steps` in a result's data, in order.
fn ids(output: &Output, member: &str) -> Vec<u64> {
    let data = data(output);
    let items = data[member].as_array().expect("an array");
    items.iter().map(|item| item["id"].as_u64().expect("an id")).collect()
}

/// Returns the arguments in the hint at the end of a text.
#[track_caller]
fn hint(output: &Output) -> Option<Value> {
    let last = output.text.lines().last().expect("a line");
    let json = last.strip_prefix("More: call TaskManager with ");
    assert_eq!(json, data(output)["next"].as_str(), "the text and the data lead to the same page");
    json.map(|json| serde_json::from_str(json).expect("JSON"))
}

/// Follows the hints to the last page, and returns the IDs of every page.
#[track_caller]
fn follow(bench: &mut Bench, arguments: &Value, member: &str) -> Vec<Vec<u64>> {
    let mut pages = Vec::new();
    let mut next = Some(arguments.clone());
    while let Some(arguments) = next {
        let output = bench.ok(&arguments);
        pages.push(ids(&output, member));
        next = hint(&output);
        assert!(pages.len() < 1000, "the pages never end");
    }
    pages
}
