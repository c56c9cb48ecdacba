//! Threads for work that may block on a database, a disk or another process. A thread that drives connections
//! never blocks; otherwise one slow database would stop requests that do not need it. This module is the only
//! source of such threads.
//!
//! Invariants: the number of blocking threads is bounded, and each of several principals gets a share of
//! them. The runtime has a thread for each, in addition to those for connections. [`MayBlock`] exists only on
//! these threads, and functions that wait for the database require one. `clippy.toml` of `host/http` forbids
//! other ways to get a thread.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, block_in_place};
use tokio::time::timeout;

use crate::bounds::places::{MAX_RUNNING, PART, Place};

/// Maximum number of threads that wait for the database. They leave some of its 16 connections to calls.
const MAX_DATABASE: usize = 12;
/// Maximum number of threads for disk work or brief work: a ping, the end of a batch, a line of the audit.
const MAX_DISK: usize = 20;
/// Number of spare threads. A thread may get new work before it has finished the previous one.
const SPARE: usize = 4;
/// Maximum number of blocking threads: those of calls, and the others, which never wait for calls.
pub const MAX_BLOCKING: usize = MAX_RUNNING + MAX_DATABASE + MAX_DISK + SPARE;

/// Maximum size of a body that a thread for connections parses itself, which takes less than 0.2 ms. A body of the
/// maximum size takes 50 ms.
const MAX_PARSED_AT_ONCE: usize = 64 * 1024;

/// Maximum time to wait for a thread. Clients and proxies usually time out after a minute.
const WAIT_TIME: Duration = Duration::from_secs(10);
/// Delay before a client retries after no thread was free.
pub const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Resource that work waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsFor {
    /// The shared database.
    Database,
    /// A disk, another process, or nothing.
    Disk,
}

/// Permission to block. Only threads that drive no connections have it.
pub struct MayBlock(());

/// Threads for blocking work.
pub struct Blocking {
    handle: Handle,
    database: Seats,
    disk: Seats,
    /// Maximum time to wait for a thread.
    patience: Duration,
}

impl Blocking {
    /// Creates the threads for one principal, or for several (`are_many`) that must not starve each other.
    pub fn new(handle: Handle, are_many: bool) -> Self {
        let (database, disk) = (Seats::new(MAX_DATABASE, are_many), Seats::new(MAX_DISK, are_many));
        Self { handle, database, disk, patience: WAIT_TIME }
    }

