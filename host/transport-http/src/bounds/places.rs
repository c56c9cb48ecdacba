//! Limits on running calls and on the memory of request bodies.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Maximum number of running calls.
pub const MAX_RUNNING: usize = 64;
/// Maximum number of queued calls.
const MAX_WAITING: usize = 192;

/// Divisor for the share of each of several principals.
pub const PART: usize = 2;

/// Slots for calls. A call gets a slot before it gets a thread.
pub struct Places {
    taken: Mutex<Taken>,
    /// Maximum number of running and queued calls of one principal.
    most: [usize; 2],
}

#[derive(Default)]
struct Taken {
    running: usize,
    /// Queued calls in order of arrival. None of them is currently allowed to run: a freed slot goes to the
    /// first call that is.
    queue: VecDeque<Queued>,
    /// Number of the last queued call.
    last: u64,
    /// Number of running and queued calls of each principal that has any.
    of: BTreeMap<String, [usize; 2]>,
}

struct Queued {
    number: u64,
    principal: Arc<str>,
    turn: oneshot::Sender<Place>,
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

    fn run(&mut self, principal: &str) {
        self.running += 1;
        self.change(principal, |[running, _]| *running += 1);
    }

    /// Removes a call from the queue.
    fn unqueue(&mut self, at: Option<usize>) -> Option<Queued> {
        let queued = self.queue.remove(at?)?;
        self.change(&queued.principal, |[_, waiting]| *waiting -= 1);
        Some(queued)
    }
}

/// A slot, released on drop.
pub struct Place {
    places: Arc<Places>,
    principal: Arc<str>,
}

/// A queued call. Awaiting it yields a slot; dropping it leaves the queue.
pub struct Turn {
    places: Arc<Places>,
    number: u64,
    place: oneshot::Receiver<Place>,
}

/// Result of entering a call.
pub enum Entry {
    /// A slot is free.
    Place(Place),
    /// No slot is free, and the call is queued.
    Turn(Turn),
    /// The queue is full.
    Full,
}

impl Places {
    /// Creates the slots for one principal, or for several (`are_many`) that must not starve each other.
    pub fn new(are_many: bool) -> Arc<Self> {
        let part = if are_many { PART } else { 1 };
        Arc::new(Self { taken: Mutex::default(), most: [MAX_RUNNING / part, MAX_WAITING / part] })
    }

    /// Returns a slot if one is free. Otherwise queues the call, unless the queue is full. Calls never
    /// overtake queued ones.
    pub fn enter(self: &Arc<Self>, principal: &Arc<str>) -> Entry {
        let mut taken = self.taken.lock();
        if !self.is_full(&taken, principal) {
            taken.run(principal);
            return Entry::Place(Place { places: Arc::clone(self), principal: Arc::clone(principal) });
        }
        if taken.queue.len() >= MAX_WAITING || taken.of(principal)[1] >= self.most[1] {
            return Entry::Full;
        }
        taken.last += 1;
        taken.change(principal, |[_, waiting]| *waiting += 1);
        let (turn, place) = oneshot::channel();
        let number = taken.last;
        taken.queue.push_back(Queued { number, principal: Arc::clone(principal), turn });
        Entry::Turn(Turn { places: Arc::clone(self), number, place })
    }

    fn is_full(&self, taken: &Taken, principal: &str) -> bool {
        taken.running >= MAX_RUNNING || taken.of(principal)[0] >= self.most[0]
    }

