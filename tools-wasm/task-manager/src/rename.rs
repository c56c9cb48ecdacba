//! Action `rename`: changes a task's name, or a step's text.

use scorpiox_tool_kit::{Args, Failure, Output, Store};

use crate::model::{Meta, Task};
use crate::render::{self, short};
use crate::{add, input, search, steps, switch, target};

/// Renames the given step, or else the given task, or else the current task.
pub(crate) fn rename(store: &mut impl Store, args: &Args<'_>) -> Result<Output, Failure> {
    let meta = Meta::load(store)?;
    if let Some(step) = input::step_id(args)? {
        return reword(store, &meta, args, step);
    }
    let name = input::new_name(args)?;
    let mut task = match target::task(store, &meta, args)? {
        Some(task) => task,
        None => add::current(store, &meta, "rename")?,
    };
    let old = std::mem::replace(&mut task.name, name);
    if old == task.name {
        let text = format!("Task #{} already has that name: {}", task.id.0, short(&task.name));
        return Ok(render::output(text, &meta, &[task], &[], None));
    }
    write_name(store, &task, &old)?;
    let text = format!("Task #{} is renamed: {}\nIt was: {}", task.id.0, short(&task.name), short(&old));
    Ok(render::output(text, &meta, &[task], &[], None))
}

fn write_name(store: &mut impl Store, task: &Task, old: &str) -> Result<(), Failure> {
    let before = Task { name: old.to_owned(), ..task.clone() };
    switch::unindex_name(store, &before)?;
    switch::index_name(store, task)?;
    search::reindex_name(store, task, old)?;
    Ok(task.save(store)?)
}

fn reword(store: &mut impl Store, meta: &Meta, args: &Args<'_>, number: i64) -> Result<Output, Failure> {
    let text = input::new_step_text(args)?;
    let (task, mut step) = steps::find(store, number, input::task_id(args)?)?;
    let old = std::mem::replace(&mut step.text, text);
    let said = if old == step.text {
        format!("Step {number} already says that: {}", short(&old))
    } else {
        steps::reword(store, &step)?;
        search::unindex_step(store, &task, &old)?;
        search::index_step(store, &task, &step.text)?;
        format!("Step {number} is changed: {}\nIt was: {}", short(&step.text), short(&old))
    };
    let text = format!("{said}\nTask {}.", render::title(&task));
    Ok(render::output(text, meta, &[task], &[step], None))
}
