//! Waiting for other writers: writers of this process queue, and writers of other processes are polled.

use std::collections::VecDeque;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use scorpiox_executor::{Cancel, threads};

use crate::StoreError;

/// Maximum time that a call waits for other writers.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Delays between attempts to become the writer. Transactions are short, so the first attempts follow
/// quickly.
const WAITS_MS: [u64; 6] = [1, 1, 2, 5, 10, 25];

/// Repeats `attempt` while it fails with a conflict, as specified by [`Store::begin`](crate::Store::begin).
///
/// # Errors
///
/// Fails with [`StoreError::Cancelled`] or [`StoreError::Busy`] while waiting, or with any other error of
/// `attempt`.
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

/// Interval between cancellation checks of a waiting writer, which retains its queue position.
const LOOK: Duration = Duration::from_millis(25);

/// Waiting time after which the turn is handed to the first waiter. Before that, an arriving writer may
/// overtake it, which is faster than waking a thread.
const PATIENCE: Duration = Duration::from_millis(5);

/// Queue of the writers of this process. Waiters get their turn in order, whereas a writer that merely
/// retries can be overtaken until it gives up.
#[derive(Default)]
pub struct Writers(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    is_taken: bool,
    /// Waiters, first in front.
    waiting: VecDeque<Arc<Waiter>>,
}

struct Waiter {
    since: Instant,
    /// `true` after the turn was handed to this waiter and it left the queue.
    is_next: AtomicBool,
    woken: Condvar,
}

/// Permission to write, exclusive within this process.
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
    /// Waits for a turn, as specified by [`Store::begin`](crate::Store::begin).
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::Cancelled`] or [`StoreError::Busy`].
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
                    // The new first waiter was not woken when the turn ended.
                    queue.wake_first();
                }
                return Err(error);
            }
            if looks == 2 {
                // The turn may arrive during the callback, so check again without waiting.
                MutexGuard::unlocked(&mut queue, &mut *on_wait);
            } else {
                threads::wait(|| own.woken.wait_for(&mut queue, LOOK));
            }
        }
        Err(StoreError::Busy(MAX_WAIT.as_secs()))
    }

    /// Returns a turn if it is available.
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
            // The turn stays taken, on behalf of the next waiter.
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

    /// Longer than the wait for any expected event.
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
            // Each waiter has checked for cancellation repeatedly and retained its position.
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
                    // These writers come back immediately. Without a queue, others would rarely find the turn
                    // free.
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
