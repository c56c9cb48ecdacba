//! A store for what must not wait.

use std::sync::Arc;

use scorpiox_executor::Cancel;

use crate::{Changes, Mode, Store, StoreError, Tell, Transaction};

/// A store whose answers are waited for as briefly as [`Store::try_begin`] does: a question that stands before something else,
/// and that fails soon where the store does not answer.
#[derive(Debug)]
pub struct BriefStore(Arc<dyn Store>);

impl BriefStore {
    /// The same store, for such a question.
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
            // Others use it, so that it answers.
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

    fn clock_ahead(&self) -> i64 {
        self.0.clock_ahead()
    }

    fn changes(&self) -> Result<Box<dyn Changes>, StoreError> {
        self.0.changes()
    }
}
