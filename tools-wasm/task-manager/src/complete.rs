//! complete: a step, or a whole task.
//!
//! The last step does not complete its task: more steps may follow, so that is the
//! caller's to say. A completed task stays current until another is made current.

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
    let (id, owner) = steps::find_owner(store, number)?;
    if let Some(other) = in_task.filter(|other| *other != i64::from(owner.0)) {
        return Err(Failure::InvalidInput(format!(
            "Step {number} belongs to task {}, not to task {other}. Nothing was changed; leave task_id out, or check step_id.",
            owner.0
        )));
    }
    let meta = Meta::load(store)?;
    let mut task = Task::known(store, owner)?;
    let mut step = steps::load(store, &task, id)?;
    let said = if step.done {
        "was already done"
    } else {
        steps::set_done(store, &mut step)?;
        task.steps_done += 1;
        task.save(store)?;
        "is done"
    };
    let open = steps::first_open(store, &task)?;
    let text = format!(
        "Step {} {said}: {}\nTask {}.{}",
        id.0,
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
    task.steps_done = task.steps_total;
    task.done_through = StepId(meta.steps);
    task.completed = Some(now);
    task.leave(store, State::Open)?;
    task.save(store)?;
    meta.open -= 1;
    meta.save(store)?;
    let text = format!(
        "Task #{} is completed: {}{}\n{}",
        task.id.0,
        short(&task.name),
        counted(left),
        what_is_left(&meta, &task)
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

fn what_is_left(meta: &Meta, task: &Task) -> String {
    match meta.open {
        0 => "No task is open now.".to_owned(),
        open if meta.current == Some(task.id) => format!(
            "{} open. It is still the current task: pending shows what is left, switch or create makes another one current.",
            count(open, "task")
        ),
        open => format!("{} open; pending shows what is left.", count(open, "task")),
    }
}
