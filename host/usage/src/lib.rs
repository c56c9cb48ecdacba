//! Who uses how much of a server that serves many, and whether that is more than `[limits]` of the policy allows.
//!
//! Reading order: [`Used`] is what was used, [`Ledger`] keeps it for a month, by day, principal and tool, in the store that all
//! servers share; [`Meter`] admits a call or says when to try again, with the `buckets` of the last minute and the days of
//! the ledger.
//!
//! Invariants: nothing that is counted makes a call wait for the store; each server writes rows of its own, so that
//! no two of them wait for each other; what a limit leaves no room for does nothing before it is refused.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod buckets;
mod day;
mod ledger;
mod meter;
mod used;

pub use day::Day;
pub use ledger::{Ledger, Row, since};
pub use meter::{Admitted, Exceeded, Meter};
pub use used::Used;
