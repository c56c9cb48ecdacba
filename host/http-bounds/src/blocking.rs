//! Work that may block: it waits for a database, a disk or another process. A thread that carries connections never does, or one
//! slow database would stop all that need none. Threads for such work are had here alone.
//!
//! Invariants: so many threads block at once and no more, of which one of several principals has a part; the runtime has a
//! thread for each of them beside those of connections. [`MayBlock`] exists on these threads alone, and whatever waits for
//! the database wants one. `clippy.toml` of `host/http` keeps other ways to a thread out of the transport.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::places::{MAX_RUNNING, PART, Place};

/// Threads that wait for the database: calls have more than these leave of its 16 connections.
const MAX_DATABASE: usize = 12;
/// Threads that wait for the disk, or for nothing: a ping, the end of a batch, a line of the audit.
const MAX_DISK: usize = 20;
/// A thread has its next work before it has quite ended the one before.
const SPARE: usize = 4;
/// Threads that may block at once: of calls, and of the rest, which never waits for calls.
pub const MAX_BLOCKING: usize = MAX_RUNNING + MAX_DATABASE + MAX_DISK + SPARE;

/// Longest wait for a thread. Clients wait for a minute, and proxies as long.
const WAIT_TIME: Duration = Duration::from_secs(10);
/// Time after which to try again where no thread was free.
pub const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The thing that work waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsFor {
    /// The database that servers share.
    Database,
    /// A disk, another process, or nothing.
    Disk,
}

/// The right to block, which a thread has that carries no connection.
pub struct MayBlock(());

/// The threads for work that may block.
pub struct Blocking {
    handle: Handle,
    database: Seats,
    disk: Seats,
    /// Longest wait for a thread.
    patience: Duration,
}

impl Blocking {
    /// For one principal, or for several of whom none is to keep the others out.
    pub fn new(handle: Handle, are_many: bool) -> Self {
        let (database, disk) = (Seats::new(MAX_DATABASE, are_many), Seats::new(MAX_DISK, are_many));
        Self { handle, database, disk, patience: WAIT_TIME }
    }

    /// Runs work of a principal that may block. An error of [`io::ErrorKind::ResourceBusy`] says that it found no thread
    /// in time, and did not run.
    pub async fn run<T: Send + 'static>(
        &self,
        waits_for: WaitsFor,
        who: &str,
        work: impl FnOnce(&MayBlock) -> T + Send + 'static,
    ) -> io::Result<T> {
        let seat = self.seat(waits_for, who).await.ok_or_else(|| busy(waits_for))?;
        self.seated(seat, work).await.map_err(io::Error::other)
    }

    /// Has work of a principal run that nobody waits for; what is to be done where it finds no thread in time is `otherwise`.
    pub fn start<T: Send + 'static>(
        self: &Arc<Self>,
        waits_for: WaitsFor,
        who: &Arc<str>,
        work: T,
        run: impl FnOnce(T, &MayBlock) + Send + 'static,
        otherwise: impl FnOnce(T) + Send + 'static,
    ) {
        // Mostly one is free, and a task would be one more hand-over.
        if let Some(seat) = self.seats(waits_for).try_take(who) {
            drop(self.seated(seat, |may_block| run(work, may_block)));
            return;
        }
        let (own, who) = (Arc::clone(self), Arc::clone(who));
        self.spawn(async move {
            match own.seat(waits_for, &who).await {
                Some(seat) => drop(own.seated(seat, |may_block| run(work, may_block))),
                None => otherwise(work),
            }
        });
    }

    /// Runs a call on a thread of its own, which its place stands for.
    pub fn call(&self, place: Place, work: impl FnOnce(Place) + Send + 'static) {
        self.thread(move || work(place));
    }

    /// Runs a call that is over in a moment where the next task of this thread runs: to wake another thread takes longer. If it
    /// has to wait all the same, the thread of its place goes on with the connections.
    pub fn brief_call(&self, place: Place, work: impl FnOnce(Place) + Send + 'static) {
        self.handle.spawn(async move { work(place) });
    }

    /// Has a task run that never blocks.
    pub fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.handle.spawn(task)
    }

    fn seated<T: Send + 'static>(
        &self,
        seat: Seat,
        work: impl FnOnce(&MayBlock) -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.thread(move || {
            let done = work(&MayBlock(()));
            drop(seat);
            done
        })
    }

    fn thread<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        self.handle.spawn_blocking(work)
    }

    async fn seat(&self, waits_for: WaitsFor, who: &str) -> Option<Seat> {
        timeout(self.patience, self.seats(waits_for).take(who)).await.ok()?
    }

    fn seats(&self, waits_for: WaitsFor) -> &Seats {
        match waits_for {
            WaitsFor::Database => &self.database,
            WaitsFor::Disk => &self.disk,
        }
    }
}

fn busy(waits_for: WaitsFor) -> io::Error {
    let what = match waits_for {
        WaitsFor::Database => "the database",
        WaitsFor::Disk => "the disk",
    };
    let why = format!("too much of yours waits for {what} already; repeat it in a moment");
    io::Error::new(io::ErrorKind::ResourceBusy, why)
}

/// A number of threads.
struct Seats {
    all: Arc<Semaphore>,
    /// The share of each principal that has some; none where there is one principal alone.
    of: Option<Mutex<WeakMap<String, Semaphore>>>,
    most: usize,
}

/// A thread's, until it is dropped.
struct Seat {
    _all: OwnedSemaphorePermit,
    _part: Option<OwnedSemaphorePermit>,
}

