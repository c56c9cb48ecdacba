//! Limits for HTTP clients, shared among principals: calls (`places`), memory of bodies (`room`), blocking work
//! and its threads (`blocking`), stalled connections (`patient`), open streams (`streams`), and invalid tokens
//! (`peers`).
//!
//! Invariant: nothing here depends on the kind of work that it limits.

mod blocking;
mod patient;
mod peers;
mod places;
mod room;
mod streams;

pub use blocking::{Blocking, MAX_BLOCKING, MayBlock, RETRY_AFTER, WaitsFor, WeakMap};
pub use patient::{Patient, Served, Serving};
pub use peers::{Peers, whole};
pub use places::{Entry, MAX_RUNNING, PART, Place, Places, Turn};
pub use room::{Held, Room};
pub use streams::{OpenStream, Streams};
