//! Action `reopen`: reopens a completed task, or a step that is done.

use scorpiox_tool_kit::{Args, Client, Failure, Output, Store, StoreError};

use crate::model::{Meta, State, Task};
use crate::render::{self, short};
use crate::{input, steps, target};

/// Reopens the given step, or else the given task.
pub(crate) fn reopen(
    store: &mut impl Store,
    client: &impl Client,
    args: &Args<'_>,
) -> Result<Output, Failure> {
    let mut meta = Meta::load(store)?;
    if let Some(step) = input::step_id(args)? {
        return reopen_step(store, meta, args, step);
    }
    let task = target::task(store, &meta, args)?.ok_or_else(|| {
        Failure::InvalidInput(
            "reopen needs step_id (one step) or task_id (a completed task, whose steps stay done); list shows the ids."
                .to_owned(),
        )
    })?;
    reopen_task(store, client, &mut meta, task)
}

/// Reopens a task and makes it current, because work on it continues.
fn reopen_task(
    store: &mut impl Store,
    client: &impl Client,
    meta: &mut Meta,
    mut task: Task,
) -> Result<Output, Failure> {
    let said = if task.completed.is_some() { "is open again, and current" } else { "is open already" };
    if task.completed.is_some() {
        open(store, meta, &mut task)?;
        meta.current = Some(task.id);
        meta.save(store)?;
        task.save(store)?;
    }
    let step = steps::first_open(store, &task)?;
    let next = render::next_step(client, &task, step.as_ref());
    let text = format!("Task {} {said}.{next}", render::title(&task));
    Ok(render::output(text, meta, &[task], &step.into_iter().collect::<Vec<_>>(), None))
}

fn reopen_step(
    store: &mut impl Store,
    mut meta: Meta,
    args: &Args<'_>,
    number: i64,
) -> Result<Output, Failure> {
    let (mut task, mut step) = steps::find(store, number, input::task_id(args)?)?;
    let mut said = format!("Step {number} is open already: {}", short(&step.text));
    if step.done {
        said = format!("Step {number} is open again: {}", short(&step.text));
        if task.completed.is_some() {
            open(store, &mut meta, &mut task)?;
            meta.save(store)?;
            said.push_str("\nThe task was completed; it is open again, and its other steps stay done.");
        }
        steps::reopen(store, &mut task, &mut step)?;
        task.save(store)?;
    }
    let text = format!("{said}\nTask {}.", render::title(&task));
    Ok(render::output(text, &meta, &[task], &[step], None))
}

/// Removes a completed task from its key; the caller saves it and `meta`.
fn open(store: &mut impl Store, meta: &mut Meta, task: &mut Task) -> Result<(), StoreError> {
    task.completed = None;
    meta.open += 1;
    task.leave(store, State::Done)
}
