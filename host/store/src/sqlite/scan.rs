//! Reading keys in order.

use rusqlite::params;
use rusqlite::types::Value;

use super::transaction::SqliteTransaction;
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
             ORDER BY key LIMIT ?5"
        }
        Order::Descending => {
            "SELECT key, value FROM kv WHERE namespace = ?1 AND key >= ?2 AND key < ?3 AND key < ?4
             ORDER BY key DESC LIMIT ?5"
        }
    };
    let entry = |row: &rusqlite::Row<'_>| Ok(Entry { key: row.get(0)?, value: row.get(1)? });
    let mut statement = transaction.statement(sql)?;
    let rows = statement
        .query_map(params![namespace, prefix, end, after, limit.min(MAX_SCAN_ENTRIES)], entry)
        .map_err(|e| transaction.pool.error(&e))?;
    let mut entries = Vec::new();
    let mut bytes = 0;
    for row in rows {
        let entry: Entry = row.map_err(|e| transaction.pool.error(&e))?;
        bytes += entry.key.len() + entry.value.len();
        entries.push(entry);
        if bytes >= MAX_SCAN_BYTES {
            break;
        }
    }
    Ok(entries)
}

/// The smallest value that sorts after every key with `prefix`.
fn end_of_prefix(prefix: &str) -> Value {
    let mut rest = prefix.chars();
    while let Some(last) = rest.next_back() {
        // `Step` knows that no character lies between U+D7FF and U+E000.
        if let Some(next) = (last..=char::MAX).nth(1) {
            return Value::Text(format!("{}{next}", rest.as_str()));
        }
    }
    // A blob sorts after every text.
    Value::Blob(Vec::new())
}