    /// Returns the number of running and queued calls, in total and for each principal that has any.
    pub fn load(&self) -> ([usize; 2], BTreeMap<String, [usize; 2]>) {
        let taken = self.taken.lock();
        ([taken.running, taken.queue.len()], taken.of.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock();
        taken.running -= 1;
        taken.change(&self.principal, |[running, _]| *running -= 1);
        let next = taken.queue.iter().position(|queued| !self.places.is_full(&taken, &queued.principal));
        let Some(next) = taken.unqueue(next) else { return };
        taken.run(&next.principal);
        drop(taken);
        // If the receiver has been dropped, so is the slot, which then goes to the next call.
        let _ = next.turn.send(Place { places: Arc::clone(&self.places), principal: next.principal });
    }
}

impl Future for Turn {
    type Output = Place;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Place> {
        match Pin::new(&mut self.place).poll(context) {
            Poll::Ready(Ok(place)) => Poll::Ready(place),
            // The sender stays in the queue until it sends.
            Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock();
        let at = taken.queue.iter().position(|queued| queued.number == self.number);
        let left = taken.unqueue(at);
        drop(taken);
        drop(left);
    }
}

/// Maximum size of a small body in bytes. Small bodies have their own budget, so that slow large ones do not
/// block them.
const SMALL: usize = 64 * 1024;
/// Maximum total size of small bodies, and of large ones, in bytes.
const MAX_SMALL_BYTES: usize = 16 * 1024 * 1024;
const MAX_LARGE_BYTES: usize = 64 * 1024 * 1024;
/// Unit in which bytes are counted.
const UNIT: usize = 1024;

/// Memory budget for bodies.
pub struct Room {
    all: Bytes,
    /// Budget of each principal that uses any; `None` if there is only one principal.
    of: Option<Mutex<HashMap<String, Weak<Bytes>>>>,
}

/// Budgets for small and for large bodies.
struct Bytes {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

/// Budget of one body, released on drop.
pub struct Held {
    all: OwnedSemaphorePermit,
    part: Option<(OwnedSemaphorePermit, Arc<Bytes>)>,
}

impl Held {
    /// Reduces the budget to the actual size of the body, and releases the rest.
    #[must_use]
    pub fn shrunk(mut self, bytes: usize) -> Self {
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
    /// Creates the budget for one principal, or for several (`are_many`) that must not starve each other.
    pub fn new(are_many: bool) -> Self {
        Self { all: Bytes::new(1), of: are_many.then(Mutex::default) }
    }

    /// Waits for the budget of a body of at most `bytes` bytes.
    pub async fn take(&self, principal: &str, bytes: usize) -> Option<Held> {
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
    use std::time::Duration;

    use super::*;

    fn named(name: &str) -> Arc<str> {
        name.into()
    }

    fn place(places: &Arc<Places>, principal: &str) -> Option<Place> {
        match places.enter(&named(principal)) {
            Entry::Place(place) => Some(place),
            Entry::Turn(_) | Entry::Full => None,
        }
    }

    fn turn(places: &Arc<Places>, principal: &str) -> Option<Turn> {
        match places.enter(&named(principal)) {
            Entry::Turn(turn) => Some(turn),
            Entry::Place(_) | Entry::Full => None,
        }
    }

    async fn in_time(turn: Turn) -> Place {
        tokio::time::timeout(Duration::from_secs(10), turn).await.expect("a place, in time")
    }

    #[tokio::test]
    async fn so_many_run_so_many_wait_and_more_are_refused() {
        let places = Places::new(false);
        let mut running: Vec<_> = (0..MAX_RUNNING).map(|_| place(&places, "a").expect("a place")).collect();
        let waiting: Vec<_> = (0..MAX_WAITING).map(|_| turn(&places, "b").expect("a turn")).collect();
        assert!(matches!(places.enter(&named("a")), Entry::Full));
        running.pop();
        for turn in waiting {
            drop(in_time(turn).await);
        }
        assert!(place(&places, "a").is_some());
        drop(running);
        assert!(places.load().0 == [0, 0] && places.taken.lock().of.is_empty());
    }

    #[tokio::test]
    async fn one_of_several_principals_leaves_places_to_the_others() {
        let places = Places::new(true);
        let mut running: Vec<_> =
            (0..MAX_RUNNING / PART).map(|_| place(&places, "a").expect("a place")).collect();
        let waiting = turn(&places, "a").expect("a turn");
        assert!(place(&places, "b").is_some());
        running.pop();
        drop(in_time(waiting).await);
        running.clear();
        assert!(places.taken.lock().of.is_empty());
    }

    #[tokio::test]
    async fn whoever_leaves_the_queue_gives_the_turn_to_the_next() {
        let places = Places::new(false);
        let mut running: Vec<_> = (0..MAX_RUNNING).map(|_| place(&places, "a").expect("a place")).collect();
        let [first, second, third] = ["a", "b", "c"].map(|name| turn(&places, name).expect("a turn"));
        drop(first);
        assert_eq!(places.load().0, [MAX_RUNNING, 2]);
        // The call gets its slot and is dropped before it takes it.
        running.pop();
        assert_eq!(places.load().0, [MAX_RUNNING, 1]);
        drop(second);
        assert_eq!(places.load().0, [MAX_RUNNING, 0]);
        let last = in_time(third).await;
        drop((running, last));
        assert!(places.load().0 == [0, 0] && places.taken.lock().of.is_empty());
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
