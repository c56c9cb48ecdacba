//! Action `add`: adds a step to a task.

use scorpiox_tool_kit::{Args, Failure, Output, Store};

use crate::model::{Meta, State, StepId, Task};
use crate::{input, render, search, steps};

/// Adds a step to the given task, or else to the current one. A completed task is reopened: its done steps
/// stay done, and the new step is open.
pub(crate) fn add(store: &mut impl Store, args: &Args<'_>) -> Result<Output, Failure> {
    let text = input::step_text(args)?;
    let number = input::task_id(args)?;
    let mut meta = Meta::load(store)?;
    let mut task = target(store, &meta, number)?;
    let reopened = task.completed.take().is_some();
    if reopened {
        task.leave(store, State::Done)?;
        meta.open += 1;
    }
    meta.steps += 1;
    meta.save(store)?;
    task.steps_total += 1;
    task.save(store)?;
    let step = steps::put(store, task.id, StepId(meta.steps), &text)?;
    search::index_step(store, &task, &step.text)?;
    let opened = match (reopened, task.steps_done) {
        (false, _) => "",
        (true, 0) => "\nThe task was completed; it is open again.",
        (true, _) => "\nThe task was completed; it is open again, and its earlier steps stay done.",
    };
    let said = format!(
        "Step {} is added to task {}: {}{opened}",
        step.id.0,
        render::title(&task),
        render::short(&step.text)
    );
    Ok(render::output(said, &meta, &[task], &[step], None))
}

fn target(store: &mut impl Store, meta: &Meta, number: Option<i64>) -> Result<Task, Failure> {
    match number {
        Some(number) => Task::find(store, number),
        None => current(store, meta, "add a step to"),
    }
}

/// Returns the current task, for an action without a task. `aim` completes the error message.
pub(crate) fn current(store: &mut impl Store, meta: &Meta, aim: &str) -> Result<Task, Failure> {
    if let Some(id) = meta.current {
        let task = Task::known(store, id)?;
        if task.is_current(meta) {
            return Ok(task);
        }
    }
    Err(Failure::InvalidInput(if meta.count() == 0 {
        format!("There is no task to {aim}; create one first: action \"create\" with its name in text.")
    } else {
        "No task is current; give the task_id of the task, or make it current with switch. pending shows the open tasks.".to_owned()
    }))
}
