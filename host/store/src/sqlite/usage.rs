//! What namespaces use of their quotas. The table has the sum for each, so that a write needs not count.

use rusqlite::{OptionalExtension, params};

use super::transaction::{SqliteTransaction, Usage};
use crate::StoreError;

impl Usage {
    /// Whether this transaction has made it exceed the quota.
    fn is_over(&self) -> bool {
        self.now > self.before && u64::try_from(self.now).is_ok_and(|now| now > self.quota)
    }
}

impl SqliteTransaction {
    /// Counts by how much a namespace grew or shrank.
    pub(super) fn grow(&mut self, namespace: &str, by: i64, quota: u64) -> Result<(), StoreError> {
        if by == 0 {
            return Ok(());
        }
        let usage = self.usage(namespace)?;
        usage.now += by;
        usage.quota = usage.quota.min(quota);
        if by > 0 && u64::try_from(usage.now).is_ok_and(|now| now > quota) {
            return Err(StoreError::Quota(quota));
        }
        Ok(())
    }

    /// Notes that a namespace has no keys any more.
    pub(super) fn forget_usage(&mut self, namespace: &str) -> Result<(), StoreError> {
        self.usage(namespace)?.now = 0;
        Ok(())
    }

    fn usage(&mut self, namespace: &str) -> Result<&mut Usage, StoreError> {
        let known = self.usages.iter().position(|usage| usage.namespace == namespace);
        let at = known.unwrap_or(self.usages.len());
        if known.is_none() {
            let before = self.stored_usage(namespace)?;
            self.usages.push(Usage { namespace: namespace.to_owned(), before, now: before, quota: u64::MAX });
        }
        Ok(&mut self.usages[at])
    }

    fn stored_usage(&self, namespace: &str) -> Result<i64, StoreError> {
        let bytes = self
            .statement("SELECT bytes FROM usage WHERE namespace = ?1")?
            .query_row(params![namespace], |row| row.get(0))
            .optional();
        Ok(bytes.map_err(|e| self.pool.error(&e))?.unwrap_or(0))
    }

    pub(super) fn store_usages(&mut self) -> Result<(), StoreError> {
        for usage in std::mem::take(&mut self.usages) {
            if usage.is_over() {
                // Who goes on after it was told so keeps nothing.
                return Err(StoreError::Quota(usage.quota));
            }
            if usage.now != usage.before {
                self.store_usage(&usage)?;
            }
        }
        Ok(())
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
