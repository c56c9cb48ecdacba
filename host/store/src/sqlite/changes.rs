//! Change notification by `PRAGMA data_version`, which changes with each commit of another connection.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use scorpiox_executor::Cancel;

use super::pool::Pool;
use crate::{Changes, StoreError, poll_every};

/// Polling interval during a wait; SQLite does not notify other processes of commits.
const INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct SqliteChanges {
    pool: Arc<Pool>,
    /// Connection and last version; `None` while the file does not exist. A dedicated connection is needed,
    /// because versions of different connections are not comparable and a connection ignores its own commits.
    asking: Option<(Connection, i64)>,
}

impl SqliteChanges {
    pub(super) fn new(pool: Arc<Pool>) -> Result<Self, StoreError> {
        let mut changes = Self { pool, asking: None };
        changes.open()?;
        Ok(changes)
    }

    /// Opens the file if it exists. Returns `true` on success.
    fn open(&mut self) -> Result<bool, StoreError> {
        if !self.pool.path.exists() {
            return Ok(false);
        }
        let connection = self.pool.open()?;
        let version = version(&connection).map_err(|e| self.pool.error(&e))?;
        self.asking = Some((connection, version));
        Ok(true)
    }
}

impl Changes for SqliteChanges {
    fn changed(&mut self) -> Result<bool, StoreError> {
        let Some((connection, last)) = &mut self.asking else { return self.open() };
        match version(connection).map_err(|e| self.pool.error(&e)) {
            Ok(now) => Ok(std::mem::replace(last, now) != now),
            // The write-ahead log is being recovered by another process.
            Err(StoreError::Conflict) => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn wait(&mut self, at_most: Duration, cancel: &Cancel) -> Result<bool, StoreError> {
        poll_every(INTERVAL, at_most, cancel, || self.changed())
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}
