//! What namespaces use of their quotas. The table has the sum for each, so that a write needs not count.

use scorpiox_store::StoreError;

use crate::transaction::PostgresTransaction;

impl PostgresTransaction {
    /// Counts by how much a namespace grew or shrank.
    pub(crate) fn grow(&mut self, namespace: &str, by: i64, quota: u64) -> Result<(), StoreError> {
        let mut usages = std::mem::take(&mut self.usages);
        let grown = usages.grow(namespace, by, quota, || self.stored_usage(namespace));
        self.usages = usages;
        grown
    }

    /// Notes that a namespace has no keys any more.
    pub(crate) fn forget_usage(&mut self, namespace: &str) -> Result<(), StoreError> {
        let mut usages = std::mem::take(&mut self.usages);
        let forgotten = usages.forget(namespace, || self.stored_usage(namespace));
        self.usages = usages;
        forgotten
    }
}
