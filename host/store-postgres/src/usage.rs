//! Quota usage of namespaces. The table stores the sum for each namespace, so a write does not have to count.

use scorpiox_store::StoreError;

use crate::transaction::PostgresTransaction;

impl PostgresTransaction {
    /// Adds to the usage of a namespace. `by` may be negative.
    pub(crate) fn grow(&mut self, namespace: &str, by: i64, quota: u64) -> Result<(), StoreError> {
        let mut usages = std::mem::take(&mut self.usages);
        let grown = usages.grow(namespace, by, quota, || self.stored_usage(namespace));
        self.usages = usages;
        grown
    }

    /// Records that a namespace has no keys left.
    pub(crate) fn forget_usage(&mut self, namespace: &str) -> Result<(), StoreError> {
        let mut usages = std::mem::take(&mut self.usages);
        let forgotten = usages.forget(namespace, || self.stored_usage(namespace));
        self.usages = usages;
        forgotten
    }
}
