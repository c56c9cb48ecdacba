//! What a request over HTTP says of itself: read, and checked as far as no server is needed for it.
//!
//! Reading order: [`admission`] is about the head, [`claims`] about what a body says, [`modern`] and [`params`] compare both in the era without
//! a handshake (`encoded` reads values of headers), [`session_id`] has the ids of the era with one, and [`event_id`]
//! those of the events of its streams.
//!
//! Invariant: nothing here reads a file, a clock or the network, and nothing panics, whatever somebody sends.

pub mod admission;
pub mod claims;
mod encoded;
pub mod event_id;
pub mod modern;
pub mod params;
pub mod session_id;
