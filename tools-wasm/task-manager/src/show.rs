//! Actions `list` and `pending` with a `task_id`: one task in full.

use scorpiox_tool_kit::{Args, Client, Failure, Output, Store, args, time};

use crate::input;
use crate::model::{Meta, Scope, StepId, Task, TaskId};
use crate::render::{self, Call, count};
use crate::steps::{self, Most, PAGE_STEPS};

/// Shows the task with its steps of `scope`, one page at a time.
pub(crate) fn show(
    store: &mut impl Store,
    client: &impl Client,
    args: &Args<'_>,
    scope: Scope,
    number: i64,
    query: &str,
) -> Result<Output, Failure> {
    let after = input::cursor(args, "after", "the steps of one task")?;
    let meta = Meta::load(store)?;
    let task = Task::find(store, number)?;
    let most = Most::of(client, PAGE_STEPS);
    let page = steps::page(store, &task, scope, StepId(after.unwrap_or(0)), most)?;
    let next = page.after.map(|id| further(scope, task.id, id).json());
    let mut lines = vec![heading(&task, &meta)];
    lines.extend(page.steps.iter().map(steps::shown));
    if page.steps.is_empty() {
        lines.push(nothing(client, &task, scope, after));
    }
    if !query.is_empty() {
        let query = args::shown(query);
        lines.push(format!("Note: the query {query:?} was not used, because task_id names one task."));
    }
    lines.extend(next.as_deref().map(|next| render::more(client, next)));
    Ok(render::output(lines.join("\n"), &meta, &[task], &page.steps, next))
}

/// Returns the call that shows the steps after `after`.
pub(crate) fn further(scope: Scope, task: TaskId, after: StepId) -> Call<'static> {
    Call::new(scope.action(), "").task(task).text(format!("after:{}", after.0))
}

/// Formats `Task #3 (current, 2/5 steps): Write docs`, with the unchanged name.
fn heading(task: &Task, meta: &Meta) -> String {
    let current = if task.is_current(meta) { "current, " } else { "" };
    let progress = match task.completed {
        Some(at) => format!("done {}, {}", time::rfc3339(at), count(task.steps_total, "step")),
        None => render::progress(task),
    };
    format!("Task #{} ({current}{progress}): {}", task.id.0, task.name)
}

fn nothing(client: &impl Client, task: &Task, scope: Scope, after: Option<u32>) -> String {
    let what = if scope == Scope::Open { "open steps" } else { "steps" };
    match after {
        Some(id) => format!("No {what} after {id}."),
        None if scope == Scope::Open && task.steps_total > 0 => {
            format!("No open steps.{}", render::next_step(client, task, None))
        }
        None => format!("No {what}. Action \"add\" with this task_id and text adds one."),
    }
}
