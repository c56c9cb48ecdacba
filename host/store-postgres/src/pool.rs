//! The bounded connection pool of a process.

use std::fmt::{self, Debug, Formatter};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use scorpiox_executor::{Cancel, threads};
use scorpiox_store::StoreError;

use crate::address::{Address, AddressError};
use crate::clock::Clock;
use crate::connection::{ANSWER_TIME, Connection, SHORT_TIME};
use crate::ending::END_TIME;
use crate::losses::Losses;

/// Maximum time to wait for a free connection.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// Interval between cancellation checks while waiting for a connection.
const LOOK: Duration = Duration::from_millis(25);

/// Reads the address and the password again from their source.
pub type Reload = Box<dyn Fn() -> Result<Address, AddressError> + Send + Sync>;

/// Pool of connections to one database.
pub(crate) struct Pool {
    address: Mutex<Arc<Address>>,
    /// Source of the address, if it can be read again.
    reload: Option<Reload>,
    pub(crate) location: Arc<str>,
    most: usize,
    state: Mutex<State>,
    freed: Condvar,
    /// Number of connections created so far. `making` signals each new one.
    made: Mutex<u64>,
    making: Condvar,
    /// `true` from the time at which an answer did not come until the next one does: one user waits for long, and those
    /// after it only briefly.
    is_silent: AtomicBool,
    pub(crate) clock: Clock,
    pub(crate) losses: Losses,
}

#[derive(Debug, Default)]
struct State {
    /// Idle connections, the most recently used last.
    idle: Vec<Connection>,
    /// Number of open connections, including those in use.
    open: usize,
}

/// A connection in use, returned to the pool on drop.
#[derive(Debug)]
pub(crate) struct Lease {
    pool: Arc<Pool>,
    /// Taken on drop.
    connection: Option<Connection>,
}

impl Pool {
    pub(crate) fn new(address: Address, reload: Option<Reload>, most: usize) -> Arc<Self> {
        let location = address.to_string().into();
        Arc::new(Self {
            address: Mutex::new(Arc::new(address)),
            reload,
            location,
            most: most.max(1),
            state: Mutex::default(),
            freed: Condvar::new(),
            made: Mutex::default(),
            making: Condvar::new(),
            is_silent: AtomicBool::new(false),
            clock: Clock::default(),
            losses: Losses::default(),
        })
    }

    /// Returns an idle connection or a new one. Waits while all are in use.
    ///
    /// Calls `on_wait` if that takes longer than about 50 ms.
    pub(crate) fn lease(
        self: &Arc<Self>,
        cancel: &Cancel,
        on_wait: &mut dyn FnMut(),
    ) -> Result<Lease, StoreError> {
        self.lease_within(ANSWER_TIME, cancel, on_wait)
    }

    /// Like [`lease`](Self::lease), but with a different time to wait for answers.
    pub(crate) fn lease_within(
        self: &Arc<Self>,
        answer_time: Duration,
        cancel: &Cancel,
        on_wait: &mut dyn FnMut(),
    ) -> Result<Lease, StoreError> {
        let start = Instant::now();
        let mut state = self.state.lock();
        for looks in 0.. {
            if let Some(lease) = self.try_lease_locked(&mut state) {
                drop(state);
                return lease.ready(self.patience(answer_time));
            }
            if cancel.is_set() {
                return Err(StoreError::Cancelled);
            }
            if start.elapsed() > MAX_WAIT {
                break;
            }
            if looks == 2 {
                parking_lot::MutexGuard::unlocked(&mut state, &mut *on_wait);
            } else {
                threads::wait(|| self.freed.wait_for(&mut state, LOOK));
            }
        }
        Err(StoreError::Busy(MAX_WAIT.as_secs()))
    }

    /// Like [`lease`](Self::lease), but fails with a conflict instead of waiting, and uses a short answer
    /// time.
    pub(crate) fn try_lease(self: &Arc<Self>) -> Result<Lease, StoreError> {
        let lease = self.try_lease_locked(&mut self.state.lock());
        lease.ok_or(StoreError::Conflict)?.ready(SHORT_TIME)
    }

    /// Returns the time to wait for answers.
    fn patience(&self, answer_time: Duration) -> Duration {
        if self.is_silent.load(Ordering::Acquire) { answer_time.min(SHORT_TIME) } else { answer_time }
    }

    /// Reserves a slot for a connection. Includes the connection if one is idle.
    fn try_lease_locked(self: &Arc<Self>, state: &mut State) -> Option<Lease> {
        let connection = state.idle.pop();
        if connection.is_none() {
            if state.open >= self.most {
                return None;
            }
            state.open += 1;
        }
        Some(Lease { pool: Arc::clone(self), connection })
    }

