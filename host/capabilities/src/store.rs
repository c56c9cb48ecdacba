//! A tool's data in the workspace's store.

use scorpiox_store::{self as store, StoreError};

use wasmtime::component::Linker;

use super::setup::{Grantee, Setup};
use super::view::{HasCtx, Provided, View, Viewed};
use wit::{Entry, Error, Host, Order};

/// Bindings generated from the WIT file.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/store@0.1.0; }",
        imports: { default: trappable },
        trappable_error_type: { "scorpiox:tool/store.error" => super::StoreFailure },
    });
    pub use scorpiox::tool::store::*;
}

/// Storage limit of a component.
pub struct StoreCtx {
    /// Maximum size in bytes.
    quota: u64,
}

impl StoreCtx {
    /// Returns the maximum size of the component's data in bytes.
    pub fn quota(&self) -> u64 {
        self.quota
    }
}

impl Provided for StoreCtx {
    const NAME: &'static str = "store";
    const MAY: &'static str = "keep its own data for this workspace";

    fn new(_: &Setup, grantee: &Grantee<'_>) -> Self {
        Self { quota: grantee.store_bytes }
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

/// Reason why a store call failed.
#[derive(Debug)]
pub enum StoreFailure {
    /// Error for the guest to handle.
    Guest(Error),
    /// Ends the run; see [`StoreError::Conflict`] and [`StoreError::Cancelled`].
    Trap(StoreError),
}

impl From<StoreError> for StoreFailure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict | StoreError::Cancelled => Self::Trap(error),
            StoreError::Quota(bytes) => Self::Guest(Error::QuotaExceeded(bytes)),
            StoreError::TooLarge(what) => Self::Guest(Error::TooLarge(what)),
            other => Self::Guest(Error::Unavailable(other.to_string())),
        }
    }
}

impl Host for View<'_, StoreCtx> {
    fn get(&mut self, key: String) -> Result<Option<Vec<u8>>, StoreFailure> {
        self.call.function = "get";
        self.call.use_of("store");
        Ok(self.call.transaction.get()?.get(&self.call.name, &key)?)
    }

    fn set(&mut self, key: String, value: Vec<u8>) -> Result<(), StoreFailure> {
        self.call.function = "set";
        self.call.use_of("store");
        self.call.transaction.get()?.set(&self.call.name, &key, &value, self.ctx.quota)?;
        self.call.uses.stored(key.len() + value.len());
        Ok(())
    }

    fn delete(&mut self, key: String) -> Result<(), StoreFailure> {
        self.call.function = "delete";
        self.call.use_of("store");
        Ok(self.call.transaction.get()?.delete(&self.call.name, &key)?)
    }

    fn scan(
        &mut self,
        prefix: String,
        after: Option<String>,
        limit: u32,
        order: Order,
    ) -> Result<Vec<Entry>, StoreFailure> {
        let order = match order {
            Order::Ascending => store::Order::Ascending,
            Order::Descending => store::Order::Descending,
        };
        self.call.function = "scan";
        self.call.use_of("store");
        let found =
            self.call.transaction.get()?.scan(&self.call.name, &prefix, after.as_deref(), limit, order)?;
        Ok(found.into_iter().map(|entry| Entry { key: entry.key, value: entry.value }).collect())
    }

    fn increment(&mut self, key: String, delta: i64) -> Result<i64, StoreFailure> {
        self.call.function = "increment";
        self.call.use_of("store");
        Ok(self.call.transaction.get()?.increment(&self.call.name, &key, delta, self.ctx.quota)?)
    }

    fn commit(&mut self) -> Result<(), StoreFailure> {
        self.call.function = "commit";
        Ok(self.call.transaction.commit_now()?)
    }

    fn convert_error(&mut self, failure: StoreFailure) -> wasmtime::Result<Error> {
        match failure {
            StoreFailure::Guest(error) => {
                self.call.failed(StoreCtx::NAME, &error);
                Ok(error)
            }
            StoreFailure::Trap(error) => Err(wasmtime::Error::from(error)),
        }
    }
}
