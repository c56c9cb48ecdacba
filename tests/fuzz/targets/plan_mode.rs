//! Fuzzes sequences of calls: each yields a result or an error, without a crash.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use scorpiox_tool_kit::memory::{MemoryClient, MemoryStore};
use scorpiox_tool_kit::{Failure, Files, FilesError};
use serde_json::json;

#[derive(Arbitrary, Debug)]
enum Call<'a> {
    Raw(&'a str),
    Shaped { action: u8, goal: Option<&'a str>, plan_file: Option<&'a str> },
}

struct NoFiles;

impl Files for NoFiles {
    fn read(&mut self, path: &str, _limit: u64) -> Result<Vec<u8>, FilesError> {
        Err(FilesError::NotFound(format!("{path} does not exist.")))
    }
}

const ACTIONS: [&str; 5] = ["enter", "exit", "status", "json", "reset"];

fuzz_target!(|calls: Vec<(u64, Call<'_>)>| {
    let mut store = MemoryStore::default();
    for (now, call) in calls {
        let arguments = match call {
            Call::Raw(text) => text.to_owned(),
            Call::Shaped { action, goal, plan_file } => {
                let action = ACTIONS[usize::from(action) % ACTIONS.len()];
                json!({ "action": action, "goal": goal, "plan_file": plan_file }).to_string()
            }
        };
        let now = now % 10_000_000_000_000;
        if let Err(Failure::Failed(text)) =
            plan_mode::call(&mut store, &mut NoFiles, &MemoryClient::default(), now, &arguments)
        {
            panic!("the store is damaged: {text}");
        }
    }
});
