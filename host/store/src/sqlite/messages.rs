//! Messages that wait to reach the client.

use rusqlite::params;

use super::transaction::SqliteTransaction;
use crate::{MAX_KEPT_MESSAGES, Message, StoreError};

fn message(row: &rusqlite::Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message {
        sequence: row.get::<_, i64>(0)?.unsigned_abs(),
        timer: row.get(1)?,
        fired_at: row.get::<_, i64>(2)?.unsigned_abs(),
        text: row.get(3)?,
    })
}

pub(super) fn add(
    transaction: &SqliteTransaction,
    namespace: &str,
    timer: u32,
    fired_at: u64,
    text: &str,
) -> Result<u64, StoreError> {
    let fired_at = i64::try_from(fired_at).unwrap_or(i64::MAX);
    let sequence: i64 = transaction
        .statement(
            "INSERT INTO message (namespace, timer, fired_at, text) VALUES (?1, ?2, ?3, ?4) RETURNING sequence",
        )?
        .query_row(params![namespace, timer, fired_at, text], |row| row.get(0))
        .map_err(|e| transaction.pool.error(&e))?;
    // Numbers have no gaps: a rollback gives them back.
    delete_up_to(transaction, sequence.unsigned_abs().saturating_sub(MAX_KEPT_MESSAGES))?;
    Ok(sequence.unsigned_abs())
}

pub(super) fn of(
    transaction: &SqliteTransaction,
    namespace: &str,
    limit: u32,
) -> Result<Vec<Message>, StoreError> {
    let mut statement = transaction.statement(
        "SELECT sequence, timer, fired_at, text FROM message WHERE namespace = ?1 ORDER BY sequence LIMIT ?2",
    )?;
    let rows =
        statement.query_map(params![namespace, limit], message).map_err(|e| transaction.pool.error(&e))?;
    rows.collect::<Result<_, _>>().map_err(|e| transaction.pool.error(&e))
}

pub(super) fn has_any(transaction: &SqliteTransaction) -> Result<bool, StoreError> {
    transaction
        .statement("SELECT EXISTS (SELECT 1 FROM message)")?
        .query_row([], |row| row.get(0))
        .map_err(|e| transaction.pool.error(&e))
}

pub(super) fn take(
    transaction: &SqliteTransaction,
    room: usize,
    cost: &dyn Fn(&Message) -> usize,
) -> Result<Vec<Message>, StoreError> {
    let mut taken = Vec::new();
    let mut left = room;
    let mut statement =
        transaction.statement("SELECT sequence, timer, fired_at, text FROM message ORDER BY sequence")?;
    for row in statement.query_map([], message).map_err(|e| transaction.pool.error(&e))? {
        let next = row.map_err(|e| transaction.pool.error(&e))?;
        match left.checked_sub(cost(&next)) {
            Some(rest) => left = rest,
            // One that fits nowhere must not keep back all that follow.
            None if taken.is_empty() => left = 0,
            None => break,
        }
        taken.push(next);
    }
    drop(statement);
    if let Some(last) = taken.last() {
        delete_up_to(transaction, last.sequence)?;
    }
    Ok(taken)
}

fn delete_up_to(transaction: &SqliteTransaction, sequence: u64) -> Result<(), StoreError> {
    transaction
        .statement("DELETE FROM message WHERE sequence <= ?1")?
        .execute(params![i64::try_from(sequence).unwrap_or(i64::MAX)])
        .map(drop)
        .map_err(|e| transaction.pool.error(&e))
}
