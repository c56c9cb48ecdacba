//! Everything of one namespace.

use rusqlite::params;

use super::keys::Seen;
use super::{DatabaseError, Transaction};

/// Where a namespace has something.
const TABLES: [&str; 4] = ["kv", "usage", "timer", "message"];

impl Transaction {
    /// Deletes all that a namespace has: keys, timers, messages. Whether there was anything.
    pub fn forget(&mut self, namespace: &str) -> Result<bool, DatabaseError> {
        let mut deleted = 0;
        for table in TABLES {
            deleted += self
                .statement(&format!("DELETE FROM {table} WHERE namespace = ?1"))?
                .execute(params![namespace])
                .map_err(|error| self.database.error(&error))?;
        }
        // What was seen of it is no more.
        self.seen = Seen::default();
        Ok(deleted > 0)
    }
}
