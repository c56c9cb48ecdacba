//! Opens paths that other processes may change at any moment.
//!
//! Commands run as the user of this program. In writable directories they can replace a directory with a link
//! between two accesses. A check of a path therefore says nothing about a later access by the same path.
//!
//! Reading order: [`Trail`] follows links. [`Writable`] lists the directories that commands can write.
//! [`resolve`] follows links outside of those. [`Inside`] follows links in some directories, and looks at nothing
//! else. [`Folder`] opens the result component by component without
//! following links. [`programs`] finds programs that only the administrator can have replaced. [`Stamp`]
//! detects changes. [`home`] is the program's own directory.
//!
//! Invariant: files opened by this crate are reached through no link. A failed check is a refusal. The caller
//! specifies the directories that commands can write.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod account;
mod exchange;
mod folder;
pub mod home;
mod inside;
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

#[cfg(unix)]
pub use account::{account_groups, account_names};
pub use account::{account_home, account_id, account_name};
pub use exchange::Exchange;
pub use folder::{Folder, Identity, Kind, open_file};
pub use inside::Inside;
pub use modes::{Modes, is_of_user};
pub use names::{has_other_names, is_plain};
pub use normalized::normalized;
pub use owner::{others_can_change, others_can_change_at, others_can_read};
#[cfg(windows)]
pub use owner::{users_can_change, users_can_exchange_in};
pub use resolve::{Resolver, Unresolved, Writable, resolve};
pub use shortage::shortage;
pub use stamp::{FINE_STEP, Stamp};
pub use trail::{Lost, Trail, Walks};
pub use without_links::without_links;
