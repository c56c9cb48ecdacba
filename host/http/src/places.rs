//! How much is done at once: calls that run, and bytes of bodies that are held.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Calls that run at once.
const MAX_RUNNING: usize = 64;
/// Calls that wait for one that runs to end.
const MAX_WAITING: usize = 192;

/// Of several principals none has more than this part of either.
const PART: usize = 2;

/// Places for calls.
pub(crate) struct Places {
    taken: Mutex<Taken>,
    freed: Condvar,
    /// Most that one principal has, running and waiting.
    most: [usize; 2],
}

#[derive(Default)]
struct Taken {
    running: usize,
    waiting: usize,
    /// How many run and wait for each principal that has some.
    of: BTreeMap<String, [usize; 2]>,
}

impl Taken {
    fn of(&self, principal: &str) -> [usize; 2] {
        self.of.get(principal).copied().unwrap_or_default()
    }

    fn change(&mut self, principal: &str, change: impl FnOnce(&mut [usize; 2])) {
        let counts = self.of.entry(principal.to_owned()).or_default();
        change(counts);
        if *counts == [0, 0] {
            self.of.remove(principal);
        }
    }
}

/// A place, until it is dropped.
pub(crate) struct Place<'a> {
    places: &'a Places,
    principal: &'a str,
}

impl Places {
    /// For one principal, or for several of whom none is to keep the others out.
    pub(crate) fn new(are_many: bool) -> Self {
        let part = if are_many { PART } else { 1 };
        Self {
            taken: Mutex::default(),
            freed: Condvar::new(),
            most: [MAX_RUNNING / part, MAX_WAITING / part],
        }
    }

    /// Waits for a place; none where too many wait already.
    pub(crate) fn enter<'a>(&'a self, principal: &'a str) -> Option<Place<'a>> {
        let [most_running, most_waiting] = self.most;
        let is_full = |taken: &Taken| taken.running >= MAX_RUNNING || taken.of(principal)[0] >= most_running;
        let mut taken = self.taken.lock();
        if is_full(&taken) {
            if taken.waiting >= MAX_WAITING || taken.of(principal)[1] >= most_waiting {
                return None;
            }
            taken.waiting += 1;
            taken.change(principal, |[_, waiting]| *waiting += 1);
            while is_full(&taken) {
                self.freed.wait(&mut taken);
            }
            taken.waiting -= 1;
            taken.change(principal, |[_, waiting]| *waiting -= 1);
        }
        taken.running += 1;
        taken.change(principal, |[running, _]| *running += 1);
        Some(Place { places: self, principal })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock();
        taken.running -= 1;
        taken.change(self.principal, |[running, _]| *running -= 1);
        drop(taken);
        // Not each that waits may have this one.
        self.places.freed.notify_all();
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

    /// The room that a body takes which is smaller than it could have been; the rest is free again.
    pub(crate) fn shrunk(mut room: OwnedSemaphorePermit, bytes: usize) -> OwnedSemaphorePermit {
        drop(room.split(room.num_permits().saturating_sub(bytes.div_ceil(UNIT))));
        room
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
        let places = Places::new(false);
        let mut running: Vec<_> = (0..MAX_RUNNING).map(|_| places.enter("a").expect("a place")).collect();
        thread::scope(|scope| {
            for _ in 0..MAX_WAITING {
                scope.spawn(|| drop(places.enter("b").expect("a place, in time")));
            }
            while places.taken.lock().waiting < MAX_WAITING {
                thread::yield_now();
            }
            assert!(places.enter("a").is_none());
            running.pop();
        });
        assert!(places.enter("a").is_some());
    }

    #[test]
    fn one_of_several_principals_leaves_places_to_the_others() {
        let places = Places::new(true);
        let mut running: Vec<_> =
            (0..MAX_RUNNING / PART).map(|_| places.enter("a").expect("a place")).collect();
        thread::scope(|scope| {
            scope.spawn(|| drop(places.enter("a").expect("a place, in time")));
            while places.taken.lock().waiting < 1 {
                thread::yield_now();
            }
            assert!(places.enter("b").is_some());
            running.pop();
        });
        running.clear();
        assert!(places.taken.lock().of.is_empty());
    }
}
