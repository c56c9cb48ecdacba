//! Repositories of git that come to be while a command runs.
//!
//! What was there before has rules of its own. What the command makes is told when it has ended. What somebody
//! else makes meanwhile is nothing that the command may change.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, statat};
use scorpiox_kernel::reach::{self, Identity};

use super::absent::folded;
use super::caller::Spot;
use super::came::Came;

/// What git looks for, as [`folded`] gives it.
const NAME: &str = ".git";
/// Folders in one of git's that hold further ones.
const HOLD_MORE: [&str; 2] = ["worktrees", "modules"];

/// Those of a command.
#[derive(Debug)]
pub(super) struct Repositories {
    came: Came,
    /// Folders that were there when it began, and those that it made, each by its name or by moving another one
    /// there.
    known: RefCell<BTreeSet<Identity>>,
}

impl Repositories {
    /// Those of a command with rules about these paths: there is one in each repository that is there.
    pub(super) fn new<'a>(ruled: impl Iterator<Item = &'a Path>) -> Self {
        let folders: BTreeSet<&Path> =
            ruled.filter_map(Path::parent).filter(|folder| may_be_one(folder)).collect();
        let known = folders.into_iter().filter_map(|folder| reach::identity_at(folder).ok()).collect();
        Self { came: Came::default(), known: RefCell::new(known) }
    }

    /// The command made a name: that of a file, or of what may be a folder.
    pub(super) fn made(&self, spot: &Spot, is_file: bool) {
        let is_repository = folded(spot.bare()) == NAME;
        if is_repository {
            self.came.add(spot);
        } else if is_file {
            // Most of what commands make.
            return;
        }
        if let Ok(found) = statat(&spot.folder, spot.bare(), AtFlags::SYMLINK_NOFOLLOW)
            && (is_repository || FileType::from_raw_mode(found.st_mode).is_dir())
        {
            self.known.borrow_mut().insert(reach::identity(&found));
        }
    }

    /// Whether a place has the name, and what somebody else put there since the command began.
    pub(super) fn holds_anothers(&self, spot: &Spot, name: &str) -> io::Result<bool> {
        if name != NAME {
            return Ok(false);
        }
        match statat(&spot.folder, spot.bare(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(!self.known.borrow().contains(&reach::identity(&found))),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What is there now of what was made with the name of a repository.
    pub(super) fn found(&self) -> (Vec<PathBuf>, u32) {
        self.came.found()
    }

    /// Whether a folder is, or lies in, one of git's that somebody else made since the command began: `inside` a
    /// folder `root` that commands may write to.
    pub(super) fn is_anothers(
        &self,
        root: &Path,
        inside: &Path,
        is_new: impl Fn(&Path) -> io::Result<bool>,
    ) -> io::Result<bool> {
        let mut path = root.to_owned();
        let (mut is_in_git, mut may_be_one) = (false, false);
        for part in inside {
            path.push(part);
            let name = folded(part);
            let is_repository = name == NAME;
            if (is_repository || may_be_one) && !self.is_known(&path)? && is_new(&path)? {
                return Ok(true);
            }
            is_in_git |= is_repository;
            may_be_one = is_in_git && HOLD_MORE.contains(&name.as_str());
        }
        Ok(false)
    }

    fn is_known(&self, folder: &Path) -> io::Result<bool> {
        Ok(self.known.borrow().contains(&reach::identity_at(folder)?))
    }
}

/// Whether the names say that a folder is one of git's.
fn may_be_one(folder: &Path) -> bool {
    let mut names = folder.iter().rev().map(folded);
    let is_repository = names.next().is_some_and(|name| name == NAME);
    is_repository || names.next().is_some_and(|name| HOLD_MORE.contains(&name.as_str()))
}
