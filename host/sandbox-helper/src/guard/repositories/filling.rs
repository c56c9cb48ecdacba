//! Directories that another process's git may be filling: it creates a directory, and then one name after the other.

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Dir, Mode, OFlags, openat};

use super::super::absent::{folded, what_becomes};
use super::super::caller::Spot;
use super::super::mounts::About;
use super::signs::{ASKED_FOR, NAME, is_written, there};
use super::{Repositories, key};

/// Maximum number of entries of a directory to look at.
const MAX_ENTRIES: usize = 1024;

impl Repositories {
    /// Returns `true` if git, started by another process, may be making a git directory of this directory: another
    /// process created it, or git's first names in it, since the command started.
    ///
    /// An entry that has no name of git and that no command put there proves the contrary. Commands could put one there
    /// for that purpose.
    pub(super) fn may_be_filled(
        &self,
        folder: &OwnedFd,
        about: &About,
        is_root: bool,
        is_new: impl Fn(&About) -> bool,
    ) -> io::Result<bool> {
        if self.is_own_repository(key(&self.hasher, about), folder, None)? {
            return Ok(false);
        }
        if self.owns(about) {
            return self.is_begun_by_another(folder, about, None, is_new);
        }
        // The writable directory was there before the command, however young it is.
        let is_anothers = !is_root && is_new(about);
        if !is_anothers && !self.is_begun_by_another(folder, about, None, &is_new)? {
            return Ok(false);
        }
        Ok(self.has_sign_of_another(folder, about, is_new)? || !self.holds_others(folder, about)?)
    }

    /// Returns `true` if another process created a name in a directory since the command started that is usual in git
    /// directories alone.
    pub(super) fn has_sign_of_another(
        &self,
        folder: &OwnedFd,
        about: &About,
        is_new: impl Fn(&About) -> bool,
    ) -> io::Result<bool> {
        let (key_of, known) = (|about: &About| key(&self.hasher, about), self.known.borrow());
        let repository = key_of(about);
        for name in ASKED_FOR.iter().chain(&["description"]) {
            let Some(sign) = there(folder, name)? else { continue };
            let in_folder = self.sign_key(repository, &sign);
            let is_own = known.own.contains(&key_of(&sign))
                || known.own_files.contains(&in_folder)
                || known.own_signs.contains(&in_folder);
            if is_new(&sign) && !is_own {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Records a name that the command created or moved to a directory, unless it created the directory itself.
    pub(super) fn note_entry(&self, spot: &Spot, name: &str) {
        if is_of_git(name) {
            return;
        }
        // A `.git` counts in each directory: see `is_prepared`.
        if let Ok(folder) = About::folder(&spot.folder)
            && (name == NAME || !self.owns(&folder))
            && let Ok(entry) = About::entry(&spot.folder, spot.bare())
        {
            self.by_commands.insert(number(&folder, &entry));
        }
    }

    /// Returns `true` unless it is certain that no command of the cell put an entry in a directory.
    pub(super) fn may_be_by_commands(&self, folder: &About, entry: &About) -> bool {
        self.by_commands.may_contain(number(folder, entry))
    }

    /// Returns `true` if a directory has an entry with a name that git does not use in a git directory, and that no
    /// command of the cell put there.
    pub(super) fn holds_others(&self, folder: &OwnedFd, about: &About) -> io::Result<bool> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut entries = Dir::new(openat(folder, ".", flags, Mode::empty())?)?;
        for _ in 0..MAX_ENTRIES {
            let Some(found) = entries.next() else { break };
            let found = found?;
            let bare = OsStr::from_bytes(found.file_name().to_bytes());
            if bare == "." || bare == ".." || is_of_git(&folded(bare)) {
                continue;
            }
            match About::entry(folder, bare) {
                // Commands create their sockets themselves, which the guard does not see.
                Ok(entry) if !entry.is_socket && !self.may_be_by_commands(about, &entry) => {
                    return Ok(true);
                }
                // It was removed in the meantime.
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(false)
    }
}

/// Returns `true` if git uses a folded name at the top of a git directory.
fn is_of_git(name: &str) -> bool {
    is_written(name) || what_becomes(name).is_some_and(is_written)
}

/// Returns the number of an entry of a directory, the same in all processes.
fn number(folder: &About, entry: &About) -> u64 {
    let mut hasher = DefaultHasher::new();
    (folder.identity, entry.unique()).hash(&mut hasher);
    hasher.finish()
}
