//! Steps of a task.

use scorpiox_tool_kit::{Client, Failure, Order, Store, StoreError, store};
use serde::{Deserialize, Serialize};

use crate::model::{Scope, State, StepId, Task, TaskId, id_in_key, padded};
use crate::walk::BUDGET;
use crate::words::MAX_WORDS;

/// Number of steps that are read at once if all steps of a task are needed.
const CHUNK: usize = 200;

/// Number of steps per page.
pub(crate) const PAGE_STEPS: usize = 20;
/// Characters of a result that are reserved for the text around the steps of a page.
const AROUND_CHARS: usize = 1200;

/// Limits of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    pub steps: usize,
    /// Maximum number of characters of the steps in full. Long steps make a page shorter.
    pub chars: usize,
}

impl Most {
    /// Creates limits of `steps` steps, and the number of characters that fit in a result.
    pub(crate) fn of(client: &impl Client, steps: usize) -> Self {
        Self { steps, chars: client.room().saturating_sub(AROUND_CHARS) }
    }
}

/// A loaded step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub id: StepId,
    pub task: TaskId,
    pub text: String,
    pub done: bool,
    /// State of its record.
    state: State,
}

/// A stored step.
#[derive(Serialize, Deserialize)]
struct Record {
    #[serde(rename = "x")]
    text: String,
}

/// A page of a task's steps, in order.
pub(crate) struct StepPage {
    pub steps: Vec<Step>,
    /// Lower bound of the IDs on the following pages.
    pub after: Option<StepId>,
}

/// Stores a new open step.
pub(crate) fn put(store: &mut impl Store, task: TaskId, id: StepId, text: &str) -> Result<Step, StoreError> {
    let step = Step { id, task, text: text.to_owned(), done: false, state: State::Open };
    store.set_record(&owner_key(id), &task)?;
    write(store, &step, State::Open)?;
    Ok(step)
}

/// Finds the task of the step with the caller's ID.
fn find_owner(store: &mut impl Store, number: i64) -> Result<(StepId, TaskId), Failure> {
    let id = u32::try_from(number).ok().map(StepId);
    let owner = id.map_or(Ok(None), |id| store.record(&owner_key(id)))?;
    id.zip(owner).ok_or_else(|| {
        Failure::NotFound(format!(
            "Step {number} does not exist; pending shows the open steps of the current task, and list with a task_id every step of that task."
        ))
    })
}

/// Returns the step with the caller's ID, and its task. A `task_id` in the arguments must match the task.
pub(crate) fn find(
    store: &mut impl Store,
    number: i64,
    in_task: Option<i64>,
) -> Result<(Task, Step), Failure> {
    let (id, owner) = find_owner(store, number)?;
    if let Some(other) = in_task.filter(|other| *other != i64::from(owner.0)) {
        return Err(Failure::InvalidInput(format!(
            "Step {number} belongs to task {}, not to task {other}. Nothing was changed; leave task_id out, or check step_id.",
            owner.0
        )));
    }
    let task = Task::known(store, owner)?;
    let step = load(store, &task, id)?;
    Ok((task, step))
}

/// Loads a step that must exist.
fn load(store: &mut impl Store, task: &Task, id: StepId) -> Result<Step, StoreError> {
    for state in State::OF_STEPS {
        let key = key(task.id, state, id);
        if let Some(bytes) = store.get(&key)? {
            return read(task, state, &key, &bytes);
        }
    }
    Err(StoreError::Unavailable(format!("the record of step {} is missing", id.0)))
}

/// Moves an open step to the done ones, and updates its task's counters.
pub(crate) fn set_done(store: &mut impl Store, task: &mut Task, step: &mut Step) -> Result<(), StoreError> {
    if step.state == State::Reopened {
        task.reopened -= 1;
    }
    task.steps_done += 1;
    step.done = true;
    moved(store, step, State::Done)
}

/// Reopens a done step, and updates its task's counters.
pub(crate) fn reopen(store: &mut impl Store, task: &mut Task, step: &mut Step) -> Result<(), StoreError> {
    task.reopened += 1;
    task.steps_done -= 1;
    step.done = false;
    moved(store, step, State::Reopened)
}

