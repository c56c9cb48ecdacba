//! The one record that PlanMode keeps.

use scorpiox_tool_kit::{Store, StoreError};
use serde::{Deserialize, Serialize};

const KEY: &str = "plan";

/// The plan that is active or was last.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    pub active: bool,
    pub goal: String,
    pub plan_file: String,
    /// Milliseconds since 1970; 0 when there never was a plan.
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
