//! What a person making a plan must know of the shell: commands that began before it go on as they
//! began.

use std::fmt::Write as _;
use std::sync::Arc;

use scorpiox_tool_kit::{Args, args};
use scorpiox_transcript::human_duration;

use super::scope::Scope;
use scorpiox_shell::{Listed, TaskState};
use scorpiox_tools::{Output, OutputContent};

/// The tool whose results are noted on.
const PLAN_TOOL: &str = "PlanMode";

/// Adds to a result of PlanMode which commands may still change something while the plan is active.
pub(super) fn add(scope: &Scope<'_>, tool: &str, arguments: &str, output: &mut Output) {
    if tool != PLAN_TOOL || !is_read_by_people(arguments) {
        return;
    }
    // There are hardly ever any, and whether a plan is active is known to a component alone.
    let tasks = scope.workspace().shell().tasks_that_change_things(scope.session.principal_key());
    if tasks.is_empty() || !matches!(scope.workspace().active_plan(), Ok(Some(_))) {
        return;
    }
    let first = output.content.iter_mut().find_map(|content| match content {
        OutputContent::Text(text) => Some(text),
        _ => None,
    });
    if let Some(text) = first {
        text.push_str("\n\n");
        text.push_str(&note(&tasks, &scope.name("KillBgTask")));
    }
}

/// Not the action whose result is nothing but data.
fn is_read_by_people(arguments: &str) -> bool {
    let action = Args::parse(arguments).ok().and_then(|args| args.trimmed("action").ok().flatten());
    action.is_some_and(|action| ["enter", "status"].contains(&action.as_str()))
}

/// The tasks, each of a component or of the client, and what ends them: a tool of that name only the
/// client's.
fn note(tasks: &[(Option<Arc<str>>, Listed)], kill: &str) -> String {
    let mut note = String::from(
        "Background commands that began before the plan go on, and may still change something:\n",
    );
    for (owner, task) in tasks {
        let what = owner.as_ref().map_or_else(|| format!("task {}", task.id), |owner| format!("of {owner}"));
        // Writing to a string does not fail.
        let _ = writeln!(note, "- {what}, {}: {}", run_time(task), args::shown(&task.command));
    }
    if tasks.iter().any(|(owner, _)| owner.is_none()) {
        let _ = write!(note, "{kill} with its task_id ends one.");
    } else {
        note.push_str("Only what started them can end them, and the end of this server does.");
    }
    note
}

fn run_time(task: &Listed) -> String {
    match &task.state {
        TaskState::Running(time) => format!("running for {}", human_duration(*time)),
        TaskState::Ended(..) => "just ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use scorpiox_cell::Tier;

    use super::*;

    fn of(owner: Option<&str>, id: u32) -> (Option<Arc<str>>, Listed) {
        let task = Listed {
            id,
            command: "make".to_owned(),
            tier: Tier::T1,
            profile: "workspace".to_owned(),
            state: TaskState::Running(Duration::from_secs(2)),
            printed_bytes: 0,
        };
        (owner.map(Arc::from), task)
    }

    #[test]
    fn a_tool_is_advised_where_it_can_end_something() {
        let both = note(&[of(Some("plugin/x"), 1), of(None, 2)], "x_KillBgTask");
        assert!(both.contains("\n- of plugin/x, running for 2.00 s: make\n- task 2, running"), "{both}");
        assert!(both.ends_with("\nx_KillBgTask with its task_id ends one."), "{both}");
        let others = note(&[of(Some("plugin/x"), 1)], "KillBgTask");
        assert!(!others.contains("KillBgTask"), "{others}");
    }
}
