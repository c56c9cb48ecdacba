//! Meters the usage of a shared server, and enforces `[limits]` of the policy.
//!
//! Reading order: [`Used`] is an amount of usage. [`Ledger`] retains it for a month, by day, principal, and
//! tool, in the store shared by all servers. [`Meter`] admits a call or returns a retry delay, based on the
//! `buckets` of the last minute, the days of the ledger, and the `quotas` of calls counted before they start.
//!
//! Invariants:
//! - The number of calls per day never exceeds the limit, across all servers.
//! - No other limit makes a call wait for the store.
//! - Each server writes its own rows, so servers never wait for each other.
//! - A call that exceeds a limit is refused before it has any effect.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod admitted;
mod buckets;
mod day;
mod exceeded;
mod ledger;
mod meter;
mod quotas;
mod used;

pub use admitted::Admitted;
pub use day::Day;
pub use exceeded::Exceeded;
pub use ledger::{Ledger, Row, since};
pub use meter::Meter;
pub use used::Used;
