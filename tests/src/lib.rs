//! Shared support for the end-to-end tests: starts the program, exchanges messages over pipes, and validates
//! each message it sends against the protocol's schemas.

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
