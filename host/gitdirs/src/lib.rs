//! Which files make git start programs, wherever git is led to.
//!
//! Git is led by more than the name `.git`: that may be a file or a link, a folder needs no name
//! at all to be a repository, and a configuration names further files. [`Signs`] tells from the
//! names in a folder whether it is, or could again be made, a folder of git's. [`obeyed`] follows
//! from such folders whatever git follows. [`starts_programs`] tells whether one repository has anything of that.
//! A configuration is read byte for byte as git does, and what stands in it starts programs unless its key is known to
//! start none.
//!
//! Invariant: every answer is on the safe side. A folder that git would not take yet counts, and so
//! does a file that git would read only under some condition, or that does not exist yet. What is not
//! followed, since there is too much of it, is named.
//!
//! What to do about these files is left to the caller, as is finding the folders.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod config;
mod harmless;
mod hidden;
mod identity;
#[cfg(unix)]
mod index;
mod leads;
mod names;
mod obeyed;
mod outside;
mod parse;
mod read;
mod shared;
mod signs;
mod starts;
mod user;
mod words;

pub use hidden::{Hidden, hidden};
pub use identity::identity;
pub use leads::Leads;
pub use names::Obeyed;
pub use obeyed::{MAX_REPOSITORIES, Seen, obeyed};
pub use outside::outside;
pub use signs::{SIGNS, Signs};
pub use starts::starts_programs;
pub use user::User;

/// The names of the keys in a configuration, and whether all of it is what git accepts. For fuzzing.
#[cfg(feature = "fuzzing")]
pub fn keys(configuration: &[u8]) -> (Vec<Vec<u8>>, bool) {
    let parsed = parse::parse(configuration);
    (parsed.entries.into_iter().map(|entry| entry.name).collect(), !parsed.is_broken)
}

/// What in a folder of git's decides about programs: hooks, and what names them.
pub const OBEYED: [&str; 4] = ["hooks", "config", "config.worktree", "commondir"];

/// Held to write while a test starts a program: until that program runs, it keeps files open that other tests write, and
/// a file that is open to be written is never harmless.
#[cfg(test)]
static STARTS: std::sync::RwLock<()> = std::sync::RwLock::new(());
