//! Paths that somebody else may change at any moment.
//!
//! Commands run as the user of this program. Wherever they can write they may exchange a folder
//! for a link between two looks at it, so a check of a path says nothing about what is opened by
//! the same path later.
//!
//! Reading order: [`Trail`] follows links, [`Writable`] holds the folders that commands can write,
//! [`resolve`] follows the links outside of those, [`Folder`] opens what is left from part to part without following any
//! link, [`programs`] finds programs that nobody but the system's owner can have exchanged, [`Stamp`] tells
//! whether something is what it was.
//!
//! Invariant: what is opened here is reached through no link. An error of a look is a refusal.
//! Which folders commands can write is for the caller to say.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod account;
mod folder;
mod modes;
mod names;
mod normalized;
mod owner;
pub mod programs;
mod resolve;
mod shortage;
mod stamp;
mod trail;
mod without_links;

pub use account::{account_home, account_id, account_name};
pub use folder::{Folder, Identity, Kind, open_file};
pub use modes::{Modes, is_of_user};
pub use names::is_plain;
pub use normalized::normalized;
pub use owner::{others_can_change, others_can_change_at, others_can_read};
#[cfg(windows)]
pub use owner::{users_can_change, users_can_exchange_in};
pub use resolve::{Resolver, Unresolved, Writable, resolve};
pub use shortage::shortage;
pub use stamp::{FINE_STEP, Stamp};
pub use trail::{Lost, Trail, Walks};
pub use without_links::without_links;
