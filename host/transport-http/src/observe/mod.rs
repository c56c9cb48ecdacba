//! Monitoring of a server over HTTP: liveness, readiness, and metrics.
//!
//! Reading order: [`Listener`] serves three paths on a separate address. `ready` determines whether calls
//! would be served, `metrics` encodes the figures for Prometheus, and `process` those of the process.
//! [`Spans`] sends a span for each call to a collector.
//!
//! Invariants:
//! - A probe is answered in time, whatever else is blocked.
//! - A server is ready if a call would be served. The function that admits calls decides.
//! - Monitoring requests do not change what calls encounter.

mod listen;
mod metrics;
#[cfg(unix)]
mod process;
mod ready;
mod traces;

use std::sync::Arc;

use crate::Server;
use scorpiox_store_postgres::Database;

pub use listen::Listener;
pub use traces::Spans;

/// Objects to monitor.
pub struct Watched {
    /// The server.
    pub server: Arc<Server>,
    /// Database that stores the tools' data, if any.
    pub database: Option<Arc<Database>>,
}
