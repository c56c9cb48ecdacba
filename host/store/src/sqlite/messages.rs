//! Messages pending for the client.

use rusqlite::params;

use super::transaction::SqliteTransaction;
use crate::implementing::tell_damaged;
use crate::{MAX_KEPT_MESSAGES, Message, StoreError};

/// Converts a row to a message. The inner error describes a damaged row.
pub(super) fn message(row: &rusqlite::Row<'_>) -> rusqlite::Result<Result<Message, String>> {
    let sequence: i64 = row.get(0)?;
    let number = |at: usize| row.get_ref(at).map(|value| value.as_i64());
    let text = row.get_ref(3)?;
    let whole = (number(1)?.map(u32::try_from), number(2)?.map(u64::try_from), text.as_str());
    Ok(match (u64::try_from(sequence), whole) {
        (Ok(sequence), (Ok(Ok(timer)), Ok(Ok(fired_at)), Ok(text))) => {
            Ok(Message { sequence, timer, fired_at, text: text.to_owned() })
        }
        _ => Err(format!("message {sequence}")),
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
    // Sequence numbers have no gaps, because a rollback returns them.
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
    transaction.whole(rows)
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
        let next = match row.map_err(|e| transaction.pool.error(&e))? {
            Ok(next) => next,
            Err(what) => {
                tell_damaged(&transaction.pool.path.display().to_string(), &what);
                continue;
            }
        };
        match left.checked_sub(cost(&next)) {
            Some(rest) => left = rest,
            // A message larger than the room must not block all later ones.
            None if taken.is_empty() => left = 0,
            None => break,
        }
        taken.push(next);
    }
    drop(statement);
    for Message { sequence, .. } in &taken {
        transaction
            .statement("DELETE FROM message WHERE sequence = ?1")?
            .execute(params![sequence.cast_signed()])
            .map_err(|e| transaction.pool.error(&e))?;
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
