//! add: a new step of a task.

use scorpiox_tool_kit::{Args, Failure, Output, Store};

use crate::model::{Meta, State, StepId, Task};
use crate::{input, render, search, steps};

/// Adds to the task given, else to the current one. A completed task opens again:
/// what was done in it stays done, the new step is open.
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
    match (number, meta.current) {
        (Some(number), _) => Task::find(store, number),
        (None, Some(id)) => Ok(Task::known(store, id)?),
        (None, None) => Err(Failure::InvalidInput(
            "There is no task to add a step to; create one first: action \"create\" with its name in text."
                .to_owned(),
        )),
    }
}
