//! Rules of the last survey, for folders that have become unreadable.
//!
//! The content of a folder leads elsewhere: a configuration to hooks, a denied link to its target. A command
//! that makes the folder unreadable, or fills it until it is closed, would expose those targets. They
//! therefore keep their rules.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::View;
use super::special::{Special, Why};

/// Paths with a rule, by kind.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(super) hidden: BTreeMap<PathBuf, Why>,
    pub(super) frozen: BTreeMap<PathBuf, Why>,
    pub(super) absent: BTreeMap<PathBuf, Why>,
    pub(super) pinned: BTreeSet<PathBuf>,
}

impl Kept {
    /// Restores the rules of all paths, except those in a closed folder.
    pub(super) fn recall(&self, special: &mut Special) {
        let is_open = |path: &Path, special: &Special| special.closes(path, false).is_none();
        for (path, why) in &self.hidden {
            let is_there = path.symlink_metadata().map_or_else(|error| !is_absent(&error), |_| true);
            if is_there && !matches!(why, Why::Unseen(_)) && is_open(path, special) {
                special.hide(path, *why);
            }
        }
        for (path, why) in self.frozen.iter().chain(&self.absent) {
            // Commands cannot remove a folder that contains a rule. A missing parent was removed by another
            // program.
            let has_place = path.parent().is_some_and(Path::is_dir);
            if has_place && is_open(path, special) {
                View::protect_here(path, *why, special);
            }
        }
        for path in &self.pinned {
            if path.is_dir() {
                special.pin(path);
            }
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
