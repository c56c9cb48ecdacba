//! Fetching pages.
//!
//! Reading order: [`Fetcher`] takes a request through `route` (where may it go), `redirect`
//! (where does it go next) and `body` (how much of the answer is taken); `cache` keeps answers. [`Courier`] is for
//! what people download and upload themselves.
//!
//! Invariants: a host is decided about before its name is looked up; the name is looked up
//! once, every address that it has is checked, and the connection goes to one of those.
//! Each redirect is a request of its own. Nothing of the environment says where requests go.

mod body;
mod cache;
mod client;
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

/// Longest time of one request, with its redirects.
pub const MAX_TIME: Duration = Duration::from_secs(30);
/// Until the answer begins.
const FIRST_BYTE_TIME: Duration = Duration::from_secs(20);
/// Until a connection is there.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Largest answer, decompressed, in bytes.
pub const MAX_BODY_BYTES: usize = 10 * 1024 * 1024;
/// Redirects that are followed, one after the other.
const MAX_REDIRECTS: usize = 5;
/// What this program says it is.
pub const USER_AGENT: &str = concat!("scorpiox-code/", env!("CARGO_PKG_VERSION"));
