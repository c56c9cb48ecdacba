//! What is stored, and under which keys.
//!
//! | key | value |
//! | --- | --- |
//! | `meta` | [`Meta`]: the current task and the counters |
//! | `t/o/<task>`, `t/d/<task>` | [`Task`], open or completed |
//! | `s/o/<task>/<step>`, `s/d/<task>/<step>` | a step (see `steps`), open or done by itself |
//! | `i/<step>` | the id of the step's task |
//! | `n/<name>\t<task>` | empty: the task's name, folded (see `words`) |
//! | `w/<word>/n/<task>`, `w/<word>/s/<task>` | empty: the word is in the task's name, or only in its steps |
//!
//! Ids are padded, so key order is id order. Where a record lies says whether it is
//! open, so listing what is open never reads what is done. Nothing is ever deleted,
//! so the last task id is the number of tasks.

use scorpiox_tool_kit::{Failure, Store, StoreError, store};
use serde::{Deserialize, Serialize};

const META_KEY: &str = "meta";

/// A task's id: 1, 2, 3 …
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct TaskId(pub u32);

/// A step's id, counted through all tasks of the workspace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct StepId(pub u32);

/// Whether a record counts as still to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Done,
}

impl State {
    pub(crate) const BOTH: [Self; 2] = [Self::Open, Self::Done];

    pub(crate) fn letter(self) -> char {
        match self {
            Self::Open => 'o',
            Self::Done => 'd',
        }
    }
}

/// What an action looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    All,
    Open,
}

impl Scope {
    /// The states that it includes.
    pub(crate) fn states(self) -> &'static [State] {
        match self {
            Self::All => &State::BOTH,
            Self::Open => &[State::Open],
        }
    }

    /// The action that shows it.
    pub(crate) fn action(self) -> &'static str {
        match self {
            Self::All => "list",
            Self::Open => "pending",
        }
    }
}

/// An id as it stands in keys. Ten digits hold every `u32`, and `u32::MAX + 1`.
pub(crate) fn padded(id: u64) -> String {
    format!("{id:010}")
}

/// The id at the end of a key; a key without one is damage.
pub(crate) fn id_in_key(key: &str) -> Result<u32, StoreError> {
    let digits = key.rsplit(['/', '\t']).next().unwrap_or_default();
    digits.parse().map_err(|_| StoreError::Unavailable(format!("the key {key:?} is damaged")))
}

/// The current task and the counters.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(crate) struct Meta {
    /// Absent only while there are no tasks.
    #[serde(rename = "c")]
    pub current: Option<TaskId>,
    /// Last id given to a task, and so the number of tasks.
    #[serde(rename = "t")]
    pub tasks: u32,
    /// Last id given to a step, and so the number of steps.
    #[serde(rename = "s")]
    pub steps: u32,
    /// Tasks that are not completed.
    #[serde(rename = "o")]
    pub open: u32,
}

impl Meta {
    pub(crate) fn load(store: &mut impl Store) -> Result<Self, StoreError> {
        Ok(store.record(META_KEY)?.unwrap_or_default())
    }

    pub(crate) fn save(&self, store: &mut impl Store) -> Result<(), StoreError> {
        store.set_record(META_KEY, self)
    }
}

/// A task without its steps; lists need nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Stands in the key.
    #[serde(skip)]
    pub id: TaskId,
    #[serde(rename = "n")]
    pub name: String,
    #[serde(rename = "s", default)]
    pub steps_total: u32,
    #[serde(rename = "d", default)]
    pub steps_done: u32,
    /// The task's steps up to this id are done because the task was completed when
    /// they existed; so completing a task rewrites no step, and reopening it by a
    /// new step leaves the earlier ones done.
    #[serde(rename = "u", default)]
    pub done_through: StepId,
    /// When it was completed, in milliseconds since 1970; absent while it is open.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<u64>,
}

impl Task {
    pub(crate) fn new(id: TaskId, name: String) -> Self {
        Self { id, name, steps_total: 0, steps_done: 0, done_through: StepId(0), completed: None }
    }

    pub(crate) fn state(&self) -> State {
        if self.completed.is_some() { State::Done } else { State::Open }
    }

    /// The task with this id, if it exists.
    pub(crate) fn load(store: &mut impl Store, id: TaskId) -> Result<Option<Self>, StoreError> {
        for state in State::BOTH {
            let key = task_key(id, state);
            if let Some(bytes) = store.get(&key)? {
                return Self::decode(&key, &bytes).map(Some);
            }
        }
        Ok(None)
    }

    /// The task with the id that the caller gave.
    pub(crate) fn find(store: &mut impl Store, number: i64) -> Result<Self, Failure> {
        let id = u32::try_from(number).ok().map(TaskId);
        let task = id.map_or(Ok(None), |id| Self::load(store, id))?;
        task.ok_or_else(|| {
            Failure::NotFound(format!("Task {number} does not exist; list shows the tasks that do."))
        })
    }

    /// A task that other records say exists.
    pub(crate) fn known(store: &mut impl Store, id: TaskId) -> Result<Self, StoreError> {
        let lost = || StoreError::Unavailable(format!("the record of task {} is missing", id.0));
        Self::load(store, id)?.ok_or_else(lost)
    }

    pub(crate) fn decode(key: &str, bytes: &[u8]) -> Result<Self, StoreError> {
        let id = TaskId(id_in_key(key)?);
        Ok(Self { id, ..store::decode(key, bytes)? })
    }

    /// Puts the record where its state says.
    pub(crate) fn save(&self, store: &mut impl Store) -> Result<(), StoreError> {
        store.set_record(&task_key(self.id, self.state()), self)
    }

    /// Takes the record away from where `state` had it, before it is saved in another.
    pub(crate) fn leave(&self, store: &mut impl Store, state: State) -> Result<(), StoreError> {
        store.delete(&task_key(self.id, state))
    }
}

/// What the keys of tasks in `state` begin with.
pub(crate) fn tasks_prefix(state: State) -> String {
    format!("t/{}/", state.letter())
}

fn task_key(id: TaskId, state: State) -> String {
    format!("t/{}/{:010}", state.letter(), id.0)
}
