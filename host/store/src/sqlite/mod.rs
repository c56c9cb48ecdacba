//! A workspace in a SQLite file, which the servers of one machine use at once.
//!
//! The file has a write-ahead log: a reader's snapshot is SQLite's, and the writer is who holds its write lock, which those of one process ask for in turn.
//! (In the instants where the log is set up, cleaned up, or recovered after a process was killed, reads can
//! conflict, too.)

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

/// How often Windows may refuse a file before that is taken for its answer: for some half a second.
const MAX_REFUSED: u32 = 24;

/// What a committed transaction survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the process at any instant.
    #[default]
    Process,
    /// A loss of power too; writes are several times slower.
    Power,
}

/// The state of one workspace, in a file. Making the value touches nothing on disk.
#[derive(Debug)]
pub struct SqliteStore {
    pool: Arc<Pool>,
}

impl SqliteStore {
    /// The store in the file `path`, which is created when it is first used.
    pub fn new(path: PathBuf, durability: Durability) -> Self {
        Self { pool: Arc::new(Pool::new(path, durability)) }
    }

    /// What is wrong with the file: what SQLite finds, and namespaces that use something else than was counted.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub fn problems(&self) -> Result<Vec<String>, StoreError> {
        let connection = self.pool.open()?;
        check::problems(&connection).map_err(|error| self.pool.error(&error))
    }

    /// The file.
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
            // For an instant such a file can be another's alone: of who gives it its name, or looks into it for
            // viruses. SQLite reads it then, and would go on with reading it alone.
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
