//! Waiting for another writer to end: of this process in a queue, of another by trying again.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::lock_api::ArcMutexGuard;
use parking_lot::{Mutex, RawMutex};
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

/// How long a writer stays in the queue before it looks whether its call was cancelled.
const TURN: Duration = Duration::from_millis(25);

/// Who of this process writes. Those who wait get it in their order, while who only tries again can be
/// overtaken until it gives up.
#[derive(Debug, Default)]
pub(crate) struct Writers(Arc<Mutex<()>>);

/// The right to write, before all others of this process.
pub(crate) struct Turn(#[allow(dead_code)] ArcMutexGuard<RawMutex, ()>);

impl Debug for Turn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Turn")
    }
}

impl Writers {
    /// Waits for a turn, as [`Store::begin`](crate::Store::begin) says.
    pub(crate) fn turn(&self, cancel: &Cancel, on_wait: &mut dyn FnMut()) -> Result<Turn, StoreError> {
        let start = Instant::now();
        for tries in 0.. {
            if let Some(turn) = self.0.try_lock_arc_for(TURN) {
                return Ok(Turn(turn));
            }
            if cancel.is_set() {
                return Err(StoreError::Cancelled);
            }
            if start.elapsed() > MAX_WAIT {
                break;
            }
            if tries == 1 {
                on_wait();
            }
        }
        Err(StoreError::Busy(MAX_WAIT.as_secs()))
    }

    /// A turn, if nobody has it.
    pub(crate) fn try_turn(&self) -> Option<Turn> {
        self.0.try_lock_arc().map(Turn)
    }
}
