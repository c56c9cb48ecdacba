//! Git directories that a command changes but did not create.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use scorpiox_sys::linux::reach::Descent;

use super::super::absent::folded;
use super::super::mounts::About;
use super::signs::{NAME, is_written, signs};
use super::{Repositories, key};

impl Repositories {
    /// Returns the number of parts of `inside` up to the outermost git directory that a directory is, or lies in, if
    /// the command did not create it. The path of the directory is `inside` relative to the writable directory
    /// `root`. Names that git requires may be missing, because a command can remove them for a while. With the
    /// folded `name` of an entry in the directory, a directory of another process counts that git may be filling.
    ///
    /// A work tree that existed when the command started is none of git's directories, even inside a bare repository.
    pub(in super::super) fn used(
        &self,
        root: &Path,
        inside: &Path,
        name: Option<&str>,
        is_new: impl Fn(&About) -> bool,
    ) -> io::Result<Option<usize>> {
        let mut descent = Descent::from(root);
        let mut parts = inside.iter();
        let mut last = None;
        // The number of parts up to the git directory, and whether a work tree can lie in it on this path.
        let mut used: Option<(usize, bool)> = None;
        for number in 0.. {
            let folder = descent.folder()?;
            let about = About::folder(folder)?;
            let next = parts.next();
            let folded_next = next.map(folded);
            let below = folded_next.as_deref().or(name.filter(|_| next.is_none()));
            // The writable directory was there before the command, however young it is.
            let is_root = number == 0;
            let may_become = || name.is_some() && below.is_some_and(is_written);
            used = match used {
                None if self.is_used(folder, &about)?
                    || (may_become() && self.may_be_filled(folder, &about, is_root, &is_new)?) =>
                {
                    // A command can create a `.git` anywhere among the files of git, for later commands.
                    let is_bare = last.as_deref().is_none_or(|last| last != NAME);
                    Some((number, is_bare && !below.is_some_and(is_written)))
                }
                Some((_, true)) if self.is_work_tree(&about) => None,
                other => other,
            };
            let Some(next) = next else { break };
            descent.enter(next);
            last = folded_next;
        }
        Ok(used.map(|(number, _)| number))
    }

    /// Returns `true` if a directory is a git directory that the command did not create.
    fn is_used(&self, folder: &OwnedFd, about: &About) -> io::Result<bool> {
        let key = key(&self.hasher, about);
        if self.known.borrow().begun.contains(about, &self.hasher) {
            return Ok(true);
        }
        // Another process may have made it meanwhile, under any name.
        Ok(!self.is_own_repository(key, folder, None)? && signs(folder, None)?.are_complete())
    }
}
