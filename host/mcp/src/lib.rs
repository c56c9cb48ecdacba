//! Data types of the Model Context Protocol: differences between revisions, request parameters and metadata,
//! and results. Independent of any tool. [`jsonrpc`] has the messages below the protocol.

pub mod client;
pub mod content;
pub mod error;
pub mod jsonrpc;
pub mod params;
pub mod result;
pub mod revision;

pub use client::{ClientTraits, prefixed};
pub use error::RpcError;
pub use params::{LogLevel, Params, RequestMeta};
pub use revision::Revision;
