//! What one call may use.

use std::time::Duration;

use wasmtime::ResourceLimiter;

/// The budget of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Time that the guest itself runs; time spent in capabilities is bounded there.
    pub cpu: Duration,
    /// Linear memory, over all memories.
    pub memory_bytes: usize,
    /// Text and data in the result.
    pub output_bytes: usize,
    /// The tool's data in the store.
    pub store_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cpu: Duration::from_secs(5),
            memory_bytes: 64 * 1024 * 1024,
            output_bytes: 1024 * 1024,
            store_bytes: 4 * 1024 * 1024 * 1024,
        }
    }
}

/// Most core instances, memories and tables of a component; an ordinary one has three
/// instances (the guest and two adapters), a memory and two tables.
const MAX_INSTANCES: usize = 32;
const MAX_MEMORIES: usize = 8;
const MAX_TABLES: usize = 32;
const MAX_TABLE_ELEMENTS: usize = 100_000;

/// Counts what a call takes, and refuses what is over its budget.
#[derive(Debug)]
pub(crate) struct Meter {
    memory_left: usize,
    /// Whether the guest was refused memory: the likely reason for its trap.
    pub(crate) memory_refused: bool,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { memory_left: limits.memory_bytes, memory_refused: false }
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _max: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current);
        self.memory_refused |= more > self.memory_left;
        if more > self.memory_left {
            return Ok(false);
        }
        self.memory_left -= more;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _max: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= MAX_TABLE_ELEMENTS)
    }

    fn instances(&self) -> usize {
        MAX_INSTANCES
    }

    fn memories(&self) -> usize {
        MAX_MEMORIES
    }

    fn tables(&self) -> usize {
        MAX_TABLES
    }
}
