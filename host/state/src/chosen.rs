//! The store of one workspace, wherever it is.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use scorpiox_executor::Cancel;
use scorpiox_operator::Operator;
use scorpiox_store::{
    Changes, Durability, Mode, SqliteStore, Store, StoreError, Tell, Transaction, WorkspaceName,
};

use crate::Databases;

/// What a workspace keeps, where the policy says. Making the value reads nothing.
#[derive(Debug)]
pub struct ChosenStore {
    operator: Arc<Operator>,
    databases: Arc<Databases>,
    /// The file, where it is one.
    file: PathBuf,
    durability: Durability,
    chosen: OnceLock<Arc<dyn Store>>,
}

impl ChosenStore {
    /// The store of the workspace whose file would be this one. In a database it has the name of the file, without its
    /// end: a workspace is the same for all servers that have it at the same path.
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

    fn clock_ahead(&self) -> i64 {
        // Who has not used it yet has nothing to go by.
        self.chosen.get().map_or(0, |store| store.clock_ahead())
    }

    fn changes(&self) -> Result<Box<dyn Changes>, StoreError> {
        self.chosen()?.changes()
    }
}
