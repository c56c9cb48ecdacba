//! The connections of a process: so many and no more.

use std::fmt::{self, Debug, Formatter};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use scorpiox_executor::{Cancel, threads};
use scorpiox_store::StoreError;

use crate::address::{Address, AddressError};
use crate::clock::Clock;
use crate::connection::{ANSWER_TIME, Connection, SHORT_TIME};
use crate::ending::END_TIME;
use crate::losses::Losses;

/// How long a free connection is waited for.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// How often who waits looks whether its call was cancelled.
const LOOK: Duration = Duration::from_millis(25);

/// Reads the address again, with the password, from where they came.
pub type Reload = Box<dyn Fn() -> Result<Address, AddressError> + Send + Sync>;

/// Connections to one database.
pub(crate) struct Pool {
    address: Mutex<Arc<Address>>,
    /// The source of the address, if it can be read again.
    reload: Option<Reload>,
    pub(crate) location: Arc<str>,
    most: usize,
    state: Mutex<State>,
    freed: Condvar,
    /// The connections that were made so far, and who waits for one more.
    made: Mutex<u64>,
    making: Condvar,
    pub(crate) clock: Clock,
    pub(crate) losses: Losses,
}

#[derive(Debug, Default)]
struct State {
    /// Those that nothing uses, the last one used last.
    idle: Vec<Connection>,
    /// How many there are, with those in use.
    open: usize,
}

/// A connection in use, until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    pool: Arc<Pool>,
    /// Taken when it ends.
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
            clock: Clock::default(),
            losses: Losses::default(),
        })
    }

    /// A connection that is free, or a new one. Waits while all are in use.
    ///
    /// `on_wait` is told when that takes longer than some 50 ms.
    pub(crate) fn lease(
        self: &Arc<Self>,
        cancel: &Cancel,
        on_wait: &mut dyn FnMut(),
    ) -> Result<Lease, StoreError> {
        self.lease_within(ANSWER_TIME, cancel, on_wait)
    }

    /// The same, whose answers are waited for so long.
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
                return lease.ready(answer_time);
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

    /// The same, but a conflict where that would wait, and an answer is not waited for long either.
    pub(crate) fn try_lease(self: &Arc<Self>) -> Result<Lease, StoreError> {
        let lease = self.try_lease_locked(&mut self.state.lock());
        lease.ok_or(StoreError::Conflict)?.ready(SHORT_TIME)
    }

    /// A place for a connection, with the connection if one is idle.
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

    /// Connects. Where the database does not take who this is, the address is read again with the password: either may
    /// have changed since.
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

    /// The number of connections that were made so far.
    pub(crate) fn connections(&self) -> u64 {
        *self.made.lock()
    }

    /// Waits until one more than `before` was made: the database is there again. No longer than that.
    pub(crate) fn wait_for_connection(&self, before: u64, at_most: Duration) {
        let mut made = self.made.lock();
        self.making.wait_while_for(&mut made, |made| *made == before, at_most);
    }

    /// How many connections there are, and how many of them nothing uses.
    pub(crate) fn load(&self) -> [usize; 2] {
        let state = self.state.lock();
        [state.open, state.idle.len()]
    }

    /// Closes the connections that nothing uses: what ended one has mostly ended all.
    pub(crate) fn close_idle(self: &Arc<Self>) {
        let idle = std::mem::take(&mut self.state.lock().idle);
        for connection in idle {
            self.close(connection);
        }
    }

    /// Closes a connection. Its place is free when the server is at nothing of it any more.
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
        // As many of them as there are connections.
        if threads::start("database", move || end(&pool, &ended, END_TIME)).is_err() {
            end(self, &connection, SHORT_TIME);
        }
    }

    /// Frees the place of a connection.
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
    /// Connects where there is no connection yet, or one that has ended.
    fn ready(mut self, answer_time: Duration) -> Result<Self, StoreError> {
        if self.connection.as_mut().is_some_and(Connection::has_ended) {
            self.connection.take().iter().for_each(|connection| self.pool.losses.note(connection));
            self.pool.close_idle();
        }
        if self.connection.is_none() {
            let location = &self.pool.location;
            let connection =
                self.pool.connected(|address| Connection::open(address, location, answer_time, None))?;
            // From here on it is closed as each other one.
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
    /// Has the connection closed at the end, whatever state it is in.
    pub(crate) fn give_up(&mut self) {
        self.is_broken = true;
    }
}

impl Deref for Lease {
    type Target = Connection;

    #[allow(clippy::expect_used)] // it is there until it is dropped
    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("a connection")
    }
}

impl DerefMut for Lease {
    #[allow(clippy::expect_used)] // it is there until it is dropped
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("a connection")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
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
