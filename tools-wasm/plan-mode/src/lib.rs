//! PlanMode: tracks if a plan is active, its goal, and the path of its file.
//!
//! The state is a single record. While a plan is active, the host runs shell commands read-only. This
//! component only reports the state.

#[cfg(target_arch = "wasm32")]
mod component;
mod state;

use scorpiox_tool_kit::{
    Args, Client, Definition, Failure, Files, FilesError, Hints, Output, Store, StoreError, args, time,
};
use serde::Serialize;

use state::State;

/// Maximum length of a goal, in characters.
const MAX_GOAL_CHARS: usize = 4000;
/// Maximum length of a plan file's path, in characters.
const MAX_PATH_CHARS: usize = 4096;

/// Returns the tool definition.
pub fn definition() -> Definition {
    Definition {
        name: "PlanMode",
        title: "Plan mode",
        description: "Manage plan mode for complex tasks".to_owned(),
        input_schema: include_str!("input-schema.json"),
        output_schema: Some(include_str!("output-schema.json")),
        hints: Hints { read_only: false, destructive: false, idempotent: false, open_world: false },
    }
}

/// The plan in the structured result.
#[derive(Serialize)]
struct PlanData<'a> {
    active: bool,
    goal: &'a str,
    plan_file: &'a str,
    started_at: Option<String>,
}

/// Handles a call at the time `now` (milliseconds since 1970).
pub fn call(
    store: &mut impl Store,
    files: &mut impl Files,
    client: &impl Client,
    now: u64,
    arguments: &str,
) -> Result<Output, Failure> {
    let args = Args::parse(arguments)?;
    let action = args.trimmed("action")?.unwrap_or_default();
    match action.as_str() {
        "enter" => enter(store, client, now, &args),
        "exit" => exit(store, files, now, &args),
        "status" => status(store, now),
        "json" => json(store),
        "reset" => reset(store),
        "" => Err(Failure::InvalidInput(
            "action is missing; use enter, exit, status, json or reset.".to_owned(),
        )),
        other => Err(Failure::InvalidInput(format!(
            "action {:?} is unknown; use enter, exit, status, json or reset.",
            args::shown(other)
        ))),
    }
}

fn enter(store: &mut impl Store, client: &impl Client, now: u64, args: &Args<'_>) -> Result<Output, Failure> {
    let goal = args.trimmed("goal")?.ok_or_else(|| {
        Failure::InvalidInput("goal is missing; enter needs the goal that the plan is for.".to_owned())
    })?;
    limit("goal", &goal, MAX_GOAL_CHARS)?;
    let state = state::load(store)?;
    if state.active {
        return Err(Failure::InvalidInput(format!(
            "A plan is already active for {} (goal: {}). Leave it with action \"exit\", or discard it with action \"reset\", before entering a new one.",
            time::duration(now.saturating_sub(state.started_at)),
            args::shown(&state.goal)
        )));
    }
    let state = State { active: true, goal, plan_file: String::new(), started_at: now };
    state::save(store, &state)?;
    let text = format!(
        "Plan mode is active. Goal: {}\nExplore and write the plan; shell commands run read-only until you call {} with action \"exit\" (plan_file may name where the plan was saved).",
        state.goal,
        client.tool_name("PlanMode")
    );
    Ok(output(text, &state))
}

fn exit(
    store: &mut impl Store,
    files: &mut impl Files,
    now: u64,
    args: &Args<'_>,
) -> Result<Output, Failure> {
    let plan_file = args.trimmed("plan_file")?.unwrap_or_default();
    limit("plan_file", &plan_file, MAX_PATH_CHARS)?;
    let mut state = state::load(store)?;
    if !state.active {
        return Err(Failure::InvalidInput(
            "No plan is active, so there is nothing to exit. Start one with action \"enter\" and a goal."
                .to_owned(),
        ));
    }
    let unchecked = if plan_file.is_empty() { None } else { check(files, &plan_file)? };
    state.active = false;
    state.plan_file = plan_file;
    state::save(store, &state)?;
    let saved =
        if state.plan_file.is_empty() { String::new() } else { format!(" Plan file: {}", state.plan_file) };
    let unchecked = unchecked.map(|why| format!("\n{why}")).unwrap_or_default();
    let text = format!(
        "Plan mode ended after {}. Goal: {}{saved}\nShell commands may write again.{unchecked}",
        time::duration(now.saturating_sub(state.started_at)),
        state.goal
    );
    Ok(output(text, &state))
}

