//! Action `create`: creates a task, which becomes current.

use scorpiox_tool_kit::{Args, Failure, Output, Store};

use crate::model::{Meta, Task, TaskId};
use crate::{input, render, search, switch};

pub(crate) fn create(store: &mut impl Store, args: &Args<'_>) -> Result<Output, Failure> {
    let name = input::name(args)?;
    let mut meta = Meta::load(store)?;
    meta.tasks += 1;
    meta.open += 1;
    let task = Task::new(TaskId(meta.tasks), name);
    meta.current = Some(task.id);
    meta.save(store)?;
    task.save(store)?;
    search::index_name(store, &task)?;
    switch::index_name(store, &task)?;
    let text = format!(
        "Task #{} is created and current: {}\nNext: action \"add\" with text adds a step to it.",
        task.id.0,
        render::short(&task.name)
    );
    Ok(render::output(text, &meta, &[task], &[], None))
}
