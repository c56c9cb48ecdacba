//! Transaction on a dedicated connection.

use std::sync::Arc;

use rusqlite::{CachedStatement, Connection};
use scorpiox_executor::threads;

use super::pool::Pool;
use crate::StoreError;
use crate::implementing::{Seen, Turn, Usages};

#[derive(Debug)]
pub(super) struct SqliteTransaction {
    /// Connection; `None` after the end of the transaction.
    connection: Option<Connection>,
    pub(super) pool: Arc<Pool>,
    pub(super) usages: Usages,
    pub(super) seen: Seen,
    /// Dropped after the connection is returned, so that the next writer finds the lock free.
    _turn: Option<Turn>,
}

impl SqliteTransaction {
    /// Wraps the transaction started on `connection`.
    pub(super) fn new(pool: &Arc<Pool>, connection: Connection, turn: Option<Turn>) -> Self {
        Self {
            connection: Some(connection),
            pool: Arc::clone(pool),
            usages: Usages::default(),
            seen: Seen::default(),
            _turn: turn,
        }
    }

    pub(super) fn statement(&self, sql: &str) -> Result<CachedStatement<'_>, StoreError> {
        let Some(connection) = &self.connection else {
            return Err(StoreError::Other("the transaction has ended".to_owned()));
        };
        // SQLite rolls back automatically after some errors, such as a full disk. Later statements would then
        // take effect without a commit.
        if connection.is_autocommit() {
            return Err(StoreError::Other("an earlier error has ended the transaction".to_owned()));
        }
        connection.prepare_cached(sql).map_err(|e| self.pool.error(&e))
    }

    /// Commits the transaction.
    pub(super) fn end(&mut self) -> Result<(), StoreError> {
        let commit = || self.statement("COMMIT")?.execute([]).map_err(|e| self.pool.error(&e));
        if self.pool.waits_for_disk() { threads::wait(commit) } else { commit() }?;
        if let Some(connection) = self.connection.take() {
            self.pool.give_back(connection);
        }
        Ok(())
    }
}

impl Drop for SqliteTransaction {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        let rolled_back = connection.prepare_cached("ROLLBACK").and_then(|mut s| s.execute([])).is_ok();
        // A connection that cannot roll back is closed, which also rolls back.
        if rolled_back {
            self.pool.give_back(connection);
        }
    }
}
