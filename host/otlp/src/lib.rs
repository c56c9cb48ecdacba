//! The way to an OpenTelemetry collector: OTLP over HTTP, as protobuf.
//!
//! Reading order: [`Collector`] is one address, and sends there; [`Logs`] gives it lines of the audit, which it
//! confirms; `record` says what of a line a log record has beside it.
//!
//! Invariants: only the operator's policy says where a collector is; no redirect is followed, and no proxy of the
//! environment used; the line itself is in the record, byte for byte, so that who has the copy can verify the chain.

mod collector;
mod logs;
mod record;

pub use collector::{Collector, Trusted};
pub use logs::Logs;
