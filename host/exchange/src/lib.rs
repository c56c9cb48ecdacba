//! What goes to and fro for a request before it is answered.
//!
//! Reading order: [`reply`] is where messages for a client go, [`inflight`] keeps the promise of exactly one answer,
//! [`progress`] says how far a request is, [`outgoing`] are requests to the client in the revisions that have such, and
//! [`rounds`] takes their place in the newest, with marks that [`request_state`] makes. [`watched`] are resources that a
//! client subscribed to. [`news`] is what many clients are told alike.

pub mod inflight;
pub mod news;
pub mod outgoing;
pub mod progress;
pub mod reply;
pub mod request_state;
pub mod rounds;
pub mod watched;

pub use inflight::Ticket;
pub use progress::Progress;
pub use reply::{Admission, Channel, Reply};
