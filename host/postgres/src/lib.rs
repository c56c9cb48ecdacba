//! What workspaces keep, in a PostgreSQL database: the servers of any number of machines use it at once.
//!
//! [`PostgresStore`] is a [`Store`](scorpiox_store::Store), whose documentation says what holds. How it comes about:
//!
//! - A *writer* holds the lock of its workspace's row, which PostgreSQL lets go of with the transaction, however that
//!   ends. Others wait for it, or are told of a conflict.
//! - A transaction that reads first is `REPEATABLE READ`: its snapshot is PostgreSQL's. Each commit that wrote changes
//!   the workspace's row, so that the lock is refused to who read an older state. A writer from the start is `READ
//!   COMMITTED`: nobody else writes, so that nothing changes under it.
//! - What the guest need not wait for is sent and not waited for: writes whose effect on the quota is known, the end of what
//!   only read. The beginning is waited for: where it fails, what follows would be part of no transaction. A commit is one round trip.
//! - The server ends each statement before its process gives it up, and what is given up all the same is cancelled there: see `ending`.
//! - A transaction that writes finds no trigger of others on its tables, or is refused: see `guard`.
//! - Each transaction finds the format of the tables as it knows it, or is refused: a program that migrates them raises it.
//! - Nothing is inferred from numbers of the database, which can come again after a crash or a failover: see `mark`. What a process
//!   remembers of a database (numbers of workspaces, that there are tables, the secret) is compared with it again: another one may
//!   have taken over.
//! - A connection is used by the thread that waits for its answer: no other has to be woken.
//!
//! All processes of a [`Database`] share a bounded number of connections each. Whose password it is, and where it comes
//! from, is the business of who opens it.

mod address;
mod begin;
mod bounds;
mod changes;
mod clock;
mod connection;
mod damage;
mod database;
mod doubt;
mod ear;
mod ending;
mod error;
mod forget;
mod format;
mod guard;
mod holders;
mod keys;
mod line;
mod losses;
mod mark;
mod messages;
mod notices;
mod operations;
mod pool;
mod relay;
mod rights;
mod scan;
mod secrets;
mod shared;
mod store;
mod timers;
mod tls;
mod transaction;
mod usage;

pub use address::{Address, AddressError};
pub use database::{Database, Options, Writers};
pub use format::FORMAT;
pub use pool::Reload;
pub use relay::ACTS;
pub use store::PostgresStore;
