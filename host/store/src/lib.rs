//! The state of one workspace on disk: a SQLite file that several servers use at
//! once.
//!
//! Invariants: nothing is opened before the first use; no lock is held between calls;
//! one call is one [`Transaction`]; what a committed transaction wrote survives the
//! end of the process at any instant.
//!
//! This module knows keys, timers and messages as data. What they mean is the
//! business of the capabilities above it.

mod connection;
mod create;
mod error;
mod forget;
mod keys;
mod lazy;
mod messages;
mod timers;

pub use connection::{Database, Durability, Transaction};
pub use error::DatabaseError;
pub use keys::{Entry, MAX_KEY_BYTES, MAX_VALUE_BYTES, Order};
pub use lazy::LazyTransaction;
pub use messages::Message;
pub use timers::Timer;

/// When a transaction takes the lock that only one writer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// At the first write. Fails with [`DatabaseError::Conflict`] when somebody wrote
    /// after this transaction's first read; the caller starts again with `Write`.
    ReadFirst,
    /// At the start, so that nothing read can change underneath.
    Write,
}
