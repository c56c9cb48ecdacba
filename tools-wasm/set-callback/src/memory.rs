//! In-memory host for tests of the logic: the kit's store, and timers that never fire by themselves.

use std::collections::BTreeMap;

use scorpiox_tool_kit::memory::MemoryStore;
use scorpiox_tool_kit::{Entry, Failure, Order, Store, StoreError};

use crate::{Timers, Waiting};

/// Observable state of the host.
#[derive(Debug, Default)]
pub struct MemoryHost {
    /// Records of the slots.
    pub store: MemoryStore,
    /// Armed timers and their due times.
    pub armed: BTreeMap<u32, u64>,
    /// Result of [`Timers::undelivered`].
    pub waiting: Vec<Waiting>,
}

impl Store for MemoryHost {
    fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.get(key)
    }

    fn set(&mut self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.store.set(key, value)
    }

    fn delete(&mut self, key: &str) -> Result<(), StoreError> {
        self.store.delete(key)
    }

    fn scan(
        &mut self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
        order: Order,
    ) -> Result<Vec<Entry>, StoreError> {
        self.store.scan(prefix, after, limit, order)
    }

    fn increment(&mut self, key: &str, delta: i64) -> Result<i64, StoreError> {
        self.store.increment(key, delta)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Timers for MemoryHost {
    fn arm(&mut self, id: u32, due: u64) -> Result<(), Failure> {
        self.armed.insert(id, due);
        Ok(())
    }

    fn disarm(&mut self, id: u32) -> Result<(), Failure> {
        self.armed.remove(&id);
        Ok(())
    }

    fn undelivered(&mut self, _limit: u32) -> Result<Vec<Waiting>, Failure> {
        Ok(self.waiting.clone())
    }
}
