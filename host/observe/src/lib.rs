//! What those are told who watch a server over HTTP: whether it is alive, whether it is ready, and its figures.
//!
//! Reading order: [`Listener`] answers three paths on an address of its own; `ready` finds out whether calls would be served,
//! `metrics` writes the figures as Prometheus reads them, `process` those of the process. [`Spans`] sends a span for
//! each call to a collector.
//!
//! Invariants: a probe is answered in time, whatever else waits; a server is ready if a call would be served now, as the one
//! function finds that decides about each call; nothing that is asked here changes what calls would find.

mod listen;
mod metrics;
#[cfg(unix)]
mod process;
mod ready;
mod traces;

use std::sync::Arc;

use scorpiox_http::Server;
use scorpiox_postgres::Database;

pub use listen::Listener;
pub use traces::Spans;

/// What is watched.
pub struct Watched {
    /// The server.
    pub server: Arc<Server>,
    /// Where it keeps what tools store, if that is a database.
    pub database: Option<Arc<Database>>,
}
