//! Deletes a namespace and lists the namespaces.

use scorpiox_store::StoreError;
use scorpiox_store::implementing::Seen;

use crate::damage::text;
use crate::transaction::PostgresTransaction;

/// Statements that delete the rows of a namespace from each table.
const DELETE: [&str; 3] = [
    "DELETE FROM scorpiox_code.entry WHERE workspace = $1 AND namespace = $2",
    "DELETE FROM scorpiox_code.timer WHERE workspace = $1 AND namespace = $2",
    "DELETE FROM scorpiox_code.message WHERE workspace = $1 AND namespace = $2",
];

pub(crate) fn forget(transaction: &mut PostgresTransaction, namespace: &str) -> Result<bool, StoreError> {
    let workspace = transaction.workspace;
    let mut deleted = 0;
    for sql in DELETE {
        deleted += transaction.write(sql, &[&workspace, &namespace.as_bytes()])?;
    }
    transaction.forget_usage(namespace)?;
    // The cached lengths of its values are invalid.
    transaction.seen = Seen::default();
    Ok(deleted > 0)
}

pub(crate) fn namespaces(transaction: &mut PostgresTransaction) -> Result<Vec<String>, StoreError> {
    let workspace = transaction.workspace;
    let rows = transaction.rows(
        "SELECT namespace FROM scorpiox_code.entry WHERE workspace = $1
         UNION SELECT namespace FROM scorpiox_code.timer WHERE workspace = $1
         UNION SELECT substring(namespace FROM 1 FOR 4096) FROM scorpiox_code.message WHERE workspace = $1
         ORDER BY 1",
        &[&workspace],
    )?;
    let name = |row: &tokio_postgres::Row| transaction.whole(text(row.get(0), "the namespace"));
    Ok(rows.iter().filter_map(name).collect())
}
