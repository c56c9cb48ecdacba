//! Surveys the files that commands see for paths that need a rule: denied files, sockets of other programs,
//! repositories, and protected names that programs obey.
//!
//! Complete trees are searched before each command, because files may have appeared since the last survey. A
//! folder with an unchanged change time is not read again.
//!
//! Invariant: a folder that cannot be inspected is reported as [`Unseen`], and is closed completely. A
//! command controls what it leaves behind, so nothing below a root makes the survey fail.

mod entries;
mod folder;
mod linked;
mod links;
mod walk;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use scorpiox_fs::{Identity, Modes, is_of_user, shortage};
use scorpiox_policy::{DeniedBelow, DenySet};

use super::area::Area;
use super::protect::Kept;
use folder::Folder;
use linked::{Follow, Linked, Links, MAX_ENTRIES};
pub(super) use links::OtherNames;
use walk::{UNREADABLE, Walk, Walked};

/// Maximum number of folders in all trees. Branches beyond the limit are closed.
const MAX_FOLDERS: usize = 500_000;

/// Maximum number of walks while folders disappear before they are visited, because a program removes them or
/// the user moves them. Commands move nothing in the meantime.
const MAX_WALKS: u32 = 3;

/// Searches a set of trees.
#[derive(Debug)]
pub(crate) struct Survey {
    roots: Vec<PathBuf>,
    /// Roots that commands may change.
    written: Vec<PathBuf>,
    deny: DenySet,
    /// Globs of `deny` that apply because of parent folders, computed on the first survey.
    denied_below: OnceLock<DeniedBelow>,
    most_folders: usize,
    most_entries: usize,
    memory: Mutex<Memory>,
    /// Rules of the last survey.
    kept: Mutex<Arc<Kept>>,
}

#[derive(Debug, Default)]
struct Memory {
    /// `true` after the first successful survey.
    has_looked: bool,
    modes: Modes,
    folders: HashMap<PathBuf, Folder>,
    /// Git directories. An entry stays for the lifetime of the survey, whatever is removed from the folder.
    of_git: HashSet<Identity>,
    /// Links whose targets matter, and the result of following them.
    links: Links,
    linked: Linked,
    /// Result of the last survey.
    found: Arc<Found>,
}

/// Result of a survey. All paths are absolute, lie below a root, and contain no links.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Denied files, folders and links. The content of a denied folder is not listed.
    pub denied: Vec<PathBuf>,
    /// Sockets, which lead to programs outside the sandbox.
    pub sockets: Vec<PathBuf>,
    /// Files, folders and links with a protected name. A name that is protected only in its folder need not
    /// exist.
    pub names: Vec<PathBuf>,
    /// Links that lead to some of these names.
    pub links: Vec<PathBuf>,
    /// Git directories under any name.
    pub git_folders: Vec<PathBuf>,
    /// Entries named `.git` that are not folders.
    pub git_pointers: Vec<PathBuf>,
    /// Folders that could not be inspected.
    pub unseen: Vec<Unseen>,
}

/// Result of one survey.
#[derive(Debug)]
pub(crate) struct Look {
    pub found: Arc<Found>,
    /// Roots that a command had closed to their owner, reopened by the survey.
    pub reopened: Vec<PathBuf>,
}

/// A folder that was not inspected. Its content is unknown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Unseen {
    /// Path of the folder.
    pub path: PathBuf,
    /// Reason, as the end of a sentence about the folder.
    pub why: &'static str,
}

/// Reasons why the trees cannot be searched at all. Commands do not run then.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// The root of a tree cannot be read, or a system resource needed to read a folder is exhausted.
    #[error(
        "the folder {} cannot be searched for protected files: {error}; {}",
        .path.display(),
        shortage(.error).unwrap_or("make it readable again with `chmod u+rwx`")
    )]
    Unreadable {
        /// Path of the folder.
        path: PathBuf,
        /// Error returned by the system.
        error: io::Error,
    },
    /// A folder of the user cannot be read in the first survey.
    #[error(
        "{} cannot be read, so nothing is known of what its links and git configurations lead to; make it readable with \
         `chmod u+rwx`, or remove it",
        .0.display()
    )]
    Closed(PathBuf),
    /// The root of a tree changes faster than it can be read.
    #[error(
        "{} cannot be searched for protected files: at each look folders right in it had been moved or removed; end the \
         program that does so, or wait for it, and try again",
        .0.display()
    )]
    Restless(PathBuf),
    /// A root directly contains too many folders.
    #[error(
        "{} directly contains folders and links that count as more than {MAX_FOLDERS}, too many to search for protected \
         files; remove some, or start in a smaller folder",
        .0.display()
    )]
    TooLarge(PathBuf),
    /// A link leads too far to follow, so the protected or denied paths behind it are unknown.
    #[error("the link {} leads through more links and folders than are followed; remove it", .0.display())]
    Long(PathBuf),
    /// A link may make a path denied in a folder that cannot be closed.
    #[error(
        "the link {} gives {} a name under which something is denied, and that folder {why}; remove the link",
        .link.display(),
        .folder.display()
    )]
    Linked {
        /// Path of the link.
        link: PathBuf,
        /// Folder behind the link.
        folder: PathBuf,
        /// Problem with that folder.
        why: &'static str,
    },
}

