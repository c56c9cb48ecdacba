//! Everything of one namespace.

use rusqlite::params;

use super::transaction::SqliteTransaction;
use crate::StoreError;
use crate::implementing::Seen;

/// Where a namespace has something.
const TABLES: [&str; 3] = ["kv", "timer", "message"];

pub(super) fn forget(transaction: &mut SqliteTransaction, namespace: &str) -> Result<bool, StoreError> {
    let mut deleted = 0;
    for table in TABLES {
        deleted += transaction
            .statement(&format!("DELETE FROM {table} WHERE namespace = ?1"))?
            .execute(params![namespace])
            .map_err(|e| transaction.pool.error(&e))?;
    }
    transaction.forget_usage(namespace)?;
    // What was seen of it is no more.
    transaction.seen = Seen::default();
    Ok(deleted > 0)
}
