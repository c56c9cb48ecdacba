//! Quota usage of namespaces. The table stores the sum for each, so that a write need not compute it.

use rusqlite::{OptionalExtension, params};

use super::transaction::SqliteTransaction;
use crate::StoreError;
use crate::implementing::Usage;

impl SqliteTransaction {
    /// Adds `by` to the usage of a namespace.
    pub(super) fn grow(&mut self, namespace: &str, by: i64, quota: u64) -> Result<(), StoreError> {
        let mut usages = std::mem::take(&mut self.usages);
        let grown = usages.grow(namespace, by, quota, || self.stored_usage(namespace));
        self.usages = usages;
        grown
    }

    /// Sets the usage of a namespace without keys to zero.
    pub(super) fn forget_usage(&mut self, namespace: &str) -> Result<(), StoreError> {
        let mut usages = std::mem::take(&mut self.usages);
        let forgotten = usages.forget(namespace, || self.stored_usage(namespace));
        self.usages = usages;
        forgotten
    }

    fn stored_usage(&self, namespace: &str) -> Result<i64, StoreError> {
        let bytes = self
            .statement("SELECT bytes FROM usage WHERE namespace = ?1")?
            .query_row(params![namespace], |row| row.get(0))
            .optional();
        Ok(bytes.map_err(|e| self.pool.error(&e))?.unwrap_or(0))
    }

    pub(super) fn store_usages(&mut self) -> Result<(), StoreError> {
        self.usages.changed()?.iter().try_for_each(|usage| self.store_usage(usage))
    }

    fn store_usage(&self, usage: &Usage) -> Result<(), StoreError> {
        let stored = if usage.now == 0 {
            self.statement("DELETE FROM usage WHERE namespace = ?1")?.execute(params![usage.namespace])
        } else {
            self.statement("INSERT INTO usage (namespace, bytes) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET bytes = excluded.bytes")?
                .execute(params![usage.namespace, usage.now])
        };
        stored.map(drop).map_err(|e| self.pool.error(&e))
    }
}