    /// Runs blocking work of a principal. An error of kind [`io::ErrorKind::ResourceBusy`] means that no
    /// thread became free in time, and the work did not run.
    pub async fn run<T: Send + 'static>(
        &self,
        waits_for: WaitsFor,
        who: &str,
        work: impl FnOnce(&MayBlock) -> T + Send + 'static,
    ) -> io::Result<T> {
        let seat = self.seat(waits_for, who).await.ok_or_else(|| busy(waits_for))?;
        self.seated(seat, work).await.map_err(io::Error::other)
    }

    /// Parses `bytes` of a body: long ones on a blocking thread, because connections wait for this one. Fails like
    /// [`Self::run`].
    pub async fn parse<T: Send + 'static>(
        &self,
        bytes: &Bytes,
        who: &str,
        parse: impl FnOnce(&Bytes) -> T + Send + 'static,
    ) -> io::Result<T> {
        if bytes.len() <= MAX_PARSED_AT_ONCE {
            return Ok(parse(bytes));
        }
        let bytes = Bytes::clone(bytes);
        self.run(WaitsFor::Disk, who, move |_| parse(&bytes)).await
    }

    /// Starts blocking work of a principal without waiting for it. Calls `otherwise` if no thread becomes
    /// free in time.
    pub fn start<T: Send + 'static>(
        self: &Arc<Self>,
        waits_for: WaitsFor,
        who: &Arc<str>,
        work: T,
        run: impl FnOnce(T, &MayBlock) + Send + 'static,
        otherwise: impl FnOnce(T) + Send + 'static,
    ) {
        // Usually a thread is free, and a task would add another hand-over.
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

    /// Runs a call on a blocking thread, for which its slot reserves capacity.
    pub fn call(&self, place: Place, work: impl FnOnce(Place) + Send + 'static) {
        self.thread(move || work(place));
    }

    /// Runs a brief call on the current thread, because waking another thread takes longer than many of these calls.
    ///
    /// The connections of this thread go to the thread that the slot reserves, before the call begins: nothing bounds
    /// the time of a call that reads what its caller stored or sent.
    pub fn brief_call(&self, place: Place, work: impl FnOnce(Place) + Send + 'static) {
        #[expect(clippy::disallowed_methods, reason = "another thread carries the connections from then on")]
        self.handle.spawn(async move { block_in_place(|| work(place)) });
    }

    /// Spawns a task that never blocks.
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
        #[expect(clippy::disallowed_methods, reason = "the seats bound it")]
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

/// A bounded number of threads.
struct Seats {
    all: Arc<Semaphore>,
    /// Share of each principal that has any; `None` if there is only one principal.
    of: Option<Mutex<WeakMap<String, Semaphore>>>,
    most: usize,
}

/// Capacity for one thread, released on drop.
struct Seat {
    _all: OwnedSemaphorePermit,
    _part: Option<OwnedSemaphorePermit>,
}

impl Seats {
    fn new(most: usize, are_many: bool) -> Self {
        Self { all: Arc::new(Semaphore::new(most)), of: are_many.then(Mutex::default), most: most / PART }
    }

    /// Waits for a seat, in order of arrival.
    async fn take(&self, who: &str) -> Option<Seat> {
        let part = match self.part_of(who) {
            None => None,
            Some(part) => Some(part.acquire_owned().await.ok()?),
        };
        Some(Seat { _all: Arc::clone(&self.all).acquire_owned().await.ok()?, _part: part })
    }

    /// Takes a seat if one is free.
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

/// Map whose values exist as long as they are referenced.
pub struct WeakMap<K, V> {
    values: HashMap<K, Weak<V>>,
    /// Number of entries at which unreferenced ones are removed.
    most: usize,
}

/// Minimum number of entries before a cleanup.
const FEW: usize = 64;

impl<K, V> Default for WeakMap<K, V> {
    fn default() -> Self {
        Self { values: HashMap::new(), most: FEW }
    }
}

impl<K: Eq + Hash, V> WeakMap<K, V> {
    /// Returns the value of a key, or a new one if there is none.
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

    /// Removes a value, unless it has been replaced by another one.
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
    use crate::bounds::places::{Entry, Places};

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

    type Work = Box<dyn FnOnce(Place) + Send>;

    const IN_TIME: Duration = Duration::from_secs(10);

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_call_keeps_no_connection_however_long_it_takes() {
        let blocking = Blocking::new(Handle::current(), false);
        let ways: [fn(&Blocking, Place, Work); 2] = [Blocking::brief_call, Blocking::call];
        for start in ways {
            let Entry::Place(place) = Places::new(false).enter(&"ann".into()) else { panic!("no place") };
            let (begun, begins) = tokio::sync::oneshot::channel();
            let (served, is_served) = mpsc::channel();
            let (done, is_done) = tokio::sync::oneshot::channel();
            let work = move |_: Place| {
                begun.send(()).expect("the test waits");
                // The only thread for connections serves another one meanwhile.
                done.send(is_served.recv_timeout(IN_TIME).is_ok()).expect("the test waits");
            };
            start(&blocking, place, Box::new(work));
            begins.await.expect("it begins");
            drop(blocking.spawn(async move { served.send(()) }));
            assert!(is_done.await.expect("it ends"), "the call kept the thread");
        }
    }

    #[tokio::test]
    async fn long_bodies_are_parsed_aside() {
        let blocking = Blocking::new(Handle::current(), false);
        let here = std::thread::current().id();
        for (length, is_here) in [(MAX_PARSED_AT_ONCE, true), (MAX_PARSED_AT_ONCE + 1, false)] {
            let parse = |bytes: &Bytes| (bytes.len(), std::thread::current().id());
            let parsed = blocking.parse(&Bytes::from(vec![b' '; length]), "ann", parse).await;
            let (parsed, thread) = parsed.expect("it runs");
            assert_eq!((parsed, thread == here), (length, is_here));
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
