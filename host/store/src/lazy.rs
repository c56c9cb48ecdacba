//! The one transaction of a call, begun at its first use.

use std::sync::Arc;

use scorpiox_executor::Cancel;

use super::{Database, DatabaseError, Mode, Transaction};

/// What a call uses to reach the database.
pub struct LazyTransaction {
    database: Arc<Database>,
    mode: Mode,
    cancel: Cancel,
    on_wait: Arc<dyn Fn() + Send + Sync>,
    open: Option<Transaction>,
}

impl LazyTransaction {
    /// A transaction on `database` that has not begun. `on_wait` is told when the call has
    /// to wait for another server's writing.
    pub fn new(
        database: Arc<Database>,
        mode: Mode,
        cancel: Cancel,
        on_wait: Arc<dyn Fn() + Send + Sync>,
    ) -> Self {
        Self { database, mode, cancel, on_wait, open: None }
    }

    /// The transaction, begun if it was not.
    pub fn get(&mut self) -> Result<&mut Transaction, DatabaseError> {
        if self.open.is_none() {
            self.open = Some(self.database.begin(self.mode, &self.cancel, &mut || (self.on_wait)())?);
        }
        self.open.as_mut().ok_or_else(|| DatabaseError::Other("no transaction".to_owned()))
    }

    /// Whether messages wait in the database; `None` when nothing was begun, so that it is
    /// not known.
    pub fn has_messages(&mut self) -> Result<Option<bool>, DatabaseError> {
        self.open.as_mut().map(Transaction::has_messages).transpose()
    }

    /// Keeps what was written so far. What follows is a transaction that no other writer can get
    /// in between: there is no going back to the beginning of the call any more.
    pub fn commit_now(&mut self) -> Result<(), DatabaseError> {
        if self.cancel.is_set() {
            return Err(DatabaseError::Cancelled);
        }
        let open = self.open.take();
        open.map_or(Ok(()), Transaction::commit)?;
        self.mode = Mode::Write;
        Ok(())
    }

    /// Keeps what was written, if anything was begun and the call was not cancelled.
    pub fn commit(self) -> Result<(), DatabaseError> {
        match self.open {
            Some(_) if self.cancel.is_set() => Err(DatabaseError::Cancelled),
            Some(open) => open.commit(),
            None => Ok(()),
        }
    }
}
