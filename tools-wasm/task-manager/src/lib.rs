//! TaskManager: tasks with ordered steps, one of them current.
//!
//! Invariant: a call reads and writes a bounded number of entries however much is
//! stored. What makes that possible is written in `model` (open and done things lie
//! under prefixes of their own, so nothing is read to be skipped), in `search`
//! (postings by word) and in `walk` (lists read in step, a budget for each call).
//!
//! | action | file |
//! | --- | --- |
//! | create, add | `create`, `add` |
//! | complete | `complete` |
//! | list, pending | `list` (tasks), `show` (one task), `steps` |
//! | switch | `switch` |

mod add;
mod complete;
#[cfg(target_arch = "wasm32")]
mod component;
mod create;
mod input;
mod list;
mod model;
mod render;
mod search;
mod show;
mod steps;
mod switch;
mod walk;
mod words;

use scorpiox_tool_kit::{Args, Client, Definition, Failure, Hints, Output, Store, args};

use model::Scope;

/// What clients are told.
pub fn definition() -> Definition {
    Definition {
        name: "TaskManager",
        title: "Task manager",
        description: "Manage persistent tasks with create/add/complete".to_owned(),
        input_schema: include_str!("input-schema.json"),
        output_schema: Some(include_str!("output-schema.json")),
        hints: Hints { read_only: false, destructive: false, idempotent: false, open_world: false },
    }
}

/// Runs one call at the time `now` (milliseconds since 1970).
pub fn call(
    store: &mut impl Store,
    client: &impl Client,
    now: u64,
    arguments: &str,
) -> Result<Output, Failure> {
    let args = Args::parse(arguments)?;
    let action = args.trimmed("action")?.unwrap_or_default();
    match action.as_str() {
        "create" => create::create(store, &args),
        "add" => add::add(store, &args),
        "complete" => complete::complete(store, client, now, &args),
        "list" => list::list(store, client, &args, Scope::All),
        "pending" => list::list(store, client, &args, Scope::Open),
        "switch" => switch::switch(store, client, &args),
        "" => Err(Failure::InvalidInput(
            "action is missing; use create, add, complete, list, pending or switch.".to_owned(),
        )),
        other => Err(Failure::InvalidInput(format!(
            "action {:?} is unknown; use create, add, complete, list, pending or switch.",
            args::shown(other)
        ))),
    }
}

#[cfg(test)]
mod tests;
