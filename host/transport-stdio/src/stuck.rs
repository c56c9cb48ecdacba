//! Detection of a client that stopped reading answers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use scorpiox_runtime::TICK;

/// A client that has closed the input and reads no byte of an answer for this long counts as disconnected.
const STUCK_TIME: Duration = Duration::from_secs(1);

/// Detects a write that makes no progress.
#[derive(Default)]
pub(super) struct StuckOutput {
    write: AtomicU64,
    since: AtomicU64,
}

impl StuckOutput {
    /// Returns `true` if the same write has been in progress for [`STUCK_TIME`].
    pub(super) fn is_stuck(&self, write: Option<u64>, tick: u64) -> bool {
        let write = write.unwrap_or(0);
        if write == 0 || self.write.swap(write, Ordering::Relaxed) != write {
            self.since.store(tick, Ordering::Relaxed);
            return false;
        }
        let ticks = tick - self.since.load(Ordering::Relaxed);
        TICK.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX)) >= STUCK_TIME
    }
}
