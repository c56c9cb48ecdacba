//! What among the files that commands see needs a rule of its own: files that are denied, sockets of
//! other programs, repositories, and names that programs obey.
//!
//! Whole trees are looked through before each command, since a file may have come since
//! the last one; a folder whose time of change is the same is not read again.
//!
//! Invariant: what cannot be looked at is named as [`Unseen`], for it to be closed whole. A command
//! chooses what it leaves behind, so nothing below a tree's root is a reason to fail.

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
use scorpiox_paths::{Identity, Modes, is_of_user, shortage};
use scorpiox_policy::{DeniedBelow, DenySet};

use super::area::Area;
use super::protect::Kept;
use folder::Folder;
use linked::{Follow, Linked, Links, MAX_ENTRIES};
pub(super) use links::OtherNames;
use walk::{UNREADABLE, Walk, Walked};

/// Most folders that the trees may have. What is more is closed.
const MAX_FOLDERS: usize = 500_000;

/// The number of times that the trees are looked through while folders go away before their turn: a program removes them, or a person
/// moves them. Commands move nothing meanwhile.
const MAX_WALKS: u32 = 3;

/// Looks through some trees.
#[derive(Debug)]
pub(crate) struct Survey {
    roots: Vec<PathBuf>,
    /// Those of them that commands may change.
    written: Vec<PathBuf>,
    deny: DenySet,
    /// Its globs that hold because of the folders that lead there, since the first look.
    denied_below: OnceLock<DeniedBelow>,
    most_folders: usize,
    most_entries: usize,
    memory: Mutex<Memory>,
    /// The rules of the last look.
    kept: Mutex<Arc<Kept>>,
}

#[derive(Debug, Default)]
struct Memory {
    /// There was a look before.
    has_looked: bool,
    modes: Modes,
    folders: HashMap<PathBuf, Folder>,
    /// Folders of git's, which stay so for as long as this lives, whatever is taken out of them.
    of_git: HashSet<Identity>,
    /// Links in them that count for what they lead to, and what that was.
    links: Links,
    linked: Linked,
    /// What was found last.
    found: Arc<Found>,
}

/// What was found. All paths are absolute, below one of the trees, and pass through no link.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Files, folders and links that are denied. Nothing below a denied folder is listed.
    pub denied: Vec<PathBuf>,
    /// Sockets, which lead to programs outside.
    pub sockets: Vec<PathBuf>,
    /// Files, folders and links of a protected name; one that is protected in its folder alone need not be there.
    pub names: Vec<PathBuf>,
    /// Links on the way to some of these.
    pub links: Vec<PathBuf>,
    /// Folders of git's, under any name.
    pub git_folders: Vec<PathBuf>,
    /// What is called `.git` and is not a folder.
    pub git_pointers: Vec<PathBuf>,
    /// What could not be looked at.
    pub unseen: Vec<Unseen>,
}

/// What one look gave.
#[derive(Debug)]
pub(crate) struct Look {
    pub found: Arc<Found>,
    /// Roots that a command had closed to their owner, and which are open again.
    pub reopened: Vec<PathBuf>,
}

/// A folder that was not looked at. Nothing is known of what lies in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Unseen {
    /// Where it is.
    pub path: PathBuf,
    /// Why, as the end of a sentence about it.
    pub why: &'static str,
}

/// Why trees cannot be looked through at all. Commands do not run then.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// The root of a tree cannot be read, or the system has too little of something to read a folder.
    #[error(
        "the folder {} cannot be searched for protected files: {error}; {}",
        .path.display(),
        shortage(.error).unwrap_or("make it readable again with `chmod u+rwx`")
    )]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
    /// A folder of the user's cannot be read at the first look.
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
    /// There are too many right in the root.
    #[error(
        "{} directly contains folders and links that count as more than {MAX_FOLDERS}, too many to search for protected \
         files; remove some, or start in a smaller folder",
        .0.display()
    )]
    TooLarge(PathBuf),
    /// A link leads further than is followed, so that nobody knows what is protected or denied because of it.
    #[error("the link {} leads through more links and folders than are followed; remove it", .0.display())]
    Long(PathBuf),
    /// A link makes that something may be denied in a folder that cannot be closed.
    #[error(
        "the link {} gives {} a name under which something is denied, and that folder {why}; remove the link",
        .link.display(),
        .folder.display()
    )]
    Linked {
        /// The link.
        link: PathBuf,
        /// The end that it leads to.
        folder: PathBuf,
        /// The fault that was met there.
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

    /// What is closed.
    pub(crate) fn denied(&self) -> &DenySet {
        &self.deny
    }

    /// Looks through all of it.
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
                // All is read again, since what was found does not know of it yet.
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

    /// A folder that commands could have closed before the first look, so that nothing is known of what it led to: it
    /// belongs to the user, and lies where commands write.
    fn closed_before(&self, unseen: &[Unseen]) -> Option<PathBuf> {
        let is_written = |path: &Path| self.written.iter().any(|root| path.starts_with(root));
        let closed = unseen.iter().filter(|unseen| unseen.why == UNREADABLE && is_written(&unseen.path));
        closed.map(|unseen| &unseen.path).find(|path| is_of_user(path)).cloned()
    }

    /// Reports whether commands may have closed one of these folders. What others own they cannot.
    pub(super) fn may_be_closed_by_commands(unseen: &[(PathBuf, &'static str)]) -> bool {
        unseen.iter().any(|(path, why)| *why != UNREADABLE || is_of_user(path))
    }

    /// Rules of the last look.
    pub(super) fn kept(&self) -> Arc<Kept> {
        Arc::clone(&self.kept.lock())
    }

    /// Keeps the rules of a look, for the next.
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
