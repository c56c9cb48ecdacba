//! Timers that are armed.

use scorpiox_store::{StoreError, Timer};
use tokio_postgres::Row;

use crate::transaction::PostgresTransaction;

pub(crate) fn arm(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    id: u32,
    due: u64,
) -> Result<(), StoreError> {
    let workspace = transaction.workspace;
    transaction.send(
        "INSERT INTO scorpiox_code.timer (workspace, namespace, id, due) VALUES ($1, $2, $3, $4)
         ON CONFLICT (workspace, namespace, id) DO UPDATE SET due = excluded.due",
        vec![
            Box::new(workspace),
            Box::new(namespace.as_bytes().to_vec()),
            Box::new(i64::from(id)),
            Box::new(signed(due)),
        ],
    )
}

pub(crate) fn postpone(
    transaction: &mut PostgresTransaction,
    timer: &Timer,
    due: u64,
) -> Result<(), StoreError> {
    let workspace = transaction.workspace;
    let changed = transaction.write(
        "UPDATE scorpiox_code.timer SET due = $5
         WHERE workspace = $1 AND namespace = $2 AND id = $3 AND due = $4",
        &[&workspace, &timer.namespace.as_bytes(), &i64::from(timer.id), &signed(timer.due), &signed(due)],
    );
    changed.map(drop)
}

pub(crate) fn disarm(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    id: u32,
) -> Result<(), StoreError> {
    let workspace = transaction.workspace;
    let changed = transaction.write(
        "DELETE FROM scorpiox_code.timer WHERE workspace = $1 AND namespace = $2 AND id = $3",
        &[&workspace, &namespace.as_bytes(), &i64::from(id)],
    );
    changed.map(drop)
}

/// The timers of a namespace, by their ids.
pub(crate) fn of(transaction: &mut PostgresTransaction, namespace: &str) -> Result<Vec<Timer>, StoreError> {
    let workspace = transaction.workspace;
    let rows = transaction.rows(
        "SELECT id, due FROM scorpiox_code.timer WHERE workspace = $1 AND namespace = $2 ORDER BY id",
        &[&workspace, &namespace.as_bytes()],
    )?;
    let timer = |row: &Row| Timer {
        namespace: namespace.to_owned(),
        id: u32::try_from(row.get::<_, i64>(0)).unwrap_or_default(),
        due: row.get::<_, i64>(1).unsigned_abs(),
    };
    Ok(rows.iter().map(timer).collect())
}

pub(crate) fn next(transaction: &mut PostgresTransaction) -> Result<Option<Timer>, StoreError> {
    let workspace = transaction.workspace;
    let row = transaction.row(
        "SELECT namespace, id, due FROM scorpiox_code.timer WHERE workspace = $1
         ORDER BY due, namespace, id LIMIT 1",
        &[&workspace],
    )?;
    row.map(|row| {
        let namespace = String::from_utf8(row.get(0));
        Ok(Timer {
            namespace: namespace.map_err(|error| StoreError::Damaged(format!("a timer ({error})")))?,
            id: u32::try_from(row.get::<_, i64>(1)).unwrap_or_default(),
            due: row.get::<_, i64>(2).unsigned_abs(),
        })
    })
    .transpose()
}

fn signed(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}
