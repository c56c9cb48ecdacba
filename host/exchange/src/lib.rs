//! Messages exchanged for a request before it is answered.
//!
//! Reading order: [`reply`] is the channel for messages to a client, [`inflight`] guarantees exactly one
//! answer per request, and [`progress`] reports progress. [`outgoing`] makes requests to the client, in
//! revisions that support them. [`rounds`] replaces such requests in the newest revision, with state tokens
//! from [`request_state`]. [`watched`] has the resources that a client subscribed to. [`news`] has
//! notifications that many clients receive. [`seal`] authenticates tokens that clients store and return.

pub mod inflight;
pub mod news;
pub mod outgoing;
pub mod progress;
pub mod reply;
pub mod request_state;
pub mod rounds;
pub mod seal;
pub mod watched;

pub use inflight::Ticket;
pub use progress::Progress;
pub use reply::{Admission, Channel, Reply};
