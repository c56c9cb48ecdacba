//! All stored workspaces, in files and in the database.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scorpiox_store::{Durability, NoName, SqliteStore, Store, StoreError, WorkspaceName};
use scorpiox_store_postgres::Database;
use scorpiox_workspace_config::Operator;

use crate::state::Databases;

/// Name of a workspace that was found, or the invalid name.
pub type Found = Result<WorkspaceName, NoName>;

/// Workspace data in a directory and a database.
#[derive(Debug)]
pub struct Kept {
    folder: PathBuf,
    durability: Durability,
    database: Option<Arc<Database>>,
}

impl Kept {
    /// Opens the workspaces in this directory and in the policy's database.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Databases::chosen`].
    pub fn new(
        operator: &Arc<Operator>,
        databases: &Databases,
        folder: PathBuf,
        durability: Durability,
    ) -> Result<Self, StoreError> {
        Ok(Self { folder, durability, database: databases.chosen(operator)? })
    }

    /// Returns the database, if the policy names one.
    pub fn database(&self) -> Option<&Arc<Database>> {
        self.database.as_ref()
    }

    /// Lists the workspaces stored in files, sorted by name.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be read.
    pub fn in_files(&self) -> Result<Vec<Found>, StoreError> {
        let told = |error: io::Error| unreadable(&self.folder, &error);
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(told)?,
        };
        let mut names: Vec<String> = Vec::new();
        for entry in entries {
            let path = entry.map_err(told)?.path();
            let is_one = path.extension().is_some_and(|extension| extension == "db");
            names.extend(path.file_stem().filter(|_| is_one).map(|stem| stem.to_string_lossy().into_owned()));
        }
        names.sort_unstable();
        Ok(names.iter().map(|name| WorkspaceName::parse(name)).collect())
    }

    /// Lists the workspaces in the database.
    ///
    /// # Errors
    ///
    /// Returns the errors of the database.
    pub fn in_database(&self) -> Result<Vec<Found>, StoreError> {
        self.database.as_ref().map_or_else(|| Ok(Vec::new()), |database| database.workspaces())
    }

    /// Returns the store of a workspace in its file, even if the file does not exist.
    pub fn file(&self, name: &WorkspaceName) -> SqliteStore {
        SqliteStore::new(self.folder.join(format!("{name}.db")), self.durability)
    }

    /// Returns the store of a workspace in the database, if the policy names one.
    pub fn row(&self, name: &WorkspaceName) -> Option<Arc<dyn Store>> {
        let database = self.database.as_ref()?;
        Some(Arc::new(database.workspace(name)))
    }

    /// Returns the stores of all workspaces, in files and in the database.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory or the database cannot be read.
    pub fn everywhere(&self) -> Result<Vec<Arc<dyn Store>>, StoreError> {
        let mut all: Vec<Arc<dyn Store>> = Vec::new();
        // Files with invalid names are not used by this program.
        for name in self.in_files()?.iter().flatten() {
            all.push(Arc::new(self.file(name)));
        }
        all.extend(self.in_database()?.iter().flatten().filter_map(|name| self.row(name)));
        Ok(all)
    }
}

fn unreadable(folder: &Path, error: &io::Error) -> StoreError {
    StoreError::Other(format!("{} cannot be read: {error}", folder.display()))
}
