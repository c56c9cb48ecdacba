//! How much is done at once: calls that run, and bytes of bodies that are held.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Calls that run at once.
const MAX_RUNNING: usize = 64;
/// Calls that wait for one that runs to end.
const MAX_WAITING: usize = 192;

/// Places for calls.
#[derive(Default)]
pub(crate) struct Places {
    taken: Mutex<Taken>,
    freed: Condvar,
}

#[derive(Default)]
struct Taken {
    running: usize,
    waiting: usize,
}

/// A place, until it is dropped.
pub(crate) struct Place<'a>(&'a Places);

impl Places {
    /// Waits for a place; none where too many wait already.
    pub(crate) fn enter(&self) -> Option<Place<'_>> {
        let mut taken = self.taken.lock();
        if taken.running >= MAX_RUNNING {
            if taken.waiting >= MAX_WAITING {
                return None;
            }
            taken.waiting += 1;
            while taken.running >= MAX_RUNNING {
                self.freed.wait(&mut taken);
            }
            taken.waiting -= 1;
        }
        taken.running += 1;
        Some(Place(self))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.taken.lock().running -= 1;
        self.0.freed.notify_one();
    }
}

/// What counts as one of the small bodies, in bytes: large ones that come slowly do not keep them out.
const SMALL: usize = 64 * 1024;
/// Bytes of small bodies, and of large ones, that are held at once.
const MAX_SMALL_BYTES: usize = 16 * 1024 * 1024;
const MAX_LARGE_BYTES: usize = 64 * 1024 * 1024;
/// Bytes are counted in units of this size.
const UNIT: usize = 1024;

/// Room for bodies.
pub(crate) struct Room {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

impl Room {
    pub(crate) fn new() -> Self {
        let of = |bytes: usize| Arc::new(Semaphore::new(bytes / UNIT));
        Self { small: of(MAX_SMALL_BYTES), large: of(MAX_LARGE_BYTES) }
    }

    /// Waits for room for a body of at most so many bytes, which holds it until it is dropped.
    pub(crate) async fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let room = if bytes <= SMALL { &self.small } else { &self.large };
        let units = u32::try_from(bytes.div_ceil(UNIT)).ok()?;
        Arc::clone(room).acquire_many_owned(units).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn calls_beyond_the_bounds_wait_and_then_are_refused() {
        let places = Places::default();
        let mut running: Vec<_> = (0..MAX_RUNNING).map(|_| places.enter().expect("a place")).collect();
        thread::scope(|scope| {
            for _ in 0..MAX_WAITING {
                scope.spawn(|| drop(places.enter().expect("a place, in time")));
            }
            while places.taken.lock().waiting < MAX_WAITING {
                thread::yield_now();
            }
            assert!(places.enter().is_none());
            running.pop();
        });
        assert!(places.enter().is_some());
    }
}
