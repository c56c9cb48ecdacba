//! What the tests of the finished program share: starting it, talking to it over pipes,
//! and checking each message that it sends against the protocol's own schemas.

#[cfg(unix)]
pub mod container;
pub mod conversation;
pub mod http;
#[cfg(unix)]
pub mod managed;
pub mod program;
pub mod schema;
pub mod site;
pub mod store;

pub use program::{Canonical, Next, Program, Served, Started};
