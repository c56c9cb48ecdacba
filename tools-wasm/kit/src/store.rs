//! The `store` interface as a trait, and records as JSON on top of it.

use serde::{Serialize, de::DeserializeOwned};

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

/// Why the store did not do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// The tool's data would exceed this many bytes.
    QuotaExceeded(u64),
    /// A key or value is over its limit.
    TooLarge(String),
    /// The store cannot be used now.
    Unavailable(String),
}

/// The `store` interface (see `wit/store.wit`). One call is one transaction.
pub trait Store {
    /// The value at `key`.
    fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;
    /// Puts `value` at `key`.
    fn set(&mut self, key: &str, value: &[u8]) -> Result<(), StoreError>;
    /// Takes `key` away, if it is there.
    fn delete(&mut self, key: &str) -> Result<(), StoreError>;
    /// Entries under `prefix`, strictly after `after` in the direction of `order`.
    fn scan(
        &mut self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
        order: Order,
    ) -> Result<Vec<Entry>, StoreError>;
    /// Adds `delta` to the counter at `key` and gives the sum.
    fn increment(&mut self, key: &str, delta: i64) -> Result<i64, StoreError>;
    /// Makes what was stored so far durable; what follows is a transaction of its own.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// The record at `key`.
    fn record<T: DeserializeOwned>(&mut self, key: &str) -> Result<Option<T>, StoreError> {
        self.get(key)?.map(|bytes| decode(key, &bytes)).transpose()
    }

    /// Puts a record at `key`.
    fn set_record(&mut self, key: &str, record: &impl Serialize) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(record).map_err(|e| StoreError::Unavailable(e.to_string()))?;
        self.set(key, &bytes)
    }
}

/// The record in `bytes`, which were stored at `key`.
pub fn decode<T: DeserializeOwned>(key: &str, bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes)
        .map_err(|error| StoreError::Unavailable(format!("the record at {key:?} is damaged ({error})")))
}
