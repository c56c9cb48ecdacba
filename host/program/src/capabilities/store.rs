//! A tool's own data in the workspace's database.

use scorpiox_store::{self as database, DatabaseError};

use crate::bindings::capabilities::scorpiox::tool::store::{Entry, Error, Host, Order};
use crate::runtime::CallState;

/// Why a store call did not succeed: for the guest to handle, or the end of its run.
#[derive(Debug)]
pub enum StoreFailure {
    /// The guest gets this.
    Guest(Error),
    /// The run ends; see [`DatabaseError::Conflict`] and [`DatabaseError::Cancelled`].
    Trap(DatabaseError),
}

impl From<DatabaseError> for StoreFailure {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Conflict | DatabaseError::Cancelled => Self::Trap(error),
            DatabaseError::Quota(bytes) => Self::Guest(Error::QuotaExceeded(bytes)),
            DatabaseError::TooLarge(what) => Self::Guest(Error::TooLarge(what)),
            other => Self::Guest(Error::Unavailable(other.to_string())),
        }
    }
}

impl Host for CallState {
    fn get(&mut self, key: String) -> Result<Option<Vec<u8>>, StoreFailure> {
        self.use_of("store");
        Ok(self.transaction.get()?.get(&self.namespace, &key)?)
    }

    fn set(&mut self, key: String, value: Vec<u8>) -> Result<(), StoreFailure> {
        self.use_of("store");
        Ok(self.transaction.get()?.set(&self.namespace, &key, &value, self.store_quota)?)
    }

    fn delete(&mut self, key: String) -> Result<(), StoreFailure> {
        self.use_of("store");
        Ok(self.transaction.get()?.delete(&self.namespace, &key)?)
    }

    fn scan(
        &mut self,
        prefix: String,
        after: Option<String>,
        limit: u32,
        order: Order,
    ) -> Result<Vec<Entry>, StoreFailure> {
        let order = match order {
            Order::Ascending => database::Order::Ascending,
            Order::Descending => database::Order::Descending,
        };
        self.use_of("store");
        let found = self.transaction.get()?.scan(&self.namespace, &prefix, after.as_deref(), limit, order)?;
        Ok(found.into_iter().map(|entry| Entry { key: entry.key, value: entry.value }).collect())
    }

    fn increment(&mut self, key: String, delta: i64) -> Result<i64, StoreFailure> {
        self.use_of("store");
        Ok(self.transaction.get()?.increment(&self.namespace, &key, delta, self.store_quota)?)
    }

    fn commit(&mut self) -> Result<(), StoreFailure> {
        Ok(self.transaction.commit_now()?)
    }

    fn convert_error(&mut self, failure: StoreFailure) -> wasmtime::Result<Error> {
        match failure {
            StoreFailure::Guest(error) => Ok(error),
            StoreFailure::Trap(error) => Err(wasmtime::Error::from(error)),
        }
    }
}
