//! The state of a workspace: keys with values, timers and messages, in transactions that several servers run
//! at once.
//!
//! [`Store`] and [`Transaction`] say what holds for every implementation; their documentation is the
//! specification, and `scorpiox-store-conformance` tests its sentences one by one. There are two
//! implementations:
//!
//! - [`SqliteStore`], a file for each workspace, for servers of one machine;
//! - [`MemoryStore`], the reference model: as simple as the specification allows, for tests.
//!
//! Invariants: nothing is opened before the first use; nothing is locked between transactions; one call of a
//! tool is one transaction, which [`LazyTransaction`] begins when the call first needs it.
//!
//! This crate knows keys, timers and messages as data. What they mean is the business of the capabilities
//! above it, and which workspace a caller may open that of the server.

mod brief;
mod changes;
mod copy;
mod error;
pub mod implementing;
mod lazy;
mod memory;
mod name;
mod sqlite;
mod store;
mod transaction;

pub use brief::BriefStore;
pub use changes::{Changes, poll_every};
pub use copy::{Contents, copy, difference};
pub use error::StoreError;
pub use lazy::LazyTransaction;
pub use memory::MemoryStore;
pub use name::{NoName, WorkspaceName};
pub use sqlite::{Durability, SqliteStore};
pub use store::{Mode, Store, Tell};
pub use transaction::{
    Entry, MAX_KEPT_MESSAGES, MAX_KEY_BYTES, MAX_SCAN_BYTES, MAX_SCAN_ENTRIES, MAX_VALUE_BYTES, Message,
    Order, Timer, Transaction,
};
