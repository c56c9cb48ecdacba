//! The steps of a task.

use scorpiox_tool_kit::{Client, Failure, Order, Store, StoreError, store};
use serde::{Deserialize, Serialize};

use crate::model::{Scope, State, StepId, Task, TaskId, id_in_key, padded};

/// Steps on a page.
pub(crate) const PAGE_STEPS: usize = 20;
/// Characters of a result that are kept free for what stands around the steps of a page.
const AROUND_CHARS: usize = 1200;

/// What a page has at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    pub steps: usize,
    /// Of the steps, as they are shown in full: long steps make a page shorter.
    pub chars: usize,
}

impl Most {
    /// So many steps, or as many as a result has room for.
    pub(crate) fn of(client: &impl Client, steps: usize) -> Self {
        Self { steps, chars: client.room().saturating_sub(AROUND_CHARS) }
    }
}

/// A step as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub id: StepId,
    pub task: TaskId,
    pub text: String,
    pub done: bool,
}

/// A step as it is stored.
#[derive(Serialize, Deserialize)]
struct Record {
    #[serde(rename = "x")]
    text: String,
}

/// One page of a task's steps, in their order.
pub(crate) struct StepPage {
    pub steps: Vec<Step>,
    /// Ids over this one are on further pages.
    pub after: Option<StepId>,
}

/// Puts a new, open step.
pub(crate) fn put(store: &mut impl Store, task: TaskId, id: StepId, text: &str) -> Result<Step, StoreError> {
    let step = Step { id, task, text: text.to_owned(), done: false };
    store.set_record(&owner_key(id), &task)?;
    write(store, &step, State::Open)?;
    Ok(step)
}

/// The id of the task that the step with the id that the caller gave belongs to.
pub(crate) fn find_owner(store: &mut impl Store, number: i64) -> Result<(StepId, TaskId), Failure> {
    let id = u32::try_from(number).ok().map(StepId);
    let owner = id.map_or(Ok(None), |id| store.record(&owner_key(id)))?;
    id.zip(owner).ok_or_else(|| {
        Failure::NotFound(format!(
            "Step {number} does not exist; pending shows the open steps of the current task, and list with a task_id every step of that task."
        ))
    })
}

/// A step that is known to exist.
pub(crate) fn load(store: &mut impl Store, task: &Task, id: StepId) -> Result<Step, StoreError> {
    for state in State::BOTH {
        let key = key(task.id, state, id);
        if let Some(bytes) = store.get(&key)? {
            return read(task, state, &key, &bytes);
        }
    }
    Err(StoreError::Unavailable(format!("the record of step {} is missing", id.0)))
}

/// Moves an open step to where done ones are.
pub(crate) fn set_done(store: &mut impl Store, step: &mut Step) -> Result<(), StoreError> {
    store.delete(&key(step.task, State::Open, step.id))?;
    step.done = true;
    write(store, step, State::Done)
}

/// The first step that is still to be done.
pub(crate) fn first_open(store: &mut impl Store, task: &Task) -> Result<Option<Step>, StoreError> {
    if task.steps_done == task.steps_total {
        return Ok(None);
    }
    Ok(scan(store, task, State::Open, task.done_through, 1)?.pop())
}

/// The steps of `scope` with ids over `after`.
pub(crate) fn page(
    store: &mut impl Store,
    task: &Task,
    scope: Scope,
    after: StepId,
    most: Most,
) -> Result<StepPage, StoreError> {
    let from = if scope == Scope::Open { after.max(task.done_through) } else { after };
    let mut steps = Vec::new();
    for state in scope.states() {
        steps.extend(scan(store, task, *state, from, most.steps + 1)?);
    }
    steps.sort_by_key(|step| step.id);
    let fit = fitting(&steps, most);
    let more = steps.len() > fit;
    steps.truncate(fit);
    let after = steps.last().filter(|_| more).map(|step| step.id);
    Ok(StepPage { steps, after })
}

/// A step in full; its further lines stand under its first.
pub(crate) fn shown(step: &Step) -> String {
    let mark = if step.done { 'x' } else { ' ' };
    format!("[{mark}] {} {}", step.id.0, step.text.replace('\n', "\n    "))
}

/// How many of the steps fit on a page: one at least.
fn fitting(steps: &[Step], most: Most) -> usize {
    let mut chars = 0;
    let fit = steps.iter().take(most.steps).take_while(|step| {
        chars += shown(step).chars().count();
        chars <= most.chars
    });
    fit.count().max(1)
}

fn scan(
    store: &mut impl Store,
    task: &Task,
    state: State,
    after: StepId,
    limit: usize,
) -> Result<Vec<Step>, StoreError> {
    let after = key(task.id, state, after);
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    let entries = store.scan(&prefix(task.id, state), Some(&after), limit, Order::Ascending)?;
    entries.iter().map(|entry| read(task, state, &entry.key, &entry.value)).collect()
}

fn read(task: &Task, state: State, key: &str, value: &[u8]) -> Result<Step, StoreError> {
    let id = StepId(id_in_key(key)?);
    let record: Record = store::decode(key, value)?;
    let done = state == State::Done || id <= task.done_through;
    Ok(Step { id, task: task.id, text: record.text, done })
}

fn write(store: &mut impl Store, step: &Step, state: State) -> Result<(), StoreError> {
    store.set_record(&key(step.task, state, step.id), &Record { text: step.text.clone() })
}

fn prefix(task: TaskId, state: State) -> String {
    format!("s/{}/{}/", state.letter(), padded(task.0.into()))
}

fn key(task: TaskId, state: State, id: StepId) -> String {
    format!("{}{}", prefix(task, state), padded(id.0.into()))
}

fn owner_key(id: StepId) -> String {
    format!("i/{}", padded(id.0.into()))
}
