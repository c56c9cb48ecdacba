//! Names the commands that started before a plan and keep their write access.

use scorpiox_tool_kit::Args;

use super::scope::Scope;
use scorpiox_tools::{Output, OutputContent, still_running};

/// Tool whose results get the note.
const PLAN_TOOL: &str = "PlanMode";

/// Appends to a result of PlanMode the commands that may still change something while the plan is active.
pub(super) fn add(scope: &Scope<'_>, tool: &str, arguments: &str, output: &mut Output) {
    if tool != PLAN_TOOL || !is_read_by_people(arguments) {
        return;
    }
    // Such commands are rare, and only a component call can tell whether a plan is active.
    let (shell, principal) = (scope.workspace().shell(), scope.session.principal_key());
    let tasks = shell.tasks_that_change_things(principal);
    let active = shell.active_commands(principal);
    if tasks.is_empty() && active.is_empty() || !matches!(scope.workspace().active_plan(), Ok(Some(_))) {
        return;
    }
    let first = output.content.iter_mut().find_map(|content| match content {
        OutputContent::Text(text) => Some(text),
        _ => None,
    });
    if let Some(text) = first {
        text.push_str("\n\n");
        text.push_str(&still_running(&tasks, &active, &scope.name("KillBgTask")));
    }
}

/// Returns `false` for the action whose result is only data.
fn is_read_by_people(arguments: &str) -> bool {
    let action = Args::parse(arguments).ok().and_then(|args| args.trimmed("action").ok().flatten());
    action.is_some_and(|action| ["enter", "status"].contains(&action.as_str()))
}
