//! The `store` interface as a trait, and records as JSON on top of it.

use serde::{Serialize, de::DeserializeOwned};

/// Order of a scan, by the bytes of the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Smallest key first.
    Ascending,
    /// Largest key first.
    Descending,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The complete key.
    pub key: String,
    /// Bytes of the value.
    pub value: Vec<u8>,
}

/// Reason why a store operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// The tool's data would exceed this many bytes.
    QuotaExceeded(u64),
    /// A key or value exceeds its limit.
    TooLarge(String),
    /// The store is unavailable.
    Unavailable(String),
}

/// The `store` interface (see `wit/store.wit`). Each call is one transaction.
pub trait Store {
    /// Returns the value at `key`.
    fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;
    /// Stores `value` at `key`.
    fn set(&mut self, key: &str, value: &[u8]) -> Result<(), StoreError>;
    /// Removes `key` if it exists.
    fn delete(&mut self, key: &str) -> Result<(), StoreError>;
    /// Returns entries whose keys begin with `prefix`, strictly after `after` in the direction of `order`.
    fn scan(
        &mut self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
        order: Order,
    ) -> Result<Vec<Entry>, StoreError>;
    /// Adds `delta` to the counter at `key` and returns the sum.
    fn increment(&mut self, key: &str, delta: i64) -> Result<i64, StoreError>;
    /// Makes all previous writes durable. Later writes belong to a new transaction.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Returns the record at `key`.
    fn record<T: DeserializeOwned>(&mut self, key: &str) -> Result<Option<T>, StoreError> {
        self.get(key)?.map(|bytes| decode(key, &bytes)).transpose()
    }

    /// Stores a record at `key`.
    fn set_record(&mut self, key: &str, record: &impl Serialize) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(record).map_err(|e| StoreError::Unavailable(e.to_string()))?;
        self.set(key, &bytes)
    }
}

/// Decodes the record in `bytes`, which were stored at `key`.
pub fn decode<T: DeserializeOwned>(key: &str, bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes)
        .map_err(|error| StoreError::Unavailable(format!("the record at {key:?} is damaged ({error})")))
}
