//! Workspace storage in a PostgreSQL database that servers on any number of machines use at the same time.
//!
//! [`PostgresStore`] implements [`Store`](scorpiox_store::Store), whose documentation states the guarantees.
//! They are implemented as follows:
//!
//! - A *writer* holds the lock on its workspace's row. PostgreSQL releases it with the transaction, however
//!   the transaction ends. Other writers wait for it or get a conflict.
//! - A transaction that reads first is `REPEATABLE READ` and uses PostgreSQL's snapshot. Each commit that
//!   wrote changes the workspace's row, so PostgreSQL refuses the lock to a transaction that read an older
//!   state. A transaction that writes from the start is `READ COMMITTED`: as the only writer it sees no
//!   concurrent changes.
//! - Statements whose result the guest does not need are sent without waiting for the answer: writes whose
//!   effect on the quota is known, and the end of a read-only transaction. The answer to `BEGIN` is awaited,
//!   because after a failed `BEGIN` the following statements would belong to no transaction. A commit is one
//!   round trip.
//! - The server ends each statement before its process gives up on it. If a process gives up anyway, it
//!   cancels the statement on the server: see `ending`.
//! - A transaction that writes is refused if its tables have a foreign trigger: see `guard`.
//! - A transaction is refused if the tables do not have the expected format. A program that migrates them
//!   raises it.
//! - Nothing is inferred from database sequence numbers, which can repeat after a crash or a failover: see
//!   `mark`. State cached in the process (workspace IDs, existence of the tables, the secret) is verified
//!   repeatedly, because another database may have taken over.
//! - The thread that waits for an answer drives the connection itself, so no other thread has to be woken.
//!
//! All workspaces of a [`Database`] share a bounded number of connections in each process. The code that
//! opens the database decides which password is used and where it comes from.

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
mod unread;
mod usage;
mod warnings;

pub use address::{Address, AddressError};
pub use database::{Database, Options, Writers};
pub use format::FORMAT;
pub use pool::Reload;
pub use relay::{ACTS, Kind};
pub use store::PostgresStore;
