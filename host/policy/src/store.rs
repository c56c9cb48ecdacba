//! `[store]`: storage backend for tool data.

use crate::rule::{Source, Sourced};

/// Storage backend for tool data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StorePolicy {
    /// Source of the table, if there is one.
    pub source: Option<Source>,
    /// Database; `None` stores data in local files.
    pub database: Option<DatabasePolicy>,
}

/// A PostgreSQL database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabasePolicy {
    /// Address, without a password.
    pub address: Sourced<String>,
    /// File with the password, used if no environment variable contains it.
    pub password_file: Option<Sourced<String>>,
    /// Maximum number of connections of one process.
    pub connections: Sourced<usize>,
    /// `true` if a process may create its tables and migrate them to a newer version.
    pub migrate: Sourced<bool>,
}

impl DatabasePolicy {
    /// Default maximum number of connections.
    pub(crate) const CONNECTIONS: usize = 16;
}