    /// Connects. If the database rejects the role or the password, reads the address and the password again,
    /// because either may have changed.
    pub(crate) fn connected<T>(
        &self,
        connect: impl Fn(&Address) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let address = Arc::clone(&self.address.lock());
        let refused = match connect(&address) {
            Err(StoreError::Denied(why)) => why,
            connected => return connected,
        };
        let Some(reload) = &self.reload else { return Err(StoreError::Denied(refused)) };
        let again = reload().map_err(|error| StoreError::Denied(format!("{refused}; {error}")))?;
        if again.is_same_as(&address) {
            return Err(StoreError::Denied(refused));
        }
        let again = Arc::new(again);
        let connected = connect(&again)?;
        *self.address.lock() = again;
        tracing::info!("the database took a new password, which was read again");
        Ok(connected)
    }

    /// Returns the number of connections created so far.
    pub(crate) fn connections(&self) -> u64 {
        *self.made.lock()
    }

    /// Waits for at most `at_most` until more than `before` connections have been created, which means that
    /// the database is reachable again.
    pub(crate) fn wait_for_connection(&self, before: u64, at_most: Duration) {
        let mut made = self.made.lock();
        self.making.wait_while_for(&mut made, |made| *made == before, at_most);
    }

    /// Returns the number of open connections, and how many of them are idle.
    pub(crate) fn load(&self) -> [usize; 2] {
        let state = self.state.lock();
        [state.open, state.idle.len()]
    }

    /// Closes the idle connections. A failure of one connection usually affects all of them.
    pub(crate) fn close_idle(self: &Arc<Self>) {
        let idle = std::mem::take(&mut self.state.lock().idle);
        for connection in idle {
            self.close(connection);
        }
    }

    /// Closes a connection. Its slot becomes free when the server has stopped working on its statements.
    fn close(self: &Arc<Self>, mut connection: Connection) {
        self.losses.note(&connection);
        if !connection.is_at_work() {
            drop(connection);
            return self.free();
        }
        let connection = Arc::new(Mutex::new(Some(connection)));
        let end = |pool: &Self, connection: &Mutex<Option<Connection>>, at_most| {
            let taken = connection.lock().take();
            if let Some(connection) = taken {
                connection.end_work(at_most);
            }
            pool.free();
        };
        let (pool, ended) = (Arc::clone(self), Arc::clone(&connection));
        // At most one such thread per connection.
        if threads::start("database", move || end(&pool, &ended, END_TIME)).is_err() {
            end(self, &connection, SHORT_TIME);
        }
    }

    /// Frees the slot of a connection.
    fn free(&self) {
        self.state.lock().open -= 1;
        self.freed.notify_one();
    }
}

impl Debug for Pool {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({})", self.location)
    }
}

impl Lease {
    /// Connects if there is no connection yet, or if the connection has ended.
    fn ready(mut self, answer_time: Duration) -> Result<Self, StoreError> {
        if self.connection.as_mut().is_some_and(Connection::has_ended) {
            self.connection.take().iter().for_each(|connection| self.pool.losses.note(connection));
            self.pool.close_idle();
        }
        if self.connection.is_none() {
            let location = &self.pool.location;
            let connection =
                self.pool.connected(|address| Connection::open(address, location, answer_time, None))?;
            // From here on dropping the lease closes the connection like any other.
            let connection = self.connection.insert(connection);
            let compared = self.pool.clock.compare(connection);
            connection.is_broken |= compared.is_err();
            compared?;
            self.pool.losses.look(connection);
            let mut made = self.pool.made.lock();
            *made += 1;
            connection.number = *made;
            drop(made);
            self.pool.making.notify_all();
        }
        self.answer_time = answer_time;
        Ok(self)
    }
}

impl Lease {
    /// Marks the connection to be closed on drop, whatever its state.
    pub(crate) fn give_up(&mut self) {
        self.is_broken = true;
    }
}

impl Deref for Lease {
    type Target = Connection;

    #[allow(clippy::expect_used)] // present until drop
    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("a connection")
    }
}

impl DerefMut for Lease {
    #[allow(clippy::expect_used)] // present until drop
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("a connection")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A user that waits only briefly proves little.
        if let Some(connection) = &self.connection {
            if !connection.is_broken() {
                self.pool.is_silent.store(false, Ordering::Release);
            } else if connection.is_hanging() && connection.answer_time > SHORT_TIME {
                self.pool.is_silent.store(true, Ordering::Release);
            }
        }
        match self.connection.take() {
            Some(connection) if !connection.is_broken() => {
                self.pool.state.lock().idle.push(connection);
                self.pool.freed.notify_one();
            }
            Some(broken) => self.pool.close(broken),
            None => self.pool.free(),
        }
    }
}
