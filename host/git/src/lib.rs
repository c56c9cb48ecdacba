//! Finds the files that can make git start programs, wherever git is led to.
//!
//! Git follows more than the name `.git`. `.git` may be a file or a link, a git directory needs no particular
//! name, and a configuration names further files. [`Signs`] decides from the names in a folder if it is a git
//! directory, or could become one again. [`obeyed`] follows everything that git follows from such folders.
//! [`starts_programs`] decides if a single repository contains anything of this kind. A configuration is
//! parsed byte for byte as git does it. An entry is assumed to start programs unless its key is known to be
//! harmless. [`configured`] and [`has_starting_remote`] judge a folder that is no repository yet. [`remotes`] reads the
//! addresses of remotes. [`traps`] finds files that git trusts although commands write them.
//!
//! Invariant: every answer errs on the safe side. A folder counts even if git does not accept it yet. A file
//! counts even if git reads it only under some condition, or if it does not exist yet. Paths beyond the
//! limits are not followed but reported.
//!
//! The caller finds the folders and decides how to treat the files.

#![cfg_attr(test, allow(clippy::unwrap_used))]

#[cfg(unix)]
mod around;
mod borrowed;
mod config;
mod harmless;
mod hidden;
mod identity;
mod index;
mod leads;
mod names;
mod obeyed;
mod object_hash;
mod old_remotes;
mod operations;
mod outside;
mod parse;
mod prepared;
mod read;
mod remotes;
mod shared;
mod signs;
mod starts;
#[cfg(unix)]
mod tracked;
mod traps;
mod user;
mod words;
mod work_trees;

#[cfg(unix)]
pub use around::around;
pub use borrowed::{knows_branches, lenders, stores_behind};
pub use hidden::{Hidden, hidden};
pub use identity::{OwnIdentity, identity};
pub use leads::Leads;
pub use names::{HOOKS, Obeyed, WRITTEN, WRITTEN_AND_USUAL, weight};
pub use obeyed::{MAX_REPOSITORIES, Seen, obeyed};
pub use old_remotes::{OLD_REMOTES, has_starting_remote};
pub use outside::{Around, outside};
pub use prepared::{Configured, configured, may_start_later};
pub use remotes::{Remotes, Unknown, remotes};
pub use signs::{SIGNS, Signs};
pub use starts::starts_programs;
#[cfg(unix)]
pub use tracked::tracked_files;
pub use traps::{Replaced, Trap, TrapKind, Traps, traps};
pub use user::User;
pub use work_trees::{LinkedTree, linked_trees};

/// Returns the keys of a configuration, and `true` if git accepts all of it. For fuzzing.
#[cfg(feature = "fuzzing")]
pub fn keys(configuration: &[u8]) -> (Vec<Vec<u8>>, bool) {
    let parsed = parse::parse(configuration);
    (parsed.entries.into_iter().map(|entry| entry.name).collect(), !parsed.is_broken)
}

/// Entries of a git directory that decide which programs run: hooks, files that name hooks, and the programs and
/// configurations of `git instaweb`.
pub const OBEYED: [&str; 7] =
    ["hooks", "config", "config.worktree", "commondir", "remotes", "branches", "gitweb"];

/// Locked for writing while a test starts a program. Until the child calls `exec`, it holds copies of files
/// that other tests have open for writing, and a file that is open for writing never counts as harmless.
#[cfg(test)]
static STARTS: std::sync::RwLock<()> = std::sync::RwLock::new(());
