//! What a person making a plan must know of the shell: commands that began before it go on as they
//! began.

use std::fmt::Write as _;

use scorpiox_tool_kit::{Args, args};
use scorpiox_transcript::human_duration;

use super::dispatch::Scope;
use crate::capabilities::shell::{Listed, TaskState};
use crate::tools::{Output, OutputContent};

/// The tool whose results are noted on.
const PLAN_TOOL: &str = "PlanMode";

/// Adds to a result of PlanMode which commands may still change something while the plan is active.
pub(super) fn add(scope: &Scope<'_>, tool: &str, arguments: &str, output: &mut Output) {
    if tool != PLAN_TOOL
        || !is_read_by_people(arguments)
        || !matches!(scope.context.active_plan(), Ok(Some(_)))
    {
        return;
    }
    let first = output.content.iter_mut().find_map(|content| match content {
        OutputContent::Text(text) => Some(text),
        _ => None,
    });
    if let (Some(text), Some(note)) = (first, note(scope)) {
        text.push_str("\n\n");
        text.push_str(&note);
    }
}

/// Not the action whose result is nothing but data.
fn is_read_by_people(arguments: &str) -> bool {
    let action = Args::parse(arguments).ok().and_then(|args| args.trimmed("action").ok().flatten());
    action.is_some_and(|action| ["enter", "status"].contains(&action.as_str()))
}

fn note(scope: &Scope<'_>) -> Option<String> {
    let tasks = scope.context.shell().tasks_that_change_things();
    if tasks.is_empty() {
        return None;
    }
    let mut note = String::from(
        "Background commands that began before the plan go on, and may still change something:\n",
    );
    for (owner, task) in &tasks {
        let what = owner.as_ref().map_or_else(|| format!("task {}", task.id), |owner| format!("of {owner}"));
        // Writing to a string does not fail.
        let _ = writeln!(note, "- {what}, {}: {}", run_time(task), args::shown(&task.command));
    }
    let _ = write!(note, "{} with its task_id ends one.", scope.name("KillBgTask"));
    Some(note)
}

fn run_time(task: &Listed) -> String {
    match &task.state {
        TaskState::Running(time) => format!("running for {}", human_duration(*time)),
        TaskState::Ended(..) => "just ended".to_owned(),
    }
}
