//! Fuzzes sequences of calls: each yields a result or an error, and leaves a store that the next call can
//! read.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use scorpiox_tool_kit::memory::{MemoryClient, MemoryStore};
use scorpiox_tool_kit::{Failure, Output};
use serde_json::{Map, Value, json};

#[derive(Arbitrary, Debug)]
enum Call<'a> {
    Raw(&'a str),
    Shaped {
        action: u8,
        query: Option<&'a str>,
        task_id: Option<i8>,
        step_id: Option<i8>,
        text: Option<&'a str>,
    },
    Page {
        action: u8,
        after: i8,
        steps: bool,
    },
}

const ACTIONS: [&str; 9] =
    ["create", "add", "complete", "list", "pending", "switch", "rename", "reopen", "delete"];

fn arguments(call: &Call<'_>) -> String {
    let action = |at: u8| ACTIONS[usize::from(at) % ACTIONS.len()];
    match call {
        Call::Raw(text) => (*text).to_owned(),
        Call::Shaped { action: at, query, task_id, step_id, text } => {
            let mut members = Map::new();
            members.insert("action".to_owned(), json!(action(*at)));
            let mut add = |name: &str, value: Option<Value>| {
                value.map(|value| members.insert(name.to_owned(), value));
            };
            add("query", query.map(|v| json!(v)));
            add("task_id", task_id.map(|v| json!(v)));
            add("step_id", step_id.map(|v| json!(v)));
            add("text", text.map(|v| json!(v)));
            Value::Object(members).to_string()
        }
        Call::Page { action: at, after, steps } => {
            let word = if *steps { "after" } else { "before" };
            json!({ "action": action(*at), "query": "", "text": format!("{word}:{after}") }).to_string()
        }
    }
}

fn check(result: Result<Output, Failure>) {
    match result {
        Ok(output) => {
            assert!(!output.text.is_empty());
            let data: Value = serde_json::from_str(&output.structured.expect("data")).expect("JSON");
            assert!(data.is_object());
        }
        Err(Failure::InvalidInput(text) | Failure::NotFound(text)) => assert!(!text.is_empty()),
        Err(other) => panic!("the store is damaged: {other:?}"),
    }
}

fuzz_target!(|calls: Vec<Call<'_>>| {
    let mut store = MemoryStore::default();
    for call in &calls {
        check(task_manager::call(&mut store, &MemoryClient::default(), 1_795_214_432_000, &arguments(call)));
    }
});
