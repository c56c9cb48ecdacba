//! Action `complete`: completes a step, or a complete task.
//!
//! Completing the last step does not complete its task: more steps may follow, so the caller decides. A
//! completed task is not the current one.

use scorpiox_tool_kit::{Args, Client, Failure, Output, Store};

use crate::model::{Meta, State, StepId, Task};
use crate::render::{self, count, short};
use crate::{input, steps};

pub(crate) fn complete(
    store: &mut impl Store,
    client: &impl Client,
    now: u64,
    args: &Args<'_>,
) -> Result<Output, Failure> {
    match (input::step_id(args)?, input::task_id(args)?) {
        (Some(step), task) => complete_step(store, client, step, task),
        (None, Some(task)) => complete_task(store, now, task),
        (None, None) => Err(Failure::InvalidInput(
            "complete needs step_id (one step) or task_id (a whole task with all its steps); pending shows the ids."
                .to_owned(),
        )),
    }
}

fn complete_step(
    store: &mut impl Store,
    client: &impl Client,
    number: i64,
    in_task: Option<i64>,
) -> Result<Output, Failure> {
    let meta = Meta::load(store)?;
    let (mut task, mut step) = steps::find(store, number, in_task)?;
    let said = if step.done {
        "was already done"
    } else {
        steps::set_done(store, &mut task, &mut step)?;
        task.save(store)?;
        "is done"
    };
    let open = steps::first_open(store, &task)?;
    let text = format!(
        "Step {} {said}: {}\nTask {}.{}",
        step.id.0,
        short(&step.text),
        render::title(&task),
        render::next_step(client, &task, open.as_ref())
    );
    Ok(render::output(text, &meta, &[task], &[step], None))
}

fn complete_task(store: &mut impl Store, now: u64, number: i64) -> Result<Output, Failure> {
    let mut meta = Meta::load(store)?;
    let mut task = Task::find(store, number)?;
    if task.completed.is_some() {
        let text = format!("Task #{} was already completed: {}", task.id.0, short(&task.name));
        return Ok(render::output(text, &meta, &[task], &[], None));
    }
    let left = task.steps_total - task.steps_done;
    let was_current = meta.current == Some(task.id);
    steps::settle_reopened(store, &mut task)?;
    task.steps_done = task.steps_total;
    task.done_through = StepId(meta.steps);
    task.completed = Some(now);
    task.leave(store, State::Open)?;
    task.save(store)?;
    meta.open -= 1;
    meta.current = meta.current.filter(|_| !was_current);
    meta.save(store)?;
    let text = format!(
        "Task #{} is completed: {}{}\n{}",
        task.id.0,
        short(&task.name),
        counted(left),
        what_is_left(&meta, was_current)
    );
    Ok(render::output(text, &meta, &[task], &[], None))
}

fn counted(left: u32) -> String {
    match left {
        0 => String::new(),
        1 => "\n1 step that was open counts as done.".to_owned(),
        _ => format!("\n{left} steps that were open count as done."),
    }
}

pub(crate) fn what_is_left(meta: &Meta, was_current: bool) -> String {
    match meta.open {
        0 => "No task is open now.".to_owned(),
        open if was_current => format!(
            "{} open, and none is current: pending shows what is left, switch or create makes one current.",
            count(open, "task")
        ),
        open => format!("{} open; pending shows what is left.", count(open, "task")),
    }
}
