//! Quota usage of namespaces in one transaction.

use crate::StoreError;

/// Usage of a namespace in bytes, before and within the transaction.
#[derive(Debug)]
pub struct Usage {
    /// Namespace.
    pub namespace: String,
    /// Stored usage, before the transaction.
    before: i64,
    /// Current usage.
    pub now: i64,
    /// Quota.
    quota: u64,
}

impl Usage {
    /// Returns `true` if this transaction made the usage exceed the quota.
    fn is_over(&self) -> bool {
        self.now > self.before && u64::try_from(self.now).is_ok_and(|now| now > self.quota)
    }
}

/// Usages of the namespaces whose size the transaction changed.
#[derive(Debug, Default)]
pub struct Usages(Vec<Usage>);

impl Usages {
    /// Returns the usage of a namespace. Calls `stored` on the first access.
    fn of(
        &mut self,
        namespace: &str,
        stored: impl FnOnce() -> Result<i64, StoreError>,
    ) -> Result<&mut Usage, StoreError> {
        let known = self.0.iter().position(|usage| usage.namespace == namespace);
        let at = known.unwrap_or(self.0.len());
        if known.is_none() {
            let before = stored()?;
            self.0.push(Usage { namespace: namespace.to_owned(), before, now: before, quota: u64::MAX });
        }
        Ok(&mut self.0[at])
    }

    /// Adds `by` to the usage of a namespace. `stored` returns the usage before the transaction.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::Quota`] if the namespace grows beyond its quota, and if `stored` fails.
    pub fn grow(
        &mut self,
        namespace: &str,
        by: i64,
        quota: u64,
        stored: impl FnOnce() -> Result<i64, StoreError>,
    ) -> Result<(), StoreError> {
        if by == 0 {
            return Ok(());
        }
        let usage = self.of(namespace, stored)?;
        usage.now += by;
        usage.quota = usage.quota.min(quota);
        if by > 0 && u64::try_from(usage.now).is_ok_and(|now| now > quota) {
            return Err(StoreError::Quota(quota));
        }
        Ok(())
    }

    /// Sets the usage of a namespace without keys to zero.
    ///
    /// # Errors
    ///
    /// Fails if `stored` fails.
    pub fn forget(
        &mut self,
        namespace: &str,
        stored: impl FnOnce() -> Result<i64, StoreError>,
    ) -> Result<(), StoreError> {
        self.of(namespace, stored)?.now = 0;
        Ok(())
    }

    /// Returns the usages to store before a commit.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::Quota`] if a namespace exceeds its quota, so a caller that ignored the
    /// earlier error stores nothing.
    pub fn changed(&mut self) -> Result<Vec<Usage>, StoreError> {
        let mut all = std::mem::take(&mut self.0);
        if let Some(over) = all.iter().find(|usage| usage.is_over()) {
            return Err(StoreError::Quota(over.quota));
        }
        all.retain(|usage| usage.now != usage.before);
        Ok(all)
    }
}
