//! Deleting and listing namespaces.

use rusqlite::params;

use super::damage::shown;
use super::transaction::SqliteTransaction;
use crate::StoreError;
use crate::implementing::Seen;

/// Tables with data of namespaces.
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
    // The recorded lengths are invalid.
    transaction.seen = Seen::default();
    Ok(deleted > 0)
}

pub(super) fn namespaces(transaction: &SqliteTransaction) -> Result<Vec<String>, StoreError> {
    let mut statement = transaction.statement(
        "SELECT namespace FROM kv UNION SELECT namespace FROM timer UNION SELECT namespace FROM message ORDER BY 1",
    )?;
    let name = |row: &rusqlite::Row<'_>| {
        let value = row.get_ref(0)?;
        Ok(value.as_str().map(str::to_owned).map_err(|_| format!("the namespace {}", shown(value))))
    };
    let rows = statement.query_map([], name).map_err(|e| transaction.pool.error(&e))?;
    transaction.whole(rows)
}
