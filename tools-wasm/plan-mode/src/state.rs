//! The single record of PlanMode.

use scorpiox_tool_kit::{Store, StoreError};
use serde::{Deserialize, Serialize};

const KEY: &str = "plan";

/// The active plan, or else the last one.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    pub active: bool,
    pub goal: String,
    pub plan_file: String,
    /// Start in milliseconds since 1970; 0 if there was never a plan.
    pub started_at: u64,
}

pub(crate) fn load(store: &mut impl Store) -> Result<State, StoreError> {
    Ok(store.record(KEY)?.unwrap_or_default())
}

pub(crate) fn save(store: &mut impl Store, state: &State) -> Result<(), StoreError> {
    store.set_record(KEY, state)
}

pub(crate) fn clear(store: &mut impl Store) -> Result<(), StoreError> {
    store.delete(KEY)
}
