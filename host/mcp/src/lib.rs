//! The Model Context Protocol's shapes: what differs by revision, what requests carry
//! beside their parameters, and what results look like. Knows no tool.

pub mod client;
pub mod content;
pub mod error;
pub mod params;
pub mod result;
pub mod revision;

pub use client::{ClientTraits, prefixed};
pub use error::RpcError;
pub use params::{LogLevel, Params, RequestMeta};
pub use revision::Revision;
