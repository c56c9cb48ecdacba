//! JSON-RPC 2.0 over lines, as the Model Context Protocol's stdio transport uses it.
//!
//! Reading order: [`frame`] cuts the input into lines without copying them,
//! [`message`] reads a line's envelope and borrows from it ([`id`] among it), [`members`] is what it leaves
//! of the parameters, [`reply`] builds lines,
//! [`output`] is the one writer, [`memory`] is the connection that tests use instead
//! of a process's pipes, and [`code`] lists the error codes.
//!
//! Invariant: nothing here knows a method, a revision or a tool. Parameters and
//! results pass through as raw JSON text.

pub mod code;
pub mod frame;
pub mod id;
pub mod members;
pub mod memory;
pub mod message;
pub mod output;
pub mod reply;

pub use frame::{Frame, Framer};
pub use id::Id;
pub use members::Members;
pub use message::{Batch, Incoming, Malformed, Message};
pub use output::Output;
