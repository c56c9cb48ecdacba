//! How much is done at once: calls that run, and bytes of bodies that are held.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use parking_lot::{Condvar, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Calls that run at once.
const MAX_RUNNING: usize = 64;
/// Calls that wait for one that runs to end.
const MAX_WAITING: usize = 192;

/// Of several principals none has more than this part of anything.
pub(crate) const PART: usize = 2;

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

    /// A place that is free.
    pub(crate) fn try_enter<'a>(&'a self, principal: &'a str) -> Option<Place<'a>> {
        let mut taken = self.taken.lock();
        // Nobody overtakes those who wait.
        let is_free = taken.waiting == 0 && !self.is_full(&taken, principal);
        is_free.then(|| self.take(&mut taken, principal))
    }

    fn is_full(&self, taken: &Taken, principal: &str) -> bool {
        taken.running >= MAX_RUNNING || taken.of(principal)[0] >= self.most[0]
    }

    fn take<'a>(&'a self, taken: &mut Taken, principal: &'a str) -> Place<'a> {
        taken.running += 1;
        taken.change(principal, |[running, _]| *running += 1);
        Place { places: self, principal }
    }

    /// How many calls run, and how many wait: of all, and of each principal that has some.
    pub(crate) fn load(&self) -> ([usize; 2], BTreeMap<String, [usize; 2]>) {
        let taken = self.taken.lock();
        ([taken.running, taken.waiting], taken.of.clone())
    }

    /// Waits for a place; none where too many wait already.
    pub(crate) fn enter<'a>(&'a self, principal: &'a str) -> Option<Place<'a>> {
        let mut taken = self.taken.lock();
        if self.is_full(&taken, principal) {
            if taken.waiting >= MAX_WAITING || taken.of(principal)[1] >= self.most[1] {
                return None;
            }
            taken.waiting += 1;
            taken.change(principal, |[_, waiting]| *waiting += 1);
            while self.is_full(&taken, principal) {
                self.freed.wait(&mut taken);
            }
            taken.waiting -= 1;
            taken.change(principal, |[_, waiting]| *waiting -= 1);
        }
        Some(self.take(&mut taken, principal))
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
    all: Bytes,
    /// What each principal may have of it that has some; none where there is one alone.
    of: Option<Mutex<HashMap<String, Weak<Bytes>>>>,
}

/// Room for small bodies and for large ones.
struct Bytes {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

/// Room that a body has, until it is dropped.
pub(crate) struct Held {
    all: OwnedSemaphorePermit,
    part: Option<(OwnedSemaphorePermit, Arc<Bytes>)>,
}

impl Held {
    /// What a body takes that is smaller than it could have been; the rest is free again.
    pub(crate) fn shrunk(mut self, bytes: usize) -> Self {
        let shrink = |room: &mut OwnedSemaphorePermit| {
            drop(room.split(room.num_permits().saturating_sub(bytes.div_ceil(UNIT))));
        };
        shrink(&mut self.all);
        self.part.iter_mut().for_each(|(part, _)| shrink(part));
        self
    }
}

impl Bytes {
    fn new(part: usize) -> Self {
        let of = |bytes: usize| Arc::new(Semaphore::new(bytes / UNIT / part));
        Self { small: of(MAX_SMALL_BYTES), large: of(MAX_LARGE_BYTES) }
    }

    async fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let room = if bytes <= SMALL { &self.small } else { &self.large };
        let units = u32::try_from(bytes.div_ceil(UNIT)).ok()?;
        Arc::clone(room).acquire_many_owned(units).await.ok()
    }
}

impl Room {
    /// For one principal, or for several of whom none is to keep the others out.
    pub(crate) fn new(are_many: bool) -> Self {
        Self { all: Bytes::new(1), of: are_many.then(Mutex::default) }
    }

    /// Waits for room for a body of at most so many bytes.
    pub(crate) async fn take(&self, principal: &str, bytes: usize) -> Option<Held> {
        let part = match self.part_of(principal) {
            None => None,
            Some(part) => Some((part.take(bytes).await?, part)),
        };
        Some(Held { all: self.all.take(bytes).await?, part })
    }

    fn part_of(&self, principal: &str) -> Option<Arc<Bytes>> {
        let mut of = self.of.as_ref()?.lock();
        if let Some(part) = of.get(principal).and_then(Weak::upgrade) {
            return Some(part);
        }
        of.retain(|_, part| part.strong_count() > 0);
        let part = Arc::new(Bytes::new(PART));
        of.insert(principal.to_owned(), Arc::downgrade(&part));
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

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
            assert!(places.enter("a").is_none() && places.try_enter("a").is_none());
            running.pop();
        });
        assert!(places.try_enter("a").is_some());
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

    #[tokio::test]
    async fn one_of_several_principals_leaves_room_to_the_others() {
        let room = Room::new(true);
        let half = room.take("a", MAX_LARGE_BYTES / PART).await.expect("room");
        let more = tokio::time::timeout(Duration::from_millis(50), room.take("a", SMALL + 1)).await;
        assert!(more.is_err(), "it has its part");
        assert!(room.take("b", MAX_LARGE_BYTES / PART).await.is_some());
        let half = half.shrunk(UNIT);
        assert!(room.take("a", SMALL + 1).await.is_some());
        drop(half);
        room.take("c", 1).await.expect("room");
        let known = room.of.as_ref().map(|of| of.lock().len());
        assert_eq!(known, Some(1), "those without any are forgotten");
    }
}
