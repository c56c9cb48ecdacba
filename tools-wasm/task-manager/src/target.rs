//! Selects the task for `rename`, `reopen` and `delete`.

use scorpiox_tool_kit::{Args, Failure, Store};

use crate::model::{Meta, Task};
use crate::render::short;
use crate::{input, switch};

/// Maximum number of matching tasks in an error.
const MAX_NAMED: usize = 5;

/// Returns the task with `task_id`, or the single best match of `query`; `None` if both are missing.
///
/// Several matches are an error, because these actions change the task.
pub(crate) fn task(store: &mut impl Store, meta: &Meta, args: &Args<'_>) -> Result<Option<Task>, Failure> {
    if let Some(number) = input::task_id(args)? {
        return Task::find(store, number).map(Some);
    }
    let query = input::query(args)?;
    if query.is_empty() {
        return Ok(None);
    }
    let mut found = switch::best(store, meta, &query)?;
    match found.len() {
        0 => Err(switch::no_match(meta, &query)),
        1 => Ok(found.pop()),
        _ => Err(several(&found)),
    }
}

fn several(found: &[Task]) -> Failure {
    let named = found.iter().take(MAX_NAMED).map(|task| format!("\n  #{} {}", task.id.0, short(&task.name)));
    let more = if found.len() > MAX_NAMED { "\n  and more" } else { "" };
    Failure::InvalidInput(format!(
        "The query matches several tasks; nothing was changed. Choose one with task_id:{}{more}",
        named.collect::<String>()
    ))
}
