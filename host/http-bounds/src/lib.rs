//! Bounds on work that is done at once for clients over HTTP, of which each principal has a part: calls and bodies (`places`), work that
//! may block, and its threads (`blocking`), connections of clients that do not go on (`patient`), tokens that are not good (`peers`).
//!
//! Invariant: nothing here knows what it bounds.

mod blocking;
mod patient;
mod peers;
mod places;

pub use blocking::{Blocking, MAX_BLOCKING, MayBlock, RETRY_AFTER, WaitsFor, WeakMap};
pub use patient::{Patient, Served, Serving};
pub use peers::Peers;
pub use places::{Entry, Held, MAX_RUNNING, PART, Place, Places, Room, Turn};
