//! Installation of plugins. [`Source`] reads the user's input: a folder, a pack, a component, or fetched
//! bytes. [`Staged`] is the plugin in a staging directory, [`Look`] describes it to the user before the
//! decision, and [`replace`] moves it into place. [`pack`],
//! [`keygen`], [`sign`] and [`verify`] serve plugin authors.
//!
//! Invariants:
//! - Only inspected files are installed: a plugin is staged, inspected there, and then moved.
//! - Input is read only once, within limits, into memory. Its hash and its signature cover those bytes.
//! - A signature that names a key of the policy but does not verify is an error. The plugin never counts as
//!   unsigned.
//! - This crate neither asks the user nor decides anything.

mod beside;
mod keygen;
mod list;
mod look;
mod pack;
mod parcel;
mod signing;
mod source;
mod stage;
mod store;

pub use beside::{Beside, is_older};
pub use keygen::{Protection, Trusts, keygen};
pub use list::list;
pub use look::{Look, closed, looked_into, show, standing};
pub use pack::pack;
pub(crate) use pack::{listed, put_new};
pub use parcel::{Content, Parcel};
pub use signing::{Named, SecretKeyFile, Whose, sign, sign_hash, sign_text, verify};
pub use source::{Given, Keys, Overrides, Source, is_buildable};
pub(crate) use source::{as_word, bounded};
pub(crate) use stage::{Removed, remove_leftovers};
pub use stage::{Staged, is_still, replace};
pub use store::{Fetch, Found, Listed, Opened, outdated, search};
