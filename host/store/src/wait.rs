//! Waiting for another writer to end.

use std::time::{Duration, Instant};

use scorpiox_executor::Cancel;

use super::StoreError;

/// How long a call waits for other writers before it gives up.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Between two tries to become the writer. Transactions are short, so the first tries come fast.
const WAITS_MS: [u64; 6] = [1, 1, 2, 5, 10, 25];

/// Repeats `attempt` while it fails with a conflict, as [`Store::begin`](crate::Store::begin) says.
pub(crate) fn retry_while_locked<T>(
    cancel: &Cancel,
    on_wait: &mut dyn FnMut(),
    mut attempt: impl FnMut() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let start = Instant::now();
    for tries in 0.. {
        match attempt() {
            Err(StoreError::Conflict) => {}
            other => return other,
        }
        if cancel.is_set() {
            return Err(StoreError::Cancelled);
        }
        if start.elapsed() > MAX_WAIT {
            break;
        }
        if tries == WAITS_MS.len() {
            on_wait();
        }
        let wait = WAITS_MS[tries.min(WAITS_MS.len() - 1)];
        std::thread::sleep(Duration::from_millis(wait));
    }
    Err(StoreError::Busy(MAX_WAIT.as_secs()))
}
