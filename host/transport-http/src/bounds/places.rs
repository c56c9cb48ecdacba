//! Limits on running calls.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tokio::sync::oneshot;

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
}
