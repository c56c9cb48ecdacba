//! Learning that somebody committed.

use std::time::{Duration, Instant};

use scorpiox_executor::Cancel;

use super::StoreError;

/// Tells its owner that the workspace changed, so that what was read from it may be out of date. It does not say
/// what changed.
///
/// - A *change* is a commit of a transaction that changed something, whoever made it: this process through the same
///   or another [`Store`](crate::Store), another process, another machine.
/// - **None is missed.** What was committed after this value was made is told of, once for all changes since it was
///   told last. Both methods below count as telling when they return `true`.
/// - **It is true.** A transaction that begins after `true` sees that change.
/// - **It is late by a bounded time.** A change in the same process, or on the same machine, is told of by the next
///   question. One on another machine may take as long as a message between them.
/// - **It may be false.** `true` where nothing changed is allowed, but not for ever: without changes, `false` follows.
///
/// Transactions that rolled back, or only read, change nothing.
pub trait Changes: Send {
    /// Whether the workspace has changed. Does not wait; costs no more than an empty transaction.
    fn changed(&mut self) -> Result<bool, StoreError>;

    /// Waits until the workspace has changed, and whether it has: `false` after `at_most`, or soon after
    /// `cancel` is set. How much later than the change it returns is up to the implementation: at most a second.
    ///
    /// Who waits for something else, too, can set `cancel` for that, and wait again with a new one.
    fn wait(&mut self, at_most: Duration, cancel: &Cancel) -> Result<bool, StoreError>;
}

/// A [`Changes::wait`] for implementations that nobody tells of changes: asks `changed` now, each `interval` and at the
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
