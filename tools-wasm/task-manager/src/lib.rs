//! TaskManager: tasks with ordered steps, one of them current.
//!
//! Invariant: a call reads and writes a bounded number of entries, independent of the amount of stored data.
//! This depends on `model` (open and done records have separate prefixes, so no entry is read only to be
//! skipped), on `search` (postings by word) and on `walk` (lists read in parallel, with a budget for each
//! call).
//!
//! | action | module |
//! | --- | --- |
//! | create, add | `create`, `add` |
//! | complete | `complete` |
//! | list, pending | `list` (tasks), `show` (one task), `steps` |
//! | switch | `switch` |
//! | rename, reopen, delete | `rename`, `reopen`, `delete`; `target` selects the task |

mod add;
mod complete;
#[cfg(target_arch = "wasm32")]
mod component;
mod create;
mod delete;
mod input;
mod list;
mod model;
mod rename;
mod render;
mod reopen;
mod search;
mod show;
mod steps;
mod switch;
mod target;
mod walk;
mod words;

use scorpiox_tool_kit::{Args, Client, Definition, Failure, Hints, Output, Store, args};

use model::Scope;

/// Returns the tool definition.
pub fn definition() -> Definition {
    Definition {
        name: "TaskManager",
        title: "Task manager",
        description: "Manage persistent tasks with create/add/complete".to_owned(),
        input_schema: include_str!("input-schema.json"),
        output_schema: Some(include_str!("output-schema.json")),
        hints: Hints { read_only: false, destructive: true, idempotent: false, open_world: false },
    }
}

/// All actions, for errors. The description in the schema lists the first six.
const ACTIONS: &str = "create, add, complete, list, pending, switch, rename, reopen or delete";

/// Handles a call at the time `now` (milliseconds since 1970).
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
        "rename" => rename::rename(store, &args),
        "reopen" => reopen::reopen(store, client, &args),
        "delete" => delete::delete(store, &args),
        "" => Err(Failure::InvalidInput(format!("action is missing; use {ACTIONS}."))),
        other => {
            Err(Failure::InvalidInput(format!("action {:?} is unknown; use {ACTIONS}.", args::shown(other))))
        }
    }
}

#[cfg(test)]
mod tests;
