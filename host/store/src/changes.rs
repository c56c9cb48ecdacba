//! Change notification.

use std::time::{Duration, Instant};

use scorpiox_executor::Cancel;

use super::StoreError;

/// Reports that the workspace has changed, so that data read earlier may be outdated. It does not report what
/// has changed.
///
/// - A *change* is a commit of a transaction that changed something, from any source: this process through
///   the same or another [`Store`](crate::Store), another process, or another machine.
/// - **No change is missed.** Commits after the creation of this value are reported, once for all changes
///   since the last report. Both methods below report by returning `true`.
/// - **Reports are reliable.** A transaction that begins after `true` sees the change.
/// - **The delay is bounded.** A change in the same process or on the same machine is reported by the next
///   query. A change on another machine may take as long as a message between the machines.
/// - **False positives are possible.** `true` without a change is permitted, but not indefinitely: without
///   changes, `false` follows.
///
/// Rolled-back and read-only transactions change nothing.
pub trait Changes: Send {
    /// Returns `true` if the workspace has changed. Does not wait; costs no more than an empty transaction.
    fn changed(&mut self) -> Result<bool, StoreError>;

    /// Waits for a change. Returns `true` after a change, and `false` after `at_most` or soon after `cancel`
    /// is set. The delay after a change depends on the implementation and is at most one second.
    ///
    /// To wait for another event too, set `cancel` when it occurs, and wait again with a new one.
    fn wait(&mut self, at_most: Duration, cancel: &Cancel) -> Result<bool, StoreError>;
}

/// Implements [`Changes::wait`] by polling: calls `changed` immediately, after each `interval`, and at the
/// end.
pub fn poll_every(
    interval: Duration,
    at_most: Duration,
    cancel: &Cancel,
    mut changed: impl FnMut() -> Result<bool, StoreError>,
) -> Result<bool, StoreError> {
    let start = Instant::now();
    loop {
        if changed()? {
            return Ok(true);
        }
        let left = at_most.saturating_sub(start.elapsed());
        if left.is_zero() || cancel.is_set() {
            return Ok(false);
        }
        cancel.wait(left.min(interval));
    }
}
