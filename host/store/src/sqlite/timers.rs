//! Timers that are armed.

use rusqlite::{OptionalExtension, params};

use super::transaction::SqliteTransaction;
use crate::{StoreError, Timer};

pub(super) fn arm(
    transaction: &SqliteTransaction,
    namespace: &str,
    id: u32,
    due: u64,
) -> Result<(), StoreError> {
    transaction
        .statement(
            "INSERT INTO timer (namespace, id, due) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET due = excluded.due",
        )?
        .execute(params![namespace, id, signed(due)])
        .map(drop)
        .map_err(|e| transaction.pool.error(&e))
}

pub(super) fn postpone(transaction: &SqliteTransaction, timer: &Timer, due: u64) -> Result<(), StoreError> {
    transaction
        .statement("UPDATE timer SET due = ?4 WHERE namespace = ?1 AND id = ?2 AND due = ?3")?
        .execute(params![timer.namespace, timer.id, signed(timer.due), signed(due)])
        .map(drop)
        .map_err(|e| transaction.pool.error(&e))
}

pub(super) fn disarm(transaction: &SqliteTransaction, namespace: &str, id: u32) -> Result<(), StoreError> {
    transaction
        .statement("DELETE FROM timer WHERE namespace = ?1 AND id = ?2")?
        .execute(params![namespace, id])
        .map(drop)
        .map_err(|e| transaction.pool.error(&e))
}

/// The timers of a namespace, by their ids.
pub(super) fn of(transaction: &SqliteTransaction, namespace: &str) -> Result<Vec<Timer>, StoreError> {
    let timer = |row: &rusqlite::Row<'_>| {
        let due = row.get::<_, i64>(1)?.unsigned_abs();
        Ok(Timer { namespace: namespace.to_owned(), id: row.get(0)?, due })
    };
    let mut statement =
        transaction.statement("SELECT id, due FROM timer WHERE namespace = ?1 ORDER BY id")?;
    let rows = statement.query_map(params![namespace], timer).map_err(|e| transaction.pool.error(&e))?;
    rows.collect::<Result<_, _>>().map_err(|e| transaction.pool.error(&e))
}

pub(super) fn next(transaction: &SqliteTransaction) -> Result<Option<Timer>, StoreError> {
    let timer = |row: &rusqlite::Row<'_>| {
        Ok(Timer { namespace: row.get(0)?, id: row.get(1)?, due: row.get::<_, i64>(2)?.unsigned_abs() })
    };
    transaction
        .statement("SELECT namespace, id, due FROM timer ORDER BY due, namespace, id LIMIT 1")?
        .query_row([], timer)
        .optional()
        .map_err(|e| transaction.pool.error(&e))
}

fn signed(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}
