//! The reference model: a workspace in memory.
//!
//! It does what the documentation of [`Store`] and [`Transaction`] says in the simplest way, and nothing for speed: a
//! snapshot is the whole state, shared until it is written to, and a commit puts the transaction's state in its
//! place. Other implementations are compared with it; tests of what is above use it where files do not matter.

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

/// The state of one workspace, in memory. A clone is the same workspace, opened once more. The state ends with the
/// last of them and of their transactions.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    workspace: Arc<Workspace>,
}

impl MemoryStore {
    /// A workspace of its own, in which nothing was ever stored.
    pub fn new() -> Self {
        Self::default()
    }
}

#[derive(Debug, Default)]
struct Workspace(Mutex<Committed>);

/// What all transactions share.
#[derive(Debug, Default)]
struct Committed {
    state: Arc<State>,
    /// How many commits changed something.
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

/// How often to ask during a wait.
const INTERVAL: Duration = Duration::from_millis(10);

struct MemoryChanges {
    workspace: Arc<Workspace>,
    /// The version that its owner was told of last.
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
