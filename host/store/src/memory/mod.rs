//! Reference model: a workspace in memory.
//!
//! It implements the documentation of [`Store`] and [`Transaction`] in the simplest way, without
//! optimization. A snapshot is the complete state, copied on write, and a commit replaces the shared state.
//! Other implementations are compared with it. Tests of higher layers use it if files are irrelevant.

mod state;
mod transaction;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use scorpiox_executor::Cancel;

use crate::implementing::retry_while_locked;
use crate::{Changes, Mode, Store, StoreError, Transaction, poll_every};
use state::State;
use transaction::MemoryTransaction;

/// State of a workspace in memory. A clone opens the same workspace. The state is dropped with the last clone
/// and the last transaction.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    workspace: Arc<Workspace>,
}

impl MemoryStore {
    /// Creates a new, empty workspace.
    pub fn new() -> Self {
        Self::default()
    }
}

#[derive(Debug, Default)]
struct Workspace(Mutex<Committed>);

/// State shared by all transactions.
#[derive(Debug, Default)]
struct Committed {
    state: Arc<State>,
    /// Number of commits that changed something.
    version: u64,
    has_writer: bool,
}

impl Workspace {
    fn lock(&self) -> MutexGuard<'_, Committed> {
        self.0.lock()
    }

    fn version(&self) -> u64 {
        self.lock().version
    }
}

impl Store for MemoryStore {
    fn location(&self) -> String {
        "memory".to_owned()
    }

    fn exists(&self) -> bool {
        self.workspace.version() > 0
    }

    fn is_absent(&self) -> Result<bool, StoreError> {
        Ok(!self.exists())
    }

    fn begin(
        &self,
        mode: Mode,
        cancel: &Cancel,
        on_wait: &mut dyn FnMut(),
    ) -> Result<Box<dyn Transaction>, StoreError> {
        retry_while_locked(cancel, on_wait, || self.try_begin(mode))
    }

    fn try_begin(&self, mode: Mode) -> Result<Box<dyn Transaction>, StoreError> {
        let mut transaction = MemoryTransaction::new(Arc::clone(&self.workspace));
        if mode == Mode::Write {
            transaction.become_writer()?;
        }
        Ok(Box::new(transaction))
    }

    fn changes(&self) -> Result<Box<dyn Changes>, StoreError> {
        let told = self.workspace.version();
        Ok(Box::new(MemoryChanges { workspace: Arc::clone(&self.workspace), told }))
    }
}

/// Polling interval during a wait.
const INTERVAL: Duration = Duration::from_millis(10);

struct MemoryChanges {
    workspace: Arc<Workspace>,
    /// Last reported version.
    told: u64,
}

impl Changes for MemoryChanges {
    fn changed(&mut self) -> Result<bool, StoreError> {
        let now = self.workspace.version();
        Ok(std::mem::replace(&mut self.told, now) != now)
    }

    fn wait(&mut self, at_most: Duration, cancel: &Cancel) -> Result<bool, StoreError> {
        poll_every(INTERVAL, at_most, cancel, || self.changed())
    }
}
