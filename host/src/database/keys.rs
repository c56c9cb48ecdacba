//! The ordered key-value store of a namespace.

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params};

use super::connection::Usage;
use super::{DatabaseError, Transaction};

/// Longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 512;
/// Largest value, in bytes.
pub const MAX_VALUE_BYTES: usize = 1024 * 1024;
/// Most entries that one scan gives.
const MAX_SCAN: u32 = 1000;

/// The order of a scan, by the bytes of the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Smallest key first.
    Ascending,
    /// Largest key first.
    Descending,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The whole key.
    pub key: String,
    /// The value's bytes.
    pub value: Vec<u8>,
}

impl Transaction {
    /// The value at `key`.
    pub fn get(&mut self, namespace: &str, key: &str) -> Result<Option<Vec<u8>>, DatabaseError> {
        self.statement("SELECT value FROM kv WHERE namespace = ?1 AND key = ?2")?
            .query_row(params![namespace, key], |row| row.get(0))
            .optional()
            .map_err(|e| self.database.error(&e))
    }

    /// Puts `value` at `key`, while the namespace stays within `quota` bytes.
    pub fn set(&mut self, namespace: &str, key: &str, value: &[u8], quota: u64) -> Result<(), DatabaseError> {
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return Err(DatabaseError::TooLarge(format!(
                "a key must have 1 to {MAX_KEY_BYTES} bytes, but has {}",
                key.len()
            )));
        }
        if value.len() > MAX_VALUE_BYTES {
            return Err(DatabaseError::TooLarge(format!(
                "a value must have at most {MAX_VALUE_BYTES} bytes, but has {}",
                value.len()
            )));
        }
        let size = signed(key.len() + value.len());
        // One statement writes the row and says by how much it grew. A value that is there
        // already is not written again.
        let grown: Option<i64> = self
            .statement(
                "INSERT INTO kv (namespace, key, value, grown) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET grown = length(excluded.value) - length(kv.value),
                                           value = excluded.value
                                       WHERE kv.value IS NOT excluded.value
                 RETURNING grown",
            )?
            .query_row(params![namespace, key, value, size], |row| row.get(0))
            .optional()
            .map_err(|e| self.database.error(&e))?;
        self.grow(namespace, grown.unwrap_or(0), quota)
    }

    /// Takes `key` away, if it is there.
    pub fn delete(&mut self, namespace: &str, key: &str) -> Result<(), DatabaseError> {
        let freed: Option<i64> = self
            .statement("DELETE FROM kv WHERE namespace = ?1 AND key = ?2 RETURNING length(CAST(key AS BLOB)) + length(value)")?
            .query_row(params![namespace, key], |row| row.get(0))
            .optional()
            .map_err(|e| self.database.error(&e))?;
        match freed {
            Some(freed) => self.grow(namespace, -freed, u64::MAX),
            None => Ok(()),
        }
    }

    /// Entries whose keys start with `prefix`, strictly after `after` in the direction of
    /// `order`, at most `limit` and at most 1000.
    pub fn scan(
        &mut self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
        order: Order,
    ) -> Result<Vec<Entry>, DatabaseError> {
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
        let mut statement = self.statement(sql)?;
        let rows = statement
            .query_map(params![namespace, prefix, end, after, limit.min(MAX_SCAN)], entry)
            .map_err(|e| self.database.error(&e))?;
        rows.collect::<Result<_, _>>().map_err(|e| self.database.error(&e))
    }

    /// Adds `delta` to the counter at `key` and gives the sum.
    pub fn increment(
        &mut self,
        namespace: &str,
        key: &str,
        delta: i64,
        quota: u64,
    ) -> Result<i64, DatabaseError> {
        let now = match self.get(namespace, key)? {
            None => 0,
            Some(bytes) => std::str::from_utf8(&bytes)
                .ok()
                .and_then(|text| text.parse::<i64>().ok())
                .ok_or_else(|| DatabaseError::Other(format!("the value at {key:?} is no counter")))?,
        };
        let sum = now
            .checked_add(delta)
            .ok_or_else(|| DatabaseError::Other(format!("the counter at {key:?} would overflow")))?;
        self.set(namespace, key, sum.to_string().as_bytes(), quota)?;
        Ok(sum)
    }

    fn grow(&mut self, namespace: &str, by: i64, quota: u64) -> Result<(), DatabaseError> {
        if by == 0 {
            return Ok(());
        }
        if self.quota_used.is_none() {
            let before = self
                .statement("SELECT bytes FROM usage WHERE namespace = ?1")?
                .query_row(params![namespace], |row| row.get(0))
                .optional()
                .map_err(|e| self.database.error(&e))?
                .unwrap_or(0);
            self.quota_used = Some(Usage { namespace: namespace.to_owned(), before, now: before });
        }
        if let Some(usage) = &mut self.quota_used {
            debug_assert_eq!(usage.namespace, namespace, "a transaction serves one tool");
            usage.now += by;
            if by > 0 && u64::try_from(usage.now).is_ok_and(|now| now > quota) {
                return Err(DatabaseError::Quota(quota));
            }
        }
        Ok(())
    }

    pub(super) fn store_usage(&mut self) -> Result<(), DatabaseError> {
        match self.quota_used.take() {
            Some(usage) if usage.now != usage.before => self
                .statement("INSERT INTO usage (namespace, bytes) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET bytes = excluded.bytes")?
                .execute(params![usage.namespace, usage.now])
                .map(drop)
                .map_err(|e| self.database.error(&e)),
            _ => Ok(()),
        }
    }
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

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
