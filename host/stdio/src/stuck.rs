//! A client that takes no answers any more.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use scorpiox_runtime::TICK;

/// A client that takes no byte of an answer for this long, and has closed the input, is
/// gone.
const STUCK_TIME: Duration = Duration::from_secs(1);

/// Notices a write that does not get on.
#[derive(Default)]
pub(super) struct StuckOutput {
    write: AtomicU64,
    since: AtomicU64,
}

impl StuckOutput {
    /// Whether the write under way has been the same for [`STUCK_TIME`].
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
