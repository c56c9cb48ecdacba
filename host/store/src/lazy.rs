//! Transaction of a call, started on first use.

use std::sync::Arc;

use scorpiox_executor::Cancel;

use super::{Mode, Store, StoreError, Transaction};

/// Access of a call to the store.
pub struct LazyTransaction {
    store: Arc<dyn Store>,
    mode: Mode,
    cancel: Cancel,
    on_wait: Arc<dyn Fn() + Send + Sync>,
    open: Option<Box<dyn Transaction>>,
}

impl LazyTransaction {
    /// Creates a transaction on `store` that is not started. `on_wait` is called when the call has to wait
    /// for a writer of another server.
    pub fn new(
        store: Arc<dyn Store>,
        mode: Mode,
        cancel: Cancel,
        on_wait: Arc<dyn Fn() + Send + Sync>,
    ) -> Self {
        Self { store, mode, cancel, on_wait, open: None }
    }

    /// Returns the transaction, and starts it if necessary.
    pub fn get(&mut self) -> Result<&mut dyn Transaction, StoreError> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.store.begin(self.mode, &self.cancel, &mut || (self.on_wait)())?,
        };
        Ok(&mut **self.open.insert(open))
    }

    /// Returns whether messages are pending; `None` if the transaction is not started, because it is unknown.
    pub fn has_messages(&mut self) -> Result<Option<bool>, StoreError> {
        self.open.as_mut().map(|open| open.has_messages()).transpose()
    }

    /// Commits all writes so far. The next transaction is a writer, so no other writer can interleave with
    /// its operations. The call cannot be restarted afterwards.
    pub fn commit_now(&mut self) -> Result<(), StoreError> {
        if self.cancel.is_set() {
            return Err(StoreError::Cancelled);
        }
        if let Some(open) = self.open.take() {
            open.commit()?;
        }
        self.mode = Mode::Write;
        Ok(())
    }

    /// Commits all writes. Does nothing if the transaction is not started, and fails if the call was
    /// cancelled.
    pub fn commit(self) -> Result<(), StoreError> {
        match self.open {
            Some(_) if self.cancel.is_set() => Err(StoreError::Cancelled),
            Some(open) => open.commit(),
            None => Ok(()),
        }
    }
}
