//! All workspaces of which something is kept, in files and in a database.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scorpiox_operator::Operator;
use scorpiox_postgres::Database;
use scorpiox_store::{Durability, NoName, SqliteStore, Store, StoreError, WorkspaceName};

use crate::Databases;

/// The name of a workspace that was found, or what stands in its place.
pub type Found = Result<WorkspaceName, NoName>;

/// What is kept, wherever it is.
#[derive(Debug)]
pub struct Kept {
    folder: PathBuf,
    durability: Durability,
    database: Option<Arc<Database>>,
}

impl Kept {
    /// What is in this folder, and in the database of the policy.
    ///
    /// # Errors
    ///
    /// Those of [`Databases::chosen`].
    pub fn new(
        operator: &Arc<Operator>,
        databases: &Databases,
        folder: PathBuf,
        durability: Durability,
    ) -> Result<Self, StoreError> {
        Ok(Self { folder, durability, database: databases.chosen(operator)? })
    }

    /// The database, where the policy names one.
    pub fn database(&self) -> Option<&Arc<Database>> {
        self.database.as_ref()
    }

    /// The workspaces in files, by their names.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read.
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

    /// The workspaces in the database.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn in_database(&self) -> Result<Vec<Found>, StoreError> {
        self.database.as_ref().map_or_else(|| Ok(Vec::new()), |database| database.workspaces())
    }

    /// The workspace of a name, in its file, whether there is one or not.
    pub fn file(&self, name: &WorkspaceName) -> SqliteStore {
        SqliteStore::new(self.folder.join(format!("{name}.db")), self.durability)
    }

    /// The workspace of a name in the database, where the policy names one.
    pub fn row(&self, name: &WorkspaceName) -> Option<Arc<dyn Store>> {
        let database = self.database.as_ref()?;
        Some(Arc::new(database.workspace(name)))
    }

    /// All of them that are anywhere.
    ///
    /// # Errors
    ///
    /// What cannot be read.
    pub fn everywhere(&self) -> Result<Vec<Arc<dyn Store>>, StoreError> {
        let mut all: Vec<Arc<dyn Store>> = Vec::new();
        // Nothing of this program uses what has another name.
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
