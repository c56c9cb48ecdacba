//! Connections to the file.

use std::path::PathBuf;

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};

use super::Durability;
use super::create::{self, FORMAT};
use crate::implementing::Writers;
use crate::{Mode, StoreError};

/// Maximum number of idle connections.
const MAX_IDLE: usize = 4;

/// Maximum number of cached prepared statements per connection.
const STATEMENTS: usize = 32;

/// File and its idle connections.
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

    /// Returns a connection. Creates the file if it does not exist.
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

    /// Starts a transaction on a connection. After a conflict the connection is still usable.
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

    /// Closes the idle connections.
    pub(super) fn close_idle(&self) {
        self.idle.lock().clear();
    }

    /// Opens a connection to the existing file.
    pub(super) fn open(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags).map_err(|e| self.error(&e))?;
        // SQLite falls back to read-only access while another process has exclusive access to the file.
        if cfg!(windows) && connection.is_readonly(rusqlite::MAIN_DB).map_err(|e| self.error(&e))? {
            return Err(StoreError::ReadOnly(self.path.display().to_string()));
        }
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        self.prepare(&connection)?;
        Ok(connection)
    }

    /// Returns `true` if a commit waits for the disk.
    pub(super) fn waits_for_disk(&self) -> bool {
        matches!(self.durability, Durability::Power)
    }

    fn prepare(&self, connection: &Connection) -> Result<(), StoreError> {
        let synchronous = match self.durability {
            Durability::Process => "NORMAL",
            Durability::Power => "FULL",
        };
        // `retry_while_locked` waits for locks, because it can be cancelled.
        let settings = format!("PRAGMA busy_timeout = 0; PRAGMA synchronous = {synchronous};");
        connection.execute_batch(&settings).map_err(|e| self.error(&e))?;
        match create::format(connection).map_err(|e| self.error(&e))? {
            FORMAT => Ok(()),
            // The file was complete when it got its name. An empty file has lost its data, which may include
            // the fact that a plan is active.
            0 => Err(StoreError::Damaged(self.path.display().to_string())),
            found => Err(StoreError::Newer { path: self.path.display().to_string(), found, known: FORMAT }),
        }
    }
}
