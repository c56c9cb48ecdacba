//! The ordered key-value store of a namespace.

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params};

use super::connection::Usage;
use super::{DatabaseError, Transaction};

/// Longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 512;
/// Largest value, in bytes.
pub const MAX_VALUE_BYTES: usize = 1024 * 1024;
/// Most bytes that one scan gives, counted after the entry that reaches it.
const MAX_SCAN_BYTES: usize = 4 * 1024 * 1024;
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

/// Keys that this transaction read last, with the lengths of their values. Who writes a
/// key has mostly just read it, and then one statement is enough to write it and to know
/// what that costs of the quota.
#[derive(Debug, Default)]
pub(super) struct Seen(Vec<(String, Option<usize>)>);

/// Keys that are remembered.
const SEEN_KEYS: usize = 8;

impl Seen {
    fn note(&mut self, key: &str, length: Option<usize>) {
        if let Some((_, known)) = self.0.iter_mut().find(|(known, _)| known == key) {
            *known = length;
            return;
        }
        if self.0.len() == SEEN_KEYS {
            self.0.remove(0);
        }
        self.0.push((key.to_owned(), length));
    }

    /// The length of the value at `key`, where it was seen; `None` also when it was absent.
    fn length(&self, key: &str) -> Option<usize> {
        self.0.iter().find(|(known, _)| known == key).and_then(|(_, length)| *length)
    }
}

impl Transaction {
    /// The value at `key`.
    pub fn get(&mut self, namespace: &str, key: &str) -> Result<Option<Vec<u8>>, DatabaseError> {
        let value: Option<Vec<u8>> = self
            .statement("SELECT value FROM kv WHERE namespace = ?1 AND key = ?2")?
            .query_row(params![namespace, key], |row| row.get(0))
            .optional()
            .map_err(|e| self.database.error(&e))?;
        self.seen.note(key, value.as_ref().map(Vec::len));
        Ok(value)
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
        let grown = if let Some(before) = self.seen.length(key) {
            self.replace(namespace, key, value, before)?
        } else if self.insert(namespace, key, value)? {
            signed(key.len() + value.len())
        } else {
            match self.get(namespace, key)? {
                Some(before) if before == value => 0,
                before => self.replace(namespace, key, value, before.map_or(0, |before| before.len()))?,
            }
        };
        self.seen.note(key, Some(value.len()));
        self.grow(namespace, grown, quota)
    }

    /// Writes a row that is new; whether it was.
    fn insert(&self, namespace: &str, key: &str, value: &[u8]) -> Result<bool, DatabaseError> {
        // "OR IGNORE" and "OR FAIL": a statement that stops half-way cannot happen here, and
        // SQLite need not prepare to undo one.
        self.statement("INSERT OR IGNORE INTO kv (namespace, key, value) VALUES (?1, ?2, ?3)")?
            .execute(params![namespace, key, value])
            .map(|rows| rows == 1)
            .map_err(|e| self.database.error(&e))
    }

    /// Writes a row that is there with a value of `before` bytes; by how much it grew.
    fn replace(&self, namespace: &str, key: &str, value: &[u8], before: usize) -> Result<i64, DatabaseError> {
        self.statement("UPDATE OR FAIL kv SET value = ?3 WHERE namespace = ?1 AND key = ?2")?
            .execute(params![namespace, key, value])
            .map(|_| signed(value.len()) - signed(before))
            .map_err(|e| self.database.error(&e))
    }

    /// Takes `key` away, if it is there.
    pub fn delete(&mut self, namespace: &str, key: &str) -> Result<(), DatabaseError> {
        let Some(value) = self.get(namespace, key)? else { return Ok(()) };
        self.statement("DELETE FROM kv WHERE namespace = ?1 AND key = ?2")?
            .execute(params![namespace, key])
            .map_err(|e| self.database.error(&e))?;
        self.seen.note(key, None);
        self.grow(namespace, -signed(key.len() + value.len()), u64::MAX)
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
        let mut entries = Vec::new();
        let mut bytes = 0;
        for row in rows {
            let entry: Entry = row.map_err(|e| self.database.error(&e))?;
            bytes += entry.key.len() + entry.value.len();
            entries.push(entry);
            if bytes >= MAX_SCAN_BYTES {
                break;
            }
        }
        Ok(entries)
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
            self.quota_used = Some(Usage { namespace: namespace.to_owned(), before, now: before, quota });
        }
        if let Some(usage) = &mut self.quota_used {
            debug_assert_eq!(usage.namespace, namespace, "a transaction serves one tool");
            usage.now += by;
            usage.quota = usage.quota.min(quota);
            if by > 0 && u64::try_from(usage.now).is_ok_and(|now| now > quota) {
                return Err(DatabaseError::Quota(quota));
            }
        }
        Ok(())
    }

    pub(super) fn store_usage(&mut self) -> Result<(), DatabaseError> {
        match self.quota_used.take() {
            // Who goes on after it was told so keeps nothing.
            Some(usage) if usage.is_over() => Err(DatabaseError::Quota(usage.quota)),
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

impl Usage {
    /// Whether this transaction has made it exceed the quota.
    fn is_over(&self) -> bool {
        self.now > self.before && u64::try_from(self.now).is_ok_and(|now| now > self.quota)
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
