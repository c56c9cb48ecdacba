//! OTLP client for an OpenTelemetry collector, over HTTP with protobuf.
//!
//! Reading order: [`Collector`] sends to one endpoint. [`Logs`] sends audit lines and confirms them. `record`
//! converts a line to a log record.
//!
//! Invariants:
//! - Only the operator's policy determines the address of a collector.
//! - Redirects are not followed, and proxy settings of the environment are ignored.
//! - A record contains its line byte for byte, so that a copy can be verified with the chain.

mod collector;
mod logs;
mod record;

pub use collector::{Collector, Trusted};
pub use logs::Logs;