impl Survey {
    pub(crate) fn new(areas: &[Area], deny: DenySet) -> Self {
        let roots = areas.iter().map(|area| area.path.clone()).collect();
        let written = areas.iter().filter(|area| area.write).map(|area| area.path.clone()).collect();
        Self {
            roots,
            written,
            deny,
            denied_below: OnceLock::new(),
            most_folders: MAX_FOLDERS,
            most_entries: MAX_ENTRIES,
            memory: Mutex::default(),
            kept: Mutex::default(),
        }
    }

    /// Returns the deny rules.
    pub(crate) fn denied(&self) -> &DenySet {
        &self.deny
    }

    /// Returns the result of the last search.
    pub(crate) fn found(&self) -> Arc<Found> {
        Arc::clone(&self.memory.lock().found)
    }

    /// Searches all trees.
    pub(crate) fn look(&self) -> Result<Look, SurveyError> {
        let mut memory = self.memory.lock();
        let reopened = memory.modes.restore();
        let below = self.denied_below.get_or_init(|| self.deny.below());
        let mut walks = 0;
        let Walked { folders, mut unseen, changed } = loop {
            walks += 1;
            let mut walk = Walk::new(&self.deny, self.most_folders, std::mem::take(&mut memory.folders));
            if let Err(error) = walk.through(&self.roots) {
                memory.folders = walk.give_up();
                return Err(error);
            }
            if !walk.missed_some() || walks >= MAX_WALKS {
                break walk.end();
            }
            memory.folders = walk.give_up();
        };
        memory.folders = folders;
        memory.modes.remember(&self.written);
        let changed = changed || walks > 1;
        if changed {
            memory.links = Links::of(memory.folders.values(), below);
        }
        let (deny, roots, most_entries) = (&self.deny, &self.roots, self.most_entries);
        let follow = Follow { deny, below, roots, most_entries };
        let linked = match memory.links.follow(&follow) {
            Ok(linked) => linked,
            Err(error) => {
                // Clear the cache so that everything is read again, since `found` does not reflect this walk
                // yet.
                memory.folders.clear();
                return Err(error);
            }
        };
        unseen.extend_from_slice(&linked.unseen);
        if changed || memory.found.unseen != unseen || memory.linked != linked {
            memory.linked = linked;
            memory.found = Arc::new(memory.find(unseen));
        }
        if !memory.has_looked
            && let Some(closed) = self.closed_before(&memory.found.unseen)
        {
            return Err(SurveyError::Closed(closed));
        }
        memory.has_looked = true;
        Ok(Look { found: Arc::clone(&memory.found), reopened })
    }

    /// Returns a folder that commands could have closed before the first survey, so that its former targets
    /// are unknown. Such a folder belongs to the user and lies in a writable area.
    fn closed_before(&self, unseen: &[Unseen]) -> Option<PathBuf> {
        let is_written = |path: &Path| self.written.iter().any(|root| path.starts_with(root));
        let closed = unseen.iter().filter(|unseen| unseen.why == UNREADABLE && is_written(&unseen.path));
        closed.map(|unseen| &unseen.path).find(|path| is_of_user(path)).cloned()
    }

    /// Returns `true` if commands may have closed one of these folders. They cannot close folders of other
    /// users.
    pub(super) fn may_be_closed_by_commands(unseen: &[(PathBuf, &'static str)]) -> bool {
        unseen.iter().any(|(path, why)| *why != UNREADABLE || is_of_user(path))
    }

    /// Returns the rules of the last survey.
    pub(super) fn kept(&self) -> Arc<Kept> {
        Arc::clone(&self.kept.lock())
    }

    /// Stores the rules of a survey for the next one.
    pub(super) fn keep(&self, rules: Kept) {
        *self.kept.lock() = Arc::new(rules);
    }
}

impl Memory {
    fn find(&mut self, unseen: Vec<Unseen>) -> Found {
        let mut found = Found { unseen, ..Found::default() };
        let mut of_git = HashSet::new();
        for (path, folder) in &self.folders {
            found.denied.extend_from_slice(&folder.denied);
            found.sockets.extend_from_slice(&folder.sockets);
            found.names.extend_from_slice(&folder.names);
            found.git_pointers.extend_from_slice(&folder.git_pointers);
            if folder.is_of_git || self.of_git.contains(&folder.identity()) {
                found.git_folders.push(path.clone());
                of_git.insert(folder.identity());
            }
        }
        found.names.extend_from_slice(&self.linked.names);
        found.links.clone_from(&self.linked.links);
        found.denied.extend_from_slice(&self.linked.denied);
        self.of_git = of_git;
        let Found { denied, sockets, names, git_folders, git_pointers, .. } = &mut found;
        for list in [denied, sockets, names, git_folders, git_pointers] {
            list.sort_unstable();
            list.dedup();
        }
        found
    }
}

#[cfg(test)]
mod tests;
