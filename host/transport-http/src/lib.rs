//! The HTTP transport: many clients on one address, each with its own requests and sessions.
//!
//! Reading order:
//!
//! - [`listen`] accepts connections, `tls` encrypts them, and `descriptors` determines their maximum number.
//! - [`endpoint`] holds the shared state and passes a request through its checks. The module
//!   `request` implements the checks of the headers and the body.
//! - `unread` closes connections on which the rest of a body may follow.
//! - `callers` authenticates a request by a static token or a JWT of an `issuer`. `good` ends their streams in time.
//!   `challenge` tells other clients how to authenticate, and `cors` lets pages in a browser call.
//! - `served` holds the workspaces. `lookups` asks the database whether a session has ended.
//! - `post`, `get` and `end` handle the methods. `running` runs a message once a slot is free. `stream` holds
//!   the messages to a client, `kept` bounds the retained ones, and `events` writes them as server-sent
//!   events.
//! - `sessions` holds the clients of protocol revisions with a handshake. Session IDs (made by
//!   `scorpiox-http-request`) and the list of `ended` sessions outlive the process.
//! - `passed` forwards messages to other servers. `visits` records requests that lead to no call.
//! - [`files`] manages the transport's files. [`pages`] serves the pages for people, and `paper` sets their
//!   headers.
//! - The crate `scorpiox-http-bounds` provides the limits, and the threads for blocking work.
//!
//! Invariants:
//!
//! - Only the headers of a request are inspected before its sender is authenticated.
//! - Only the client of a session or request finds its state.
//! - A client that reads nothing costs bounded memory and no thread.
//! - A thread that drives connections never blocks.

pub mod admin;
mod answer;
mod answering;
pub mod bounds;
mod callers;
mod challenge;
mod cors;
mod descriptors;
mod end;
mod ended;
mod endpoint;
mod events;
pub mod files;
mod fresh;
mod gathered;
mod get;
mod good;
pub mod issuer;
pub mod jwt;
mod kept;
mod listen;
mod lookups;
pub mod observe;
pub mod pages;
mod paper;
mod passed;
mod post;
pub mod request;
mod revoked;
mod running;
mod served;
mod sessions;
mod shared;
mod stream;
mod tls;
mod unread;
mod visits;

pub use callers::sha256;
pub use endpoint::{listening_address, url};
pub use listen::{Load, Server, check_policy};
