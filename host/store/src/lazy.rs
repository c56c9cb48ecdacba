//! The one transaction of a call, begun at its first use.

use std::sync::Arc;

use scorpiox_executor::Cancel;

use super::{Mode, Store, StoreError, Transaction};

/// What a call uses to reach the store.
pub struct LazyTransaction {
    store: Arc<dyn Store>,
    mode: Mode,
    cancel: Cancel,
    on_wait: Arc<dyn Fn() + Send + Sync>,
    open: Option<Box<dyn Transaction>>,
}

impl LazyTransaction {
    /// A transaction on `store` that has not begun. `on_wait` is told when the call has to wait for
    /// another server's writing.
    pub fn new(
        store: Arc<dyn Store>,
        mode: Mode,
        cancel: Cancel,
        on_wait: Arc<dyn Fn() + Send + Sync>,
    ) -> Self {
        Self { store, mode, cancel, on_wait, open: None }
    }

    /// The transaction, begun if it was not.
    pub fn get(&mut self) -> Result<&mut dyn Transaction, StoreError> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.store.begin(self.mode, &self.cancel, &mut || (self.on_wait)())?,
        };
        Ok(&mut **self.open.insert(open))
    }

    /// Whether messages wait in the store; `None` when nothing was begun, so that it is not known.
    pub fn has_messages(&mut self) -> Result<Option<bool>, StoreError> {
        self.open.as_mut().map(|open| open.has_messages()).transpose()
    }

    /// Keeps what was written so far. What follows is a transaction that no other writer can get in
    /// between: there is no going back to the beginning of the call any more.
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

    /// Keeps what was written, if anything was begun and the call was not cancelled.
    pub fn commit(self) -> Result<(), StoreError> {
        match self.open {
            Some(_) if self.cancel.is_set() => Err(StoreError::Cancelled),
            Some(open) => open.commit(),
            None => Ok(()),
        }
    }
}