/// Marks reopened steps as individually done before their task is completed. Their number is limited because
/// a separate call reopened each of them.
pub(crate) fn settle_reopened(store: &mut impl Store, task: &mut Task) -> Result<(), StoreError> {
    while task.reopened > 0 {
        let steps = scan(store, task, State::Reopened, StepId(0), CHUNK)?;
        if steps.is_empty() {
            return Err(StoreError::Unavailable(format!("steps of task {} are missing", task.id.0)));
        }
        for mut step in steps {
            set_done(store, task, &mut step)?;
        }
    }
    Ok(())
}

/// Stores a step's new text.
pub(crate) fn reword(store: &mut impl Store, step: &Step) -> Result<(), StoreError> {
    write(store, step, step.state)
}

/// Removes a step. The caller removes its words from the index.
pub(crate) fn remove(store: &mut impl Store, task: &mut Task, step: &Step) -> Result<(), StoreError> {
    task.steps_total -= 1;
    task.steps_done -= u32::from(step.done);
    task.reopened -= u32::from(step.state == State::Reopened);
    store.delete(&key(step.task, step.state, step.id))?;
    store.delete(&owner_key(step.id))
}

/// Returns some steps of a task in any state, or nothing if it has none.
pub(crate) fn some(store: &mut impl Store, task: &Task) -> Result<Vec<Step>, StoreError> {
    for state in State::OF_STEPS {
        let steps = scan(store, task, state, StepId(0), CHUNK)?;
        if !steps.is_empty() {
            return Ok(steps);
        }
    }
    Ok(Vec::new())
}

/// Returns the `words` that no step of the task contains. If the task has more than [`BUDGET`] steps, words
/// that the first ones lack count as used, and stay in the index.
pub(crate) fn unused(
    store: &mut impl Store,
    task: &Task,
    mut words: Vec<String>,
) -> Result<Vec<String>, StoreError> {
    if usize::try_from(task.steps_total).unwrap_or(usize::MAX) > BUDGET {
        return Ok(Vec::new());
    }
    for state in State::OF_STEPS {
        let mut after = StepId(0);
        loop {
            let steps = if words.is_empty() { Vec::new() } else { scan(store, task, state, after, CHUNK)? };
            let Some(last) = steps.last() else { break };
            after = last.id;
            for step in &steps {
                let used = crate::words::words(&step.text, MAX_WORDS);
                words.retain(|word| !used.contains(word));
            }
        }
    }
    Ok(words)
}

/// Returns the first open step.
pub(crate) fn first_open(store: &mut impl Store, task: &Task) -> Result<Option<Step>, StoreError> {
    if task.steps_done == task.steps_total {
        return Ok(None);
    }
    let first = scan(store, task, State::Open, task.done_through, 1)?.pop();
    if task.reopened == 0 {
        return Ok(first);
    }
    let reopened = scan(store, task, State::Reopened, StepId(0), 1)?.pop();
    Ok(first.into_iter().chain(reopened).min_by_key(|step| step.id))
}

/// Returns the steps of `scope` with IDs above `after`.
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
    if task.reopened > 0 {
        steps.extend(scan(store, task, State::Reopened, after, most.steps + 1)?);
    }
    steps.sort_by_key(|step| step.id);
    let fit = fitting(&steps, most);
    let more = steps.len() > fit;
    steps.truncate(fit);
    let after = steps.last().filter(|_| more).map(|step| step.id);
    Ok(StepPage { steps, after })
}

/// Formats a step in full, with further lines indented.
pub(crate) fn shown(step: &Step) -> String {
    let mark = if step.done { 'x' } else { ' ' };
    format!("[{mark}] {} {}", step.id.0, step.text.replace('\n', "\n    "))
}

/// Returns the number of steps that fit on a page; at least one.
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
    let done = match state {
        State::Open => id <= task.done_through,
        State::Done => true,
        State::Reopened => false,
    };
    Ok(Step { id, task: task.id, text: record.text, done, state })
}

fn moved(store: &mut impl Store, step: &mut Step, state: State) -> Result<(), StoreError> {
    store.delete(&key(step.task, step.state, step.id))?;
    step.state = state;
    write(store, step, state)
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
