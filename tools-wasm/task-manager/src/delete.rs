//! Action `delete`: deletes a step, or a task with all its steps.
//!
//! The steps of a task are deleted in chunks, each in a separate transaction. An interrupted call leaves a
//! task with fewer steps, and the next call continues.

use scorpiox_tool_kit::{Args, Failure, Output, Store, StoreError};

use crate::complete::what_is_left;
use crate::model::{Meta, Task};
use crate::render::{self, count, short};
use crate::{input, search, steps, switch, target};

/// Deletes the given step, or else the given task. There is no default, because a deletion cannot be undone.
pub(crate) fn delete(store: &mut impl Store, args: &Args<'_>) -> Result<Output, Failure> {
    let meta = Meta::load(store)?;
    if let Some(step) = input::step_id(args)? {
        return delete_step(store, &meta, args, step);
    }
    let task = target::task(store, &meta, args)?.ok_or_else(|| {
        Failure::InvalidInput(
            "delete needs step_id (one step) or task_id (a task with all its steps); list shows the ids."
                .to_owned(),
        )
    })?;
    delete_task(store, meta, task)
}

fn delete_step(store: &mut impl Store, meta: &Meta, args: &Args<'_>, number: i64) -> Result<Output, Failure> {
    let (mut task, step) = steps::find(store, number, input::task_id(args)?)?;
    steps::remove(store, &mut task, &step)?;
    search::unindex_step(store, &task, &step.text)?;
    task.save(store)?;
    let text = format!("Step {number} is deleted: {}\nTask {}.", short(&step.text), render::title(&task));
    Ok(render::output(text, meta, &[task], &[], None))
}

fn delete_task(store: &mut impl Store, mut meta: Meta, mut task: Task) -> Result<Output, Failure> {
    let steps = task.steps_total;
    remove_steps(store, &mut task)?;
    search::unindex_name(store, &task)?;
    switch::unindex_name(store, &task)?;
    task.leave(store, task.state())?;
    let was_current = meta.current == Some(task.id);
    meta.deleted += 1;
    meta.open -= u32::from(task.completed.is_none());
    meta.current = meta.current.filter(|_| !was_current);
    meta.save(store)?;
    let with = if steps == 0 { String::new() } else { format!(" with its {}", count(steps, "step")) };
    let text = format!(
        "Task #{} is deleted{with}: {}\n{}",
        task.id.0,
        short(&task.name),
        what_is_left(&meta, was_current)
    );
    Ok(render::output(text, &meta, &[], &[], None))
}

fn remove_steps(store: &mut impl Store, task: &mut Task) -> Result<(), StoreError> {
    let mut some = steps::some(store, task)?;
    while !some.is_empty() {
        for step in &some {
            steps::remove(store, task, step)?;
        }
        search::unindex_steps(store, task, &some)?;
        some = steps::some(store, task)?;
        if !some.is_empty() {
            // The counters make each chunk consistent.
            task.save(store)?;
            store.commit()?;
        }
    }
    Ok(())
}
