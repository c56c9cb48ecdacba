//! Connections to the file.

use std::path::PathBuf;

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};

use super::Durability;
use super::create::{self, FORMAT};
use crate::implementing::Writers;
use crate::{Mode, StoreError};

/// Connections that are kept open while nothing uses them.
const MAX_IDLE: usize = 4;

/// Prepared statements that a connection keeps.
const STATEMENTS: usize = 32;

/// The file, and the connections to it that nothing uses.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) path: PathBuf,
    durability: Durability,
    idle: Mutex<Vec<Connection>>,
    pub(super) writers: Writers,
}

impl Pool {
    pub(super) fn new(path: PathBuf, durability: Durability) -> Self {
        Self { path, durability, idle: Mutex::default(), writers: Writers::default() }
    }

    pub(super) fn error(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(error, &self.path)
    }

    /// A connection; the file is made if there is none.
    pub(super) fn connection(&self) -> Result<Connection, StoreError> {
        let idle = self.idle.lock().pop();
        if let Some(connection) = idle {
            return Ok(connection);
        }
        if !self.path.exists() {
            create::file(&self.path)?;
        }
        self.open()
    }

    /// Begins a transaction on a connection; a conflict leaves that usable.
    pub(super) fn begin(&self, connection: &Connection, mode: Mode) -> Result<(), StoreError> {
        let sql = match mode {
            Mode::ReadFirst => "BEGIN DEFERRED",
            Mode::Write => "BEGIN IMMEDIATE",
        };
        let begun = connection.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
        begun.map(drop).map_err(|e| self.error(&e))
    }

    pub(super) fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.lock();
        if idle.len() < MAX_IDLE {
            idle.push(connection);
        }
    }

    /// Closes the connections that nothing uses.
    pub(super) fn close_idle(&self) {
        self.idle.lock().clear();
    }

    /// A new connection to the file, which is there.
    pub(super) fn open(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags).map_err(|e| self.error(&e))?;
        // A file that is another's alone for an instant is opened for reading alone, by SQLite.
        if cfg!(windows) && connection.is_readonly(rusqlite::MAIN_DB).map_err(|e| self.error(&e))? {
            return Err(StoreError::ReadOnly(self.path.display().to_string()));
        }
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        self.prepare(&connection)?;
        Ok(connection)
    }

    /// Whether what is kept has to be on the disk before the next thing is done.
    pub(super) fn waits_for_disk(&self) -> bool {
        matches!(self.durability, Durability::Power)
    }

    fn prepare(&self, connection: &Connection) -> Result<(), StoreError> {
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
            0 => Err(StoreError::Damaged(self.path.display().to_string())),
            found => Err(StoreError::Newer { path: self.path.display().to_string(), found, known: FORMAT }),
        }
    }
}
