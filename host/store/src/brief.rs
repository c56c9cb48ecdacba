//! Store wrapper for operations that must not block for long.

use std::sync::Arc;

use scorpiox_executor::Cancel;

use crate::{Changes, Mode, Store, StoreError, Tell, Transaction};

/// Store that waits for an unresponsive backend only as long as [`Store::try_begin`] does. Use it for queries
/// that precede other work and must fail quickly if the store does not respond.
#[derive(Debug)]
pub struct BriefStore(Arc<dyn Store>);

impl BriefStore {
    /// Wraps a store.
    pub fn of(store: &Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Self(Arc::clone(store)))
    }
}

impl Store for BriefStore {
    fn location(&self) -> String {
        self.0.location()
    }

    fn exists(&self) -> bool {
        self.0.exists()
    }

    fn is_absent(&self) -> Result<bool, StoreError> {
        self.0.is_absent()
    }

    fn begin(
        &self,
        mode: Mode,
        cancel: &Cancel,
        on_wait: &mut dyn FnMut(),
    ) -> Result<Box<dyn Transaction>, StoreError> {
        match self.0.try_begin(mode) {
            // A conflict shows that the store responds, so waiting for the other writer is acceptable.
            Err(StoreError::Conflict) => self.0.begin(mode, cancel, on_wait),
            begun => begun,
        }
    }

    fn try_begin(&self, mode: Mode) -> Result<Box<dyn Transaction>, StoreError> {
        self.0.try_begin(mode)
    }

    fn hear(&self, tell: Tell) -> Result<(), StoreError> {
        self.0.hear(tell)
    }

    fn hears(&self) -> Result<(), StoreError> {
        self.0.hears()
    }

    fn answers(&self) -> Result<(), StoreError> {
        self.0.answers()
    }

    fn clock_ahead(&self) -> i64 {
        self.0.clock_ahead()
    }

    fn changes(&self) -> Result<Box<dyn Changes>, StoreError> {
        self.0.changes()
    }
}
