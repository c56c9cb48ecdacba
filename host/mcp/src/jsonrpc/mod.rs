//! Line-delimited JSON-RPC 2.0, as used by the stdio transport of the Model Context Protocol.
//!
//! Reading order: [`frame`] splits the input into lines without copying them. [`message`] parses a line's
//! envelope, including the [`id`], and borrows from the line; [`members`] has the unparsed parameters.
//! [`reply`] serializes lines, and [`output`] writes them. [`memory`] is an in-memory connection for tests,
//! and [`code`] lists the error codes.
//!
//! Invariant: this crate knows no method, revision or tool. Parameters and results pass through as raw JSON
//! text.

pub mod code;
pub mod frame;
pub mod id;
pub mod members;
pub mod memory;
pub mod message;
pub mod output;
pub mod reply;
pub mod values;

pub use frame::{Frame, Framer};
pub use id::Id;
pub use members::{Flaw, MAX_MEMBERS, Members};
pub use message::{Batch, Incoming, Malformed, Message};
pub use output::Output;
