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
pub mod programs;
mod resolve;
mod stamp;
mod trail;

pub use account::{account_home, user_name};
pub use folder::{Folder, Identity, Kind, open_file};
pub use resolve::{Resolver, Unresolved, Writable, resolve};
pub use stamp::{FINE_STEP, Stamp};
pub use trail::{Lost, Trail};

/// Whether others than this process's user and root can change a file or a folder: why, as a clause.
pub fn others_can_change(about: &std::fs::Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    if ![0, user].contains(&about.uid()) {
        return Some(format!("it belongs to user {}, not to you", about.uid()));
    }
    // By convention a user's own group has the user's number.
    let group_writes = about.mode() & 0o020 != 0 && ![0, user].contains(&about.gid());
    (group_writes || about.mode() & 0o002 != 0).then(|| "others may write it".to_owned())
}
