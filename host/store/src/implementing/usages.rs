//! What namespaces use of their quotas, in one transaction.

use crate::StoreError;

/// How much a namespace uses, and used before the transaction, in bytes.
#[derive(Debug)]
pub struct Usage {
    /// Whose bytes they are.
    pub namespace: String,
    /// What is stored of it.
    before: i64,
    /// What it uses now.
    pub now: i64,
    /// What it may use.
    quota: u64,
}

impl Usage {
    /// Whether this transaction has made it exceed the quota.
    fn is_over(&self) -> bool {
        self.now > self.before && u64::try_from(self.now).is_ok_and(|now| now > self.quota)
    }
}

/// Of namespaces of which a transaction changed the size.
#[derive(Debug, Default)]
pub struct Usages(Vec<Usage>);

impl Usages {
    /// What a namespace uses; what is `stored` of it is asked for the first time.
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

    /// Counts by how much a namespace grew or shrank. `stored` gives what it used before the transaction.
    ///
    /// # Errors
    ///
    /// [`StoreError::Quota`] where it grew over its quota, and those of `stored`.
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

    /// Notes that a namespace has no keys any more.
    ///
    /// # Errors
    ///
    /// Those of `stored`.
    pub fn forget(
        &mut self,
        namespace: &str,
        stored: impl FnOnce() -> Result<i64, StoreError>,
    ) -> Result<(), StoreError> {
        self.of(namespace, stored)?.now = 0;
        Ok(())
    }

    /// Those that are to be stored before a commit.
    ///
    /// # Errors
    ///
    /// [`StoreError::Quota`] where one is over its quota: who goes on after it was told so keeps nothing.
    pub fn changed(&mut self) -> Result<Vec<Usage>, StoreError> {
        let mut all = std::mem::take(&mut self.0);
        if let Some(over) = all.iter().find(|usage| usage.is_over()) {
            return Err(StoreError::Quota(over.quota));
        }
        all.retain(|usage| usage.now != usage.before);
        Ok(all)
    }
}