/// Checks that the plan file exists, so that the plan does not end without one. Returns a note if the file cannot be
/// read.
fn check(files: &mut impl Files, plan_file: &str) -> Result<Option<String>, Failure> {
    // The content is not needed. With a limit of 0, every non-empty file is "too large".
    match files.read(plan_file, 0) {
        Ok(_) | Err(FilesError::TooLarge(_)) => Ok(None),
        Err(FilesError::NotFound(_)) => Err(Failure::NotFound(format!(
            "The plan file {:?} does not exist, so plan mode stays active. Write the plan there first, or leave plan_file out.",
            args::shown(plan_file)
        ))),
        Err(FilesError::Invalid(why)) => Err(Failure::InvalidInput(format!(
            "plan_file: {}. Plan mode stays active.",
            why.trim_end_matches('.')
        ))),
        Err(FilesError::Denied(why)) => Err(Failure::Denied(format!(
            "plan_file: {}. Plan mode stays active: save the plan in a file of the workspace, or leave plan_file out.",
            why.trim_end_matches('.')
        ))),
        Err(FilesError::Failed(why)) => Ok(Some(format!("Could not check that the plan file exists: {why}"))),
    }
}

fn status(store: &mut impl Store, now: u64) -> Result<Output, Failure> {
    let state = state::load(store)?;
    let text = if state.active {
        format!(
            "Plan mode is active for {}. Goal: {}",
            time::duration(now.saturating_sub(state.started_at)),
            state.goal
        )
    } else if state.plan_file.is_empty() {
        "Plan mode is not active.".to_owned()
    } else {
        format!("Plan mode is not active. Last plan file: {}", state.plan_file)
    };
    Ok(output(text, &state))
}

fn json(store: &mut impl Store) -> Result<Output, Failure> {
    let state = state::load(store)?;
    let mut result = output(String::new(), &state);
    result.text = result.structured.clone().unwrap_or_default();
    Ok(result)
}

fn reset(store: &mut impl Store) -> Result<Output, Failure> {
    let before = state::load(store)?;
    state::clear(store)?;
    let text = if before.active {
        format!("Plan discarded. Goal was: {}\nShell commands may write again.", before.goal)
    } else {
        "Plan mode is reset; no plan was active.".to_owned()
    };
    Ok(output(text, &State::default()))
}

/// Returns the goal and the start of the active plan. The error is the reason why the state is unknown.
pub fn active(store: &mut impl Store) -> Result<Option<(String, u64)>, String> {
    let state = state::load(store).map_err(|error| match error {
        StoreError::Unavailable(why) | StoreError::TooLarge(why) => why,
        StoreError::QuotaExceeded(bytes) => format!("the quota of {bytes} bytes is used up"),
    })?;
    Ok(state.active.then_some((state.goal, state.started_at)))
}

fn output(text: String, state: &State) -> Output {
    let known = state.started_at > 0;
    Output::with_data(
        text,
        &PlanData {
            active: state.active,
            goal: &state.goal,
            plan_file: &state.plan_file,
            started_at: known.then(|| time::rfc3339(state.started_at)),
        },
    )
}

fn limit(name: &str, value: &str, max: usize) -> Result<(), Failure> {
    let length = value.chars().count();
    if length > max {
        return Err(Failure::InvalidInput(format!(
            "{name} has {length} characters; the limit is {max}. Shorten it."
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
