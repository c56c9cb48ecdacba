//! Records of calls, usage limits, and the export of telemetry.
//!
//! Reading order: [`records`] writes the audit line of each call and keeps what the metrics show, [`usage`]
//! counts calls and enforces the limits of principals, and [`otlp`] sends records to a collector.

pub mod otlp;
pub mod records;
pub mod usage;
