//! Reads HTTP requests, and checks them as far as possible without a server.
//!
//! Reading order: [`admission`] checks the headers, and [`claims`] reads the properties of a body. [`modern`]
//! and [`params`] compare both for protocol revisions without a handshake (`encoded` decodes header values).
//! [`session_id`] has the session IDs of revisions with a handshake, and [`event_id`] the event IDs of their
//! streams.
//!
//! Invariant: nothing here reads a file, a clock or the network, and no input causes a panic.

pub mod admission;
pub mod claims;
mod encoded;
pub mod event_id;
pub mod modern;
pub mod params;
pub mod session_id;
