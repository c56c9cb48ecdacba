//! Store of a workspace, in a file or in a database.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use scorpiox_executor::Cancel;
use scorpiox_store::{
    Changes, Durability, Mode, SqliteStore, Store, StoreError, Tell, Transaction, WorkspaceName,
};
use scorpiox_workspace_config::Operator;

use crate::state::Databases;

/// Store of a workspace, at the location that the policy selects. Creating the value reads nothing.
#[derive(Debug)]
pub struct ChosenStore {
    operator: Arc<Operator>,
    databases: Arc<Databases>,
    /// Path of the SQLite file, if the policy selects files.
    file: PathBuf,
    durability: Durability,
    chosen: OnceLock<Arc<dyn Store>>,
}

impl ChosenStore {
    /// Creates the store of the workspace that would use `file`. In a database, the workspace is named after
    /// the file, without its extension. All servers that use a workspace at the same path share it.
    pub fn new(
        operator: Arc<Operator>,
        databases: Arc<Databases>,
        file: PathBuf,
        durability: Durability,
    ) -> Self {
        Self { operator, databases, file, durability, chosen: OnceLock::new() }
    }

    fn chosen(&self) -> Result<&dyn Store, StoreError> {
        if let Some(store) = self.chosen.get() {
            return Ok(&**store);
        }
        let store: Arc<dyn Store> = match self.databases.chosen(&self.operator)? {
            None => Arc::new(SqliteStore::new(self.file.clone(), self.durability)),
            Some(database) => Arc::new(database.workspace(&self.name()?)),
        };
        Ok(&**self.chosen.get_or_init(|| store))
    }

    fn name(&self) -> Result<WorkspaceName, StoreError> {
        let stem = self.file.file_stem().unwrap_or_default().to_string_lossy();
        WorkspaceName::parse(&stem).map_err(|error| StoreError::Other(error.to_string()))
    }
}

impl Store for ChosenStore {
    fn location(&self) -> String {
        match self.chosen() {
            Ok(store) => store.location(),
            Err(error) => format!("unknown ({error})"),
        }
    }

    fn exists(&self) -> bool {
        self.chosen().is_ok_and(Store::exists)
    }

    fn is_absent(&self) -> Result<bool, StoreError> {
        self.chosen()?.is_absent()
    }

    fn begin(
        &self,
        mode: Mode,
        cancel: &Cancel,
        on_wait: &mut dyn FnMut(),
    ) -> Result<Box<dyn Transaction>, StoreError> {
        self.chosen()?.begin(mode, cancel, on_wait)
    }

    fn try_begin(&self, mode: Mode) -> Result<Box<dyn Transaction>, StoreError> {
        self.chosen()?.try_begin(mode)
    }

    fn hear(&self, tell: Tell) -> Result<(), StoreError> {
        self.chosen()?.hear(tell)
    }

    fn hears(&self) -> Result<(), StoreError> {
        self.chosen.get().map_or(Ok(()), |store| store.hears())
    }

    fn answers(&self) -> Result<(), StoreError> {
        self.chosen()?.answers()
    }

    fn clock_ahead(&self) -> i64 {
        // A store that is not opened yet has no measured clock offset.
        self.chosen.get().map_or(0, |store| store.clock_ahead())
    }

    fn changes(&self) -> Result<Box<dyn Changes>, StoreError> {
        self.chosen()?.changes()
    }
}
