//! Keys and values.

use rusqlite::{OptionalExtension, params};

use super::transaction::SqliteTransaction;
use crate::StoreError;
use crate::implementing::check_sizes;

pub(super) fn get(
    transaction: &mut SqliteTransaction,
    namespace: &str,
    key: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    let value: Option<Vec<u8>> = transaction
        .statement("SELECT value FROM kv WHERE namespace = ?1 AND key = ?2")?
        .query_row(params![namespace, key], |row| row.get(0))
        .optional()
        .map_err(|e| transaction.pool.error(&e))?;
    transaction.seen.note(namespace, key, value.as_ref().map(Vec::len));
    Ok(value)
}

pub(super) fn set(
    transaction: &mut SqliteTransaction,
    namespace: &str,
    key: &str,
    value: &[u8],
    quota: u64,
) -> Result<(), StoreError> {
    check_sizes(key, value)?;
    let grown = if let Some(before) = transaction.seen.length(namespace, key) {
        replace(transaction, namespace, key, value, before)?
    } else if insert(transaction, namespace, key, value)? {
        signed(key.len() + value.len())
    } else {
        match get(transaction, namespace, key)? {
            Some(before) if before == value => 0,
            before => replace(transaction, namespace, key, value, before.map_or(0, |before| before.len()))?,
        }
    };
    transaction.seen.note(namespace, key, Some(value.len()));
    transaction.grow(namespace, grown, quota)
}

/// Inserts a row unless it exists. Returns `true` if it was inserted.
fn insert(
    transaction: &SqliteTransaction,
    namespace: &str,
    key: &str,
    value: &[u8],
) -> Result<bool, StoreError> {
    // "OR IGNORE" and "OR FAIL": these statements cannot stop halfway, so SQLite need not prepare to undo
    // them.
    transaction
        .statement("INSERT OR IGNORE INTO kv (namespace, key, value) VALUES (?1, ?2, ?3)")?
        .execute(params![namespace, key, value])
        .map(|rows| rows == 1)
        .map_err(|e| transaction.pool.error(&e))
}

/// Updates the value of an existing row from `before` bytes. Returns the growth in bytes.
fn replace(
    transaction: &SqliteTransaction,
    namespace: &str,
    key: &str,
    value: &[u8],
    before: usize,
) -> Result<i64, StoreError> {
    transaction
        .statement("UPDATE OR FAIL kv SET value = ?3 WHERE namespace = ?1 AND key = ?2")?
        .execute(params![namespace, key, value])
        .map(|_| signed(value.len()) - signed(before))
        .map_err(|e| transaction.pool.error(&e))
}

pub(super) fn delete(
    transaction: &mut SqliteTransaction,
    namespace: &str,
    key: &str,
) -> Result<(), StoreError> {
    let Some(value) = get(transaction, namespace, key)? else { return Ok(()) };
    transaction
        .statement("DELETE FROM kv WHERE namespace = ?1 AND key = ?2")?
        .execute(params![namespace, key])
        .map_err(|e| transaction.pool.error(&e))?;
    transaction.seen.note(namespace, key, None);
    transaction.grow(namespace, -signed(key.len() + value.len()), u64::MAX)
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
