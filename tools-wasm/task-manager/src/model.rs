//! Stored records and their keys.
//!
//! | key | value |
//! | --- | --- |
//! | `meta` | [`Meta`]: the current task and the counters |
//! | `t/o/<task>`, `t/d/<task>` | [`Task`], open or completed |
//! | `s/o/<task>/<step>`, `s/d/<task>/<step>` | a step (see `steps`), open or individually done |
//! | `i/<step>` | the ID of the step's task |
//! | `n/<name>\t<task>` | empty: the task's folded name (see `words`) |
//! | `w/<word>/n/<task>`, `w/<word>/s/<task>` | empty: the word is in the task's name, or only in its steps |
//!
//! IDs are padded, so the order of keys is the order of IDs. The key shows if a record is open, so listing
//! open records never reads done ones. IDs are never reused.
//!
//! A step that `reopen` opened is stored under `s/r/<task>/<step>`, where `done_through` does not apply.

use scorpiox_tool_kit::{Failure, Store, StoreError, store};
use serde::{Deserialize, Serialize};

const META_KEY: &str = "meta";

/// ID of a task: 1, 2, 3 …
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct TaskId(pub u32);

/// ID of a step, unique among all tasks of the workspace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct StepId(pub u32);

/// State of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Done,
    /// A step that is open again after it was done. Tasks are never in this state.
    Reopened,
}

impl State {
    /// States of tasks.
    pub(crate) const OF_TASKS: [Self; 2] = [Self::Open, Self::Done];
    /// States of steps.
    pub(crate) const OF_STEPS: [Self; 3] = [Self::Open, Self::Done, Self::Reopened];

    pub(crate) fn letter(self) -> char {
        match self {
            Self::Open => 'o',
            Self::Done => 'd',
            Self::Reopened => 'r',
        }
    }
}

/// Tasks that an action covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    All,
    Open,
}

impl Scope {
    /// Returns the states of the tasks in the scope.
    pub(crate) fn states(self) -> &'static [State] {
        match self {
            Self::All => &State::OF_TASKS,
            Self::Open => &[State::Open],
        }
    }

    /// Returns the action that lists the scope.
    pub(crate) fn action(self) -> &'static str {
        match self {
            Self::All => "list",
            Self::Open => "pending",
        }
    }
}

/// Formats an ID for keys. Ten digits are sufficient for every `u32`, and for `u32::MAX + 1`.
pub(crate) fn padded(id: u64) -> String {
    format!("{id:010}")
}

/// Returns the ID at the end of a key. A key without an ID is damaged.
pub(crate) fn id_in_key(key: &str) -> Result<u32, StoreError> {
    let digits = key.rsplit(['/', '\t']).next().unwrap_or_default();
    digits.parse().map_err(|_| StoreError::Unavailable(format!("the key {key:?} is damaged")))
}

/// The current task and the counters.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(crate) struct Meta {
    /// An open task; `None` if the current task was completed or deleted.
    #[serde(rename = "c")]
    pub current: Option<TaskId>,
    /// Last ID of a task.
    #[serde(rename = "t")]
    pub tasks: u32,
    /// Last ID of a step.
    #[serde(rename = "s")]
    pub steps: u32,
    /// Number of open tasks.
    #[serde(rename = "o")]
    pub open: u32,
    /// Number of deleted tasks.
    #[serde(rename = "x", default, skip_serializing_if = "is_zero")]
    pub deleted: u32,
}

impl Meta {
    pub(crate) fn load(store: &mut impl Store) -> Result<Self, StoreError> {
        Ok(store.record(META_KEY)?.unwrap_or_default())
    }

    pub(crate) fn save(&self, store: &mut impl Store) -> Result<(), StoreError> {
        store.set_record(META_KEY, self)
    }

    /// Returns the number of existing tasks.
    pub(crate) fn count(&self) -> u32 {
        self.tasks - self.deleted
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A task without its steps, which is sufficient for lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Stored in the key.
    #[serde(skip)]
    pub id: TaskId,
    #[serde(rename = "n")]
    pub name: String,
    #[serde(rename = "s", default)]
    pub steps_total: u32,
    #[serde(rename = "d", default)]
    pub steps_done: u32,
    /// Steps up to this ID are done because they existed when the task was completed. Completing a task
    /// therefore rewrites no steps, and if a new step reopens the task, the earlier steps stay done.
    #[serde(rename = "u", default)]
    pub done_through: StepId,
    /// Number of reopened steps, whose records are [`State::Reopened`].
    #[serde(rename = "r", default, skip_serializing_if = "is_zero")]
    pub reopened: u32,
    /// Time of completion, in milliseconds since 1970; `None` while the task is open.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<u64>,
}

impl Task {
    pub(crate) fn new(id: TaskId, name: String) -> Self {
        Self {
            id,
            name,
            steps_total: 0,
            steps_done: 0,
            done_through: StepId(0),
            reopened: 0,
            completed: None,
        }
    }

    pub(crate) fn state(&self) -> State {
        if self.completed.is_some() { State::Done } else { State::Open }
    }

    /// Returns `true` for the task that `add` uses by default. A store of an older version may name a
    /// completed task.
    pub(crate) fn is_current(&self, meta: &Meta) -> bool {
        meta.current == Some(self.id) && self.completed.is_none()
    }

    /// Returns the task with this ID, if it exists.
    pub(crate) fn load(store: &mut impl Store, id: TaskId) -> Result<Option<Self>, StoreError> {
        for state in State::OF_TASKS {
            let key = task_key(id, state);
            if let Some(bytes) = store.get(&key)? {
                return Self::decode(&key, &bytes).map(Some);
            }
        }
        Ok(None)
    }

    /// Returns the task with the caller's ID.
    pub(crate) fn find(store: &mut impl Store, number: i64) -> Result<Self, Failure> {
        let id = u32::try_from(number).ok().map(TaskId);
        let task = id.map_or(Ok(None), |id| Self::load(store, id))?;
        task.ok_or_else(|| {
            Failure::NotFound(format!("Task {number} does not exist; list shows the tasks that do."))
        })
    }

    /// Returns a task to which another record refers.
    pub(crate) fn known(store: &mut impl Store, id: TaskId) -> Result<Self, StoreError> {
        let lost = || StoreError::Unavailable(format!("the record of task {} is missing", id.0));
        Self::load(store, id)?.ok_or_else(lost)
    }

    pub(crate) fn decode(key: &str, bytes: &[u8]) -> Result<Self, StoreError> {
        let id = TaskId(id_in_key(key)?);
        Ok(Self { id, ..store::decode(key, bytes)? })
    }

    /// Saves the record under the key of its state.
    pub(crate) fn save(&self, store: &mut impl Store) -> Result<(), StoreError> {
        store.set_record(&task_key(self.id, self.state()), self)
    }

    /// Removes the record from the key of `state`, before it is saved in another state.
    pub(crate) fn leave(&self, store: &mut impl Store, state: State) -> Result<(), StoreError> {
        store.delete(&task_key(self.id, state))
    }
}

/// Returns the key prefix of tasks in `state`.
pub(crate) fn tasks_prefix(state: State) -> String {
    format!("t/{}/", state.letter())
}

fn task_key(id: TaskId, state: State) -> String {
    format!("t/{}/{:010}", state.letter(), id.0)
}
