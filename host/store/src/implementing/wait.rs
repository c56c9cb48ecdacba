//! Waiting for another writer to end: of this process in a queue, of another by trying again.

use std::collections::VecDeque;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use scorpiox_executor::{Cancel, threads};

use crate::StoreError;

/// How long a call waits for other writers before it gives up.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Between two tries to become the writer. Transactions are short, so the first tries come fast.
const WAITS_MS: [u64; 6] = [1, 1, 2, 5, 10, 25];

/// Repeats `attempt` while it fails with a conflict, as [`Store::begin`](crate::Store::begin) says.
///
/// # Errors
///
/// [`StoreError::Cancelled`] and [`StoreError::Busy`] while it waits; others are those of the attempt.
pub fn retry_while_locked<T>(
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
        threads::wait(|| std::thread::sleep(Duration::from_millis(wait)));
    }
    Err(StoreError::Busy(MAX_WAIT.as_secs()))
}

/// How long a writer waits before it looks whether its call was cancelled. It keeps its place.
const LOOK: Duration = Duration::from_millis(25);

/// After this wait the first in the queue is next, whoever else comes. Before, who comes at the right moment is faster
/// than waking somebody.
const PATIENCE: Duration = Duration::from_millis(5);

/// Who of this process writes. Those who wait get it in their order, while who only tries again can be
/// overtaken until it gives up.
#[derive(Default)]
pub struct Writers(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    is_taken: bool,
    /// Who waits, the first in front.
    waiting: VecDeque<Arc<Waiter>>,
}

struct Waiter {
    since: Instant,
    /// It was given the turn, and is in the queue no more.
    is_next: AtomicBool,
    woken: Condvar,
}

/// The right to write, before all others of this process.
pub struct Turn(Arc<Mutex<Queue>>);

impl Debug for Writers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Writers")
    }
}

impl Debug for Turn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Turn")
    }
}

impl Writers {
    /// Waits for a turn, as [`Store::begin`](crate::Store::begin) says.
    ///
    /// # Errors
    ///
    /// [`StoreError::Cancelled`] and [`StoreError::Busy`].
    pub fn turn(&self, cancel: &Cancel, on_wait: &mut dyn FnMut()) -> Result<Turn, StoreError> {
        let mut queue = self.0.lock();
        if !queue.is_taken {
            queue.is_taken = true;
            return Ok(Turn(Arc::clone(&self.0)));
        }
        let is_next = AtomicBool::new(false);
        let own = Arc::new(Waiter { since: Instant::now(), is_next, woken: Condvar::new() });
        queue.waiting.push_back(Arc::clone(&own));
        for looks in 0.. {
            if own.is_next.load(Ordering::Relaxed) {
                return Ok(Turn(Arc::clone(&self.0)));
            }
            let is_first = queue.waiting.front().is_some_and(|first| Arc::ptr_eq(first, &own));
            if is_first && !queue.is_taken {
                queue.waiting.pop_front();
                queue.is_taken = true;
                return Ok(Turn(Arc::clone(&self.0)));
            }
            let gives_up = if cancel.is_set() {
                Some(StoreError::Cancelled)
            } else {
                (own.since.elapsed() > MAX_WAIT).then_some(StoreError::Busy(MAX_WAIT.as_secs()))
            };
            if let Some(error) = gives_up {
                queue.waiting.retain(|other| !Arc::ptr_eq(other, &own));
                if !queue.is_taken {
                    // Who is first now was not woken when the turn ended.
                    queue.wake_first();
                }
                return Err(error);
            }
            if looks == 2 {
                // A turn may come meanwhile, so the next thing is to look.
                MutexGuard::unlocked(&mut queue, &mut *on_wait);
            } else {
                threads::wait(|| own.woken.wait_for(&mut queue, LOOK));
            }
        }
        Err(StoreError::Busy(MAX_WAIT.as_secs()))
    }

    /// A turn, if nobody has it.
    pub fn try_turn(&self) -> Option<Turn> {
        let mut queue = self.0.lock();
        let is_free = !std::mem::replace(&mut queue.is_taken, true);
        is_free.then(|| Turn(Arc::clone(&self.0)))
    }
}

impl Queue {
    fn wake_first(&self) {
        if let Some(first) = self.waiting.front() {
            first.woken.notify_one();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        if let Some(next) = queue.waiting.pop_front_if(|first| first.since.elapsed() > PATIENCE) {
            // It stays taken, by that one.
            next.is_next.store(true, Ordering::Relaxed);
            next.woken.notify_one();
        } else {
            queue.is_taken = false;
            queue.wake_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;

    use scorpiox_executor::Reason;

    use super::*;

    /// Longer than any test waits for what has to come.
    const LONG: Duration = Duration::from_secs(20);

    fn waits(writers: &Writers, count: usize) {
        let start = Instant::now();
        while writers.0.lock().waiting.len() != count {
            assert!(start.elapsed() < LONG, "{count} wait");
            std::thread::yield_now();
        }
    }

    #[test]
    fn those_who_wait_long_get_their_turn_in_order() {
        let writers = Writers::default();
        let cancel = Cancel::default();
        let order = Mutex::new(Vec::new());
        let first = writers.turn(&cancel, &mut || ()).expect("free");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (writers, cancel, order) = (&writers, &cancel, &order);
                scope.spawn(move || {
                    let turn = writers.turn(cancel, &mut || ()).expect("a turn");
                    order.lock().push(number);
                    drop(turn);
                });
                waits(writers, number + 1);
            }
            // Each has looked whether it is cancelled, more than once, and kept its place.
            let start = Instant::now();
            while start.elapsed() < 3 * LOOK {
                std::thread::yield_now();
            }
            drop(first);
        });
        assert_eq!(order.into_inner(), (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn one_who_waits_is_not_overtaken_for_ever() {
        let writers = Writers::default();
        let cancel = Cancel::default();
        let (turns, start) = (AtomicUsize::new(0), Barrier::new(3));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    start.wait();
                    // They come again at once, so without a queue others would hardly find it free.
                    while turns.load(Ordering::Relaxed) < 100 {
                        let turn = writers.turn(&cancel, &mut || ()).expect("a turn");
                        std::thread::yield_now();
                        drop(turn);
                    }
                });
            }
            start.wait();
            while turns.load(Ordering::Relaxed) < 100 {
                drop(writers.turn(&cancel, &mut || ()).expect("a turn"));
                turns.fetch_add(1, Ordering::Relaxed);
            }
        });
    }

    #[test]
    fn who_is_cancelled_leaves_the_queue_to_the_others() {
        let writers = Writers::default();
        let (cancelled, cancel) = (Cancel::default(), Cancel::default());
        let first = writers.turn(&cancel, &mut || ()).expect("free");
        assert!(writers.try_turn().is_none());
        let told = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let gone = scope.spawn(|| writers.turn(&cancelled, &mut || ()).map(drop));
            waits(&writers, 1);
            let other = scope.spawn(|| {
                let mut on_wait = || {
                    told.fetch_add(1, Ordering::Relaxed);
                };
                let turn = writers.turn(&cancel, &mut on_wait).map(drop);
                (turn, told.load(Ordering::Relaxed))
            });
            waits(&writers, 2);
            cancelled.set(Reason::Client);
            assert!(matches!(gone.join().expect("ends"), Err(StoreError::Cancelled)));
            waits(&writers, 1);
            drop(first);
            let (turn, told) = other.join().expect("ends");
            assert!(turn.is_ok() && told <= 1);
        });
        assert!(writers.try_turn().is_some(), "it is free again");
    }
}
