//! How plugins come: [`Source`] reads what somebody gives, a folder, a pack, a component, or bytes that were fetched;
//! [`Staged`] is that as it would be installed; [`Look`] is what a person has to see before they decide, and
//! [`replace`] puts it in its place. [`pack`], [`sign`] and [`verify`] are for those who give.
//!
//! Invariants:
//! - Nothing is installed but what was looked at: it is staged, looked at there, and moved.
//! - What is given is read once, within bounds, into memory. Its hash and its signature are of those bytes.
//! - A signature by a key of the policy that does not fit is an error, never a plugin without a signature.
//! - Nobody is asked here, and nothing is decided.

mod beside;
mod list;
mod look;
mod pack;
mod parcel;
mod signing;
mod source;
mod stage;
mod store;

pub use beside::{Beside, is_older};
pub use list::list;
pub use look::{Look, closed, looked_into, show, standing};
pub use pack::pack;
pub use parcel::{Content, Parcel};
pub use signing::{Named, Whose, sign, verify};
pub use source::{Given, Keys, Source};
pub use stage::{Staged, is_still, replace};
pub use store::{Fetch, Found, Listed, Opened, outdated, search};
