//! State of a workspace: keys with values, timers, and messages, accessed in transactions by several servers
//! concurrently.
//!
//! The documentation of [`Store`] and [`Transaction`] specifies every implementation, and
//! `scorpiox-store-conformance` tests it sentence by sentence. There are two implementations:
//!
//! - [`SqliteStore`]: a file for each workspace, for the servers of one machine.
//! - [`MemoryStore`]: the reference model, as simple as the specification permits, for tests.
//!
//! Invariants:
//! - Nothing is opened before the first use.
//! - Nothing is locked between transactions.
//! - A tool call is one transaction, which [`LazyTransaction`] starts on first use.
//!
//! This crate treats keys, timers, and messages as data. The capabilities built on it define their meaning,
//! and the server decides which workspace a caller may open.

mod brief;
mod changes;
mod copy;
mod error;
pub mod implementing;
mod lazy;
mod memory;
mod name;
mod repeats;
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
pub use repeats::Repeats;
pub use sqlite::{Durability, SqliteStore};
pub use store::{Mode, Store, Tell};
pub use transaction::{
    Entry, MAX_KEPT_MESSAGES, MAX_KEY_BYTES, MAX_SCAN_BYTES, MAX_SCAN_ENTRIES, MAX_VALUE_BYTES, Message,
    Order, Timer, Transaction,
};
