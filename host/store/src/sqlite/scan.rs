//! Ordered scans of keys.

use rusqlite::params;
use rusqlite::types::Value;

use super::damage::shown;
use super::transaction::SqliteTransaction;
use crate::implementing::tell_damaged;
use crate::{Entry, MAX_SCAN_BYTES, MAX_SCAN_ENTRIES, Order, StoreError};

pub(super) fn scan(
    transaction: &SqliteTransaction,
    namespace: &str,
    prefix: &str,
    after: Option<&str>,
    limit: u32,
    order: Order,
) -> Result<Vec<Entry>, StoreError> {
    let end = end_of_prefix(prefix);
    let after = match (after, order) {
        (Some(key), _) => Value::Text(key.to_owned()),
        (None, Order::Ascending) => Value::Text(String::new()),
        (None, Order::Descending) => end.clone(),
    };
    let sql = match order {
        Order::Ascending => {
            "SELECT key, value FROM kv WHERE namespace = ?1 AND key >= ?2 AND key < ?3 AND key > ?4
             ORDER BY key"
        }
        Order::Descending => {
            "SELECT key, value FROM kv WHERE namespace = ?1 AND key >= ?2 AND key < ?3 AND key < ?4
             ORDER BY key DESC"
        }
    };
    let mut statement = transaction.statement(sql)?;
    let rows = statement
        .query_map(params![namespace, prefix, end, after], entry)
        .map_err(|e| transaction.pool.error(&e))?;
    let mut entries = Vec::new();
    let mut bytes = 0;
    let limit = limit.min(MAX_SCAN_ENTRIES) as usize;
    for row in rows {
        if entries.len() >= limit {
            break;
        }
        let entry: Entry = match row.map_err(|e| transaction.pool.error(&e))? {
            Ok(entry) => entry,
            Err(what) => {
                tell_damaged(&transaction.pool.path.display().to_string(), &what);
                continue;
            }
        };
        bytes += entry.key.len() + entry.value.len();
        entries.push(entry);
        if bytes >= MAX_SCAN_BYTES {
            break;
        }
    }
    Ok(entries)
}

/// Converts a row to an entry. The inner error describes a damaged row.
pub(super) fn entry(row: &rusqlite::Row<'_>) -> rusqlite::Result<Result<Entry, String>> {
    let (key, value) = (row.get_ref(0)?, row.get_ref(1)?);
    Ok(match (key.as_str(), value.as_blob()) {
        (Ok(key), Ok(value)) => Ok(Entry { key: key.to_owned(), value: value.to_vec() }),
        (Err(_), _) => Err(format!("the key {}", shown(key))),
        (_, Err(_)) => Err(format!("the value of the key {}", shown(key))),
    })
}

/// Returns the smallest value that sorts after every key with `prefix`.
fn end_of_prefix(prefix: &str) -> Value {
    let mut rest = prefix.chars();
    while let Some(last) = rest.next_back() {
        // `Step` skips the surrogates between U+D7FF and U+E000.
        if let Some(next) = (last..=char::MAX).nth(1) {
            return Value::Text(format!("{}{next}", rest.as_str()));
        }
    }
    // A blob sorts after every text.
    Value::Blob(Vec::new())
}
