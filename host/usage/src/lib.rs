//! Who uses how much of a server that serves many, and whether that is more than `[limits]` of the policy allows.
//!
//! Reading order: [`Used`] is what was used, [`Ledger`] keeps it for a month, by day, principal and tool, in the store that all
//! servers share; [`Meter`] admits a call or says when to try again, with the `buckets` of the last minute, the days of
//! the ledger, and the `quotas` of calls that are counted before they begin.
//!
//! Invariants: no more calls of a day begin than are allowed, at all servers together; nothing else that is counted makes a call
//! wait for the store; each server writes rows of its own, so that no two of them wait for each other; what a limit leaves no room for does nothing before it is refused.

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
