//! Workspace in an SQLite file, shared by the servers of one machine.
//!
//! The file uses a write-ahead log. Snapshots are SQLite's, and the writer is the holder of SQLite's write
//! lock; the writers of a process queue for it. Reads can also conflict briefly while the log is created,
//! removed, or recovered after a process was killed.

mod changes;
mod check;
mod create;
mod damage;
mod error;
mod forget;
mod keys;
mod messages;
mod operations;
mod pool;
mod scan;
mod timers;
mod transaction;
mod usage;

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scorpiox_executor::Cancel;

use crate::implementing::retry_while_locked;
use crate::{Changes, Mode, Store, StoreError, Transaction};
use changes::SqliteChanges;
use pool::Pool;
use transaction::SqliteTransaction;

/// Maximum number of retries if Windows denies access to the file, about half a second in total.
const MAX_REFUSED: u32 = 24;

/// Durability of committed transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Survives termination of the process at any instant.
    #[default]
    Process,
    /// Also survives a power failure. Writes are several times slower.
    Power,
}

/// State of a workspace in a file. Creating the value does not access the disk.
#[derive(Debug)]
pub struct SqliteStore {
    pool: Arc<Pool>,
}

impl SqliteStore {
    /// Creates a store for the file `path`, which is created on first use.
    pub fn new(path: PathBuf, durability: Durability) -> Self {
        Self { pool: Arc::new(Pool::new(path, durability)) }
    }

    /// Checks the file: SQLite's integrity check, and namespaces whose actual usage differs from the recorded
    /// one.
    ///
    /// # Errors
    ///
    /// Fails if the file is unreadable.
    pub fn problems(&self) -> Result<Vec<String>, StoreError> {
        let connection = self.pool.open()?;
        check::problems(&connection).map_err(|error| self.pool.error(&error))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.pool.path
    }
}

impl Store for SqliteStore {
    fn location(&self) -> String {
        self.pool.path.display().to_string()
    }

    fn exists(&self) -> bool {
        self.pool.path.exists()
    }

    fn is_absent(&self) -> Result<bool, StoreError> {
        match self.pool.path.symlink_metadata() {
            Ok(_) => Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(StoreError::from_io(&error, &self.pool.path)),
        }
    }

    fn begin(
        &self,
        mode: Mode,
        cancel: &Cancel,
        on_wait: &mut dyn FnMut(),
    ) -> Result<Box<dyn Transaction>, StoreError> {
        let mut is_told = false;
        let on_wait = &mut || {
            if !mem::replace(&mut is_told, true) {
                on_wait();
            }
        };
        let mut turn = match mode {
            Mode::Write => Some(self.pool.writers.turn(cancel, on_wait)?),
            Mode::ReadFirst => None,
        };
        let mut idle = None;
        let mut refused = 0;
        let begun = retry_while_locked(cancel, on_wait, || {
            let connection = match idle.take() {
                Some(connection) => Ok(connection),
                None => self.pool.connection(),
            };
            let error = match connection {
                Ok(connection) => match self.pool.begin(&connection, mode) {
                    Ok(()) => return Ok(SqliteTransaction::new(&self.pool, connection, turn.take())),
                    Err(StoreError::Conflict) => {
                        idle = Some(connection);
                        return Err(StoreError::Conflict);
                    }
                    Err(error) => error,
                },
                Err(error) => error,
            };
            // Another process may briefly have exclusive access to such a file: while it renames it, or scans
            // it for viruses. SQLite then opens the file read-only and would continue to do so.
            if cfg!(windows) && matches!(error, StoreError::ReadOnly(_)) && refused < MAX_REFUSED {
                refused += 1;
                self.pool.close_idle();
                return Err(StoreError::Conflict);
            }
            Err(error)
        });
        Ok(Box::new(begun?))
    }

    fn try_begin(&self, mode: Mode) -> Result<Box<dyn Transaction>, StoreError> {
        let turn = match mode {
            Mode::Write => Some(self.pool.writers.try_turn().ok_or(StoreError::Conflict)?),
            Mode::ReadFirst => None,
        };
        let connection = self.pool.connection()?;
        match self.pool.begin(&connection, mode) {
            Ok(()) => Ok(Box::new(SqliteTransaction::new(&self.pool, connection, turn))),
            Err(error) => {
                if error == StoreError::Conflict {
                    self.pool.give_back(connection);
                }
                Err(error)
            }
        }
    }

    fn changes(&self) -> Result<Box<dyn Changes>, StoreError> {
        Ok(Box::new(SqliteChanges::new(Arc::clone(&self.pool))?))
    }
}
