//! Armed timers.

use rusqlite::params;

use super::damage::shown;
use super::transaction::SqliteTransaction;
use crate::implementing::tell_damaged;
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

/// Converts a row to a timer. The inner error describes a damaged row.
pub(super) fn timer(row: &rusqlite::Row<'_>) -> rusqlite::Result<Result<Timer, String>> {
    let (namespace, id, due) = (row.get_ref(0)?, row.get_ref(1)?, row.get_ref(2)?);
    let whole = (namespace.as_str(), id.as_i64().map(u32::try_from), due.as_i64().map(u64::try_from));
    Ok(match whole {
        (Ok(namespace), Ok(Ok(id)), Ok(Ok(due))) => Ok(Timer { namespace: namespace.to_owned(), id, due }),
        _ => Err(format!("timer {} of {} for {}", shown(id), shown(namespace), shown(due))),
    })
}

/// Returns the timers of a namespace, ordered by ID.
pub(super) fn of(transaction: &SqliteTransaction, namespace: &str) -> Result<Vec<Timer>, StoreError> {
    let mut statement =
        transaction.statement("SELECT namespace, id, due FROM timer WHERE namespace = ?1 ORDER BY id")?;
    let rows = statement.query_map(params![namespace], timer).map_err(|e| transaction.pool.error(&e))?;
    transaction.whole(rows)
}

pub(super) fn next(transaction: &SqliteTransaction) -> Result<Option<Timer>, StoreError> {
    let mut statement =
        transaction.statement("SELECT namespace, id, due FROM timer ORDER BY due, namespace, id")?;
    let rows = statement.query_map([], timer).map_err(|e| transaction.pool.error(&e))?;
    for row in rows {
        match row.map_err(|e| transaction.pool.error(&e))? {
            Ok(timer) => return Ok(Some(timer)),
            Err(what) => tell_damaged(&transaction.pool.path.display().to_string(), &what),
        }
    }
    Ok(None)
}

fn signed(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}