impl Seats {
    fn new(most: usize, are_many: bool) -> Self {
        Self { all: Arc::new(Semaphore::new(most)), of: are_many.then(Mutex::default), most: most / PART }
    }

    /// Waits for one, in the order in which who waits came.
    async fn take(&self, who: &str) -> Option<Seat> {
        let part = match self.part_of(who) {
            None => None,
            Some(part) => Some(part.acquire_owned().await.ok()?),
        };
        Some(Seat { _all: Arc::clone(&self.all).acquire_owned().await.ok()?, _part: part })
    }

    /// Takes a seat that is free.
    fn try_take(&self, who: &str) -> Option<Seat> {
        let part = match self.part_of(who) {
            None => None,
            Some(part) => Some(part.try_acquire_owned().ok()?),
        };
        Some(Seat { _all: Arc::clone(&self.all).try_acquire_owned().ok()?, _part: part })
    }

    fn part_of(&self, who: &str) -> Option<Arc<Semaphore>> {
        let mut of = self.of.as_ref()?.lock();
        Some(of.get_or_add(who, str::to_owned, || Semaphore::new(self.most)))
    }
}

/// Values that are there as long as somebody has them.
pub struct WeakMap<K, V> {
    values: HashMap<K, Weak<V>>,
    /// Number of shares beyond which those without a user are forgotten.
    most: usize,
}

/// Fewer are not looked through.
const FEW: usize = 64;

impl<K, V> Default for WeakMap<K, V> {
    fn default() -> Self {
        Self { values: HashMap::new(), most: FEW }
    }
}

impl<K: Eq + Hash, V> WeakMap<K, V> {
    /// The value of a key; a new one, if nobody has one.
    pub fn get_or_add<Q: Eq + Hash + ?Sized>(
        &mut self,
        key: &Q,
        own: impl FnOnce(&Q) -> K,
        new: impl FnOnce() -> V,
    ) -> Arc<V>
    where
        K: Borrow<Q>,
    {
        if let Some(value) = self.values.get(key).and_then(Weak::upgrade) {
            return value;
        }
        if self.values.len() >= self.most {
            self.values.retain(|_, value| value.strong_count() > 0);
            self.most = FEW.max(2 * self.values.len());
        }
        let value = Arc::new(new());
        self.values.insert(own(key), Arc::downgrade(&value));
        value
    }

    /// Forgets a value, unless another one has its place by now.
    pub fn forget<Q: Eq + Hash + ?Sized>(&mut self, key: &Q, value: &Arc<V>)
    where
        K: Borrow<Q>,
    {
        if self.values.get(key).is_some_and(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(value))) {
            self.values.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn what_one_principal_waits_for_keeps_no_other_and_nothing_else() {
        let blocking = Arc::new(Blocking::new(Handle::current(), true));
        let (release, waits) = mpsc::channel::<()>();
        let waits = Arc::new(Mutex::new(waits));
        let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
        let bob: Arc<str> = "bob".into();
        let (done, mut dones) = tokio::sync::mpsc::unbounded_channel();
        for _ in 0..3 * MAX_DATABASE {
            let (waits, begun, done) = (Arc::clone(&waits), begun.clone(), done.clone());
            let run = move |(), _: &MayBlock| {
                begun.send(()).expect("somebody counts");
                let _ = waits.lock().recv();
                done.send(()).expect("somebody counts");
            };
            blocking.start(WaitsFor::Database, &bob, (), run, |()| ());
        }
        for _ in 0..MAX_DATABASE / PART {
            begins.recv().await.expect("it begins");
        }
        let in_time = Duration::from_secs(10);
        for (who, waits_for) in [("ann", WaitsFor::Database), ("bob", WaitsFor::Disk)] {
            let ran = timeout(in_time, blocking.run(waits_for, who, |_| 7)).await;
            assert_eq!(ran.expect("in time").expect("it runs"), 7, "{who}");
        }
        assert!(begins.try_recv().is_err(), "no more of his run than his part");
        drop(release);
        for _ in 0..3 * MAX_DATABASE {
            timeout(in_time, dones.recv()).await.expect("in time").expect("it ran");
        }
    }

    #[tokio::test]
    async fn who_finds_no_thread_in_time_is_told_so_and_nothing_of_it_runs() {
        let patience = Duration::from_millis(20);
        let blocking = Blocking { patience, ..Blocking::new(Handle::current(), false) };
        let mut seats = Vec::new();
        while let Some(seat) = blocking.database.try_take("ann") {
            seats.push(seat);
        }
        assert_eq!(seats.len(), MAX_DATABASE);
        let refused = blocking.run(WaitsFor::Database, "ann", |_| ()).await;
        assert_eq!(refused.expect_err("all are taken").kind(), io::ErrorKind::ResourceBusy);
        seats.pop();
        assert!(blocking.run(WaitsFor::Database, "ann", |_| ()).await.is_ok());
    }

    #[test]
    fn values_that_nobody_has_are_forgotten() {
        let mut map = WeakMap::<usize, usize>::default();
        let kept = map.get_or_add(&0, |key| *key, || 0);
        (1..10 * FEW).for_each(|key| drop(map.get_or_add(&key, |key| *key, || key)));
        assert!(map.values.len() <= FEW && Arc::ptr_eq(&kept, &map.get_or_add(&0, |key| *key, || 1)));
        map.forget(&0, &Arc::new(0));
        assert!(Arc::ptr_eq(&kept, &map.get_or_add(&0, |key| *key, || 1)), "that was another one");
        map.forget(&0, &kept);
        assert_eq!(*map.get_or_add(&0, |key| *key, || 1), 1);
    }
}
