//! Opening the file, and the pool of connections to it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{CachedStatement, Connection, OpenFlags};
use scorpiox_executor::Cancel;

use super::create::{self, FORMAT};
use super::keys::Seen;
use super::{DatabaseError, Mode};

/// How long a call waits for other writers before it gives up.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Between two tries to get the write lock. Transactions are short, so the first
/// tries come fast.
const WAITS_MS: [u64; 6] = [1, 1, 2, 5, 10, 25];

/// Connections that are kept open while nothing uses them.
const MAX_IDLE: usize = 4;

/// Prepared statements that a connection keeps.
const STATEMENTS: usize = 32;

/// What a committed transaction survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the process at any instant.
    #[default]
    Process,
    /// A loss of power too; ten times slower.
    Power,
}

/// The state of one workspace. Making the value touches nothing on disk.
#[derive(Debug)]
pub struct Database {
    path: PathBuf,
    durability: Durability,
    idle: Mutex<Vec<Connection>>,
}

impl Database {
    /// The database in the file `path`, which is created when it is first used.
    pub fn new(path: PathBuf, durability: Durability) -> Self {
        Self { path, durability, idle: Mutex::default() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether anything was ever stored.
    pub fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Whether nothing was ever stored, as far as that can be seen: what cannot be looked at may be
    /// there.
    pub fn is_absent(&self) -> Result<bool, DatabaseError> {
        match self.path.symlink_metadata() {
            Ok(_) => Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(DatabaseError::from_io(&error, &self.path)),
        }
    }

    /// Starts a transaction. Waiting for another server's write lock ends with `cancel`;
    /// `on_wait` is told once when it starts to take long.
    pub fn begin(
        self: &Arc<Self>,
        mode: Mode,
        cancel: &Cancel,
        on_wait: &mut dyn FnMut(),
    ) -> Result<Transaction, DatabaseError> {
        let mut connection = None;
        retry_while_locked(cancel, on_wait, || {
            let candidate = match connection.take() {
                Some(candidate) => candidate,
                None => self.connection()?,
            };
            let begun = self.begin_on(&candidate, mode);
            connection = Some(candidate);
            begun
        })?;
        Ok(Transaction { connection, database: Arc::clone(self), quota_used: None, seen: Seen::default() })
    }

    /// Starts a transaction, or gives [`DatabaseError::Conflict`] at once when another server
    /// writes.
    pub fn try_begin(self: &Arc<Self>, mode: Mode) -> Result<Transaction, DatabaseError> {
        let connection = self.connection()?;
        self.begin_on(&connection, mode)?;
        Ok(Transaction {
            connection: Some(connection),
            database: Arc::clone(self),
            quota_used: None,
            seen: Seen::default(),
        })
    }

    fn begin_on(&self, connection: &Connection, mode: Mode) -> Result<(), DatabaseError> {
        let sql = match mode {
            Mode::ReadFirst => "BEGIN DEFERRED",
            Mode::Write => "BEGIN IMMEDIATE",
        };
        let begun = connection.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
        begun.map(drop).map_err(|e| self.error(&e))
    }

    pub(super) fn error(&self, error: &rusqlite::Error) -> DatabaseError {
        DatabaseError::from_sqlite(error, &self.path)
    }

    fn connection(&self) -> Result<Connection, DatabaseError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(connection) => Ok(connection),
            None => self.open(),
        }
    }

    fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.push(connection);
        }
    }

    fn open(&self) -> Result<Connection, DatabaseError> {
        if !self.path.exists() {
            create::file(&self.path)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags).map_err(|e| self.error(&e))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        self.prepare(&connection)?;
        Ok(connection)
    }

    fn prepare(&self, connection: &Connection) -> Result<(), DatabaseError> {
        let synchronous = match self.durability {
            Durability::Process => "NORMAL",
            Durability::Power => "FULL",
        };
        // Locks are waited for in `retry_while_locked`, which can be cancelled.
        let settings = format!("PRAGMA busy_timeout = 0; PRAGMA synchronous = {synchronous};");
        connection.execute_batch(&settings).map_err(|e| self.error(&e))?;
        match create::format(connection).map_err(|e| self.error(&e))? {
            FORMAT => Ok(()),
            // The file got its name when it was complete. One that is empty now lost what it had, and
            // that a plan is active may be what was lost.
            0 => Err(DatabaseError::Damaged(self.path.display().to_string())),
            found => {
                Err(DatabaseError::Newer { path: self.path.display().to_string(), found, known: FORMAT })
            }
        }
    }
}

/// Repeats `attempt` while it fails because somebody else holds a lock.
fn retry_while_locked<T>(
    cancel: &Cancel,
    on_wait: &mut dyn FnMut(),
    mut attempt: impl FnMut() -> Result<T, DatabaseError>,
) -> Result<T, DatabaseError> {
    let start = Instant::now();
    for tries in 0.. {
        match attempt() {
            Err(DatabaseError::Conflict) => {}
            other => return other,
        }
        if cancel.is_set() {
            return Err(DatabaseError::Cancelled);
        }
        if start.elapsed() > MAX_WAIT {
            break;
        }
        if tries == WAITS_MS.len() {
            on_wait();
        }
        let wait = WAITS_MS[tries.min(WAITS_MS.len() - 1)];
        std::thread::sleep(Duration::from_millis(wait));
    }
    Err(DatabaseError::Busy(MAX_WAIT.as_secs()))
}

/// A transaction that is open. Dropped without [`commit`](Self::commit), it rolls back.
#[derive(Debug)]
pub struct Transaction {
    connection: Option<Connection>,
    pub(super) database: Arc<Database>,
    /// Bytes that the namespace uses, once known, with this transaction's writes.
    pub(super) quota_used: Option<Usage>,
    pub(super) seen: Seen,
}

/// How much a namespace uses, and used before this transaction.
#[derive(Debug)]
pub(super) struct Usage {
    pub(super) namespace: String,
    pub(super) before: i64,
    pub(super) now: i64,
    /// What it may use.
    pub(super) quota: u64,
}

impl Transaction {
    /// Keeps what was written.
    pub fn commit(mut self) -> Result<(), DatabaseError> {
        self.store_usage()?;
        self.statement("COMMIT")?.execute([]).map_err(|e| self.database.error(&e))?;
        if let Some(connection) = self.connection.take() {
            self.database.give_back(connection);
        }
        Ok(())
    }

    pub(super) fn statement(&self, sql: &str) -> Result<CachedStatement<'_>, DatabaseError> {
        let Some(connection) = &self.connection else {
            return Err(DatabaseError::Other("the transaction has ended".to_owned()));
        };
        // SQLite ends a transaction by itself after some errors, such as a full disk. What
        // followed would be kept without a commit.
        if connection.is_autocommit() {
            return Err(DatabaseError::Other("an earlier error has ended the transaction".to_owned()));
        }
        connection.prepare_cached(sql).map_err(|e| self.database.error(&e))
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        let rolled_back = connection.prepare_cached("ROLLBACK").and_then(|mut s| s.execute([])).is_ok();
        // A connection that cannot roll back is closed, which rolls back too.
        if rolled_back {
            self.database.give_back(connection);
        }
    }
}
