//! Records of the slots.

use scorpiox_tool_kit::{Order, Store, StoreError, store};
use serde::{Deserialize, Serialize};

const PREFIX: &str = "slot/";

/// An active callback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slot {
    pub message: String,
    pub delay_seconds: u32,
    pub left: Left,
    /// Next due time, in milliseconds since 1970.
    pub due: u64,
}

/// Number of remaining fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Left {
    Times(u32),
    ForEver,
}

impl Slot {
    pub(crate) fn delay_millis(&self) -> u64 {
        u64::from(self.delay_seconds) * 1000
    }
}

impl Left {
    pub(crate) fn after_a_fire(self) -> Self {
        match self {
            Self::Times(times) => Self::Times(times.saturating_sub(1)),
            Self::ForEver => Self::ForEver,
        }
    }
}

fn key(id: u32) -> String {
    format!("{PREFIX}{id}")
}

pub(crate) fn load(host: &mut impl Store, id: u32) -> Result<Option<Slot>, StoreError> {
    host.record(&key(id))
}

pub(crate) fn save(host: &mut impl Store, id: u32, slot: &Slot) -> Result<(), StoreError> {
    host.set_record(&key(id), slot)
}

pub(crate) fn delete(host: &mut impl Store, id: u32) -> Result<(), StoreError> {
    host.delete(&key(id))
}

/// Returns the slots in use, by number.
pub(crate) fn all(host: &mut impl Store) -> Result<Vec<(u32, Slot)>, StoreError> {
    let entries = host.scan(PREFIX, None, crate::SLOTS, Order::Ascending)?;
    let slot = |entry: store::Entry| {
        let id = entry.key[PREFIX.len()..].parse().unwrap_or(crate::SLOTS);
        store::decode(&entry.key, &entry.value).map(|slot| (id, slot))
    };
    entries.into_iter().map(slot).collect()
}
