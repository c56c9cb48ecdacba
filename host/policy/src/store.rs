//! `[store]`: where what tools keep is.

use scorpiox_rules::{Source, Sourced};

/// Where what tools keep is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StorePolicy {
    /// Where that is decided, if it is.
    pub source: Option<Source>,
    /// The database; files of this machine, if there is none.
    pub database: Option<DatabasePolicy>,
}

/// A PostgreSQL database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabasePolicy {
    /// Where it is, without a password.
    pub address: Sourced<String>,
    /// The file with the password, where no variable has it.
    pub password_file: Option<Sourced<String>>,
    /// Most connections of one process.
    pub connections: Sourced<usize>,
    /// Whether a process makes its tables, or changes them for a newer version.
    pub migrate: Sourced<bool>,
}

impl DatabasePolicy {
    /// Connections, where nothing is said.
    pub(crate) const CONNECTIONS: usize = 16;
}
