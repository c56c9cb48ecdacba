//! Fetches web pages.
//!
//! Reading order: [`Fetcher`] passes a request through `route` (permitted targets), `redirect` (the next
//! target) and `body` (reading the response). `cache` stores responses. [`Courier`] transfers files for the
//! user's own commands. [`browser`] renders pages with a browser.
//!
//! Invariants: the policy checks a host before its name is resolved. The name is resolved once, all its
//! addresses are checked, and the connection uses one of them. Each redirect is checked like a new request.
//! Environment variables do not influence the target of requests.

mod body;
#[cfg(unix)]
pub mod browser;
mod cache;
mod client;
mod cookies;
mod courier;
mod error;
mod exchange;
mod fetch;
mod redirect;
mod request;
mod route;

use std::time::Duration;

pub use courier::{Arrived, Courier, Gauge, Times, Transfer, is_same_origin};
pub use error::WebError;
pub use exchange::Exchange;
pub use fetch::{Fetcher, Pending, Waited};
pub use request::{Method, Request, Response};
pub use route::{Route, Router, Watch, tell};

/// Maximum time of one request, including its redirects.
pub const MAX_TIME: Duration = Duration::from_secs(30);
/// Maximum time until the response starts.
const FIRST_BYTE_TIME: Duration = Duration::from_secs(20);
/// Maximum time to establish a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Maximum size of a decompressed response in bytes.
pub const MAX_BODY_BYTES: usize = 10 * 1024 * 1024;
/// Maximum number of consecutive redirects.
const MAX_REDIRECTS: usize = 5;
/// Value of the `User-Agent` header.
pub const USER_AGENT: &str = concat!("scorpiox-code/", env!("CARGO_PKG_VERSION"));
