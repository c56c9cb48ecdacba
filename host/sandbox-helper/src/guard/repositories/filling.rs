//! Directories that another process's git may be filling: it creates a directory, and then one name after the other.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Dir, Mode, OFlags, openat};

use super::super::absent::{folded, what_becomes};
use super::super::mounts::About;
use super::signs::is_written;
use super::{Repositories, key};

/// Time that git needs at most, on a busy machine, from the creation of a directory until it accepts it as a git
/// directory. Usually that takes milliseconds.
const FILLING_TIME: Duration = Duration::from_secs(10);
/// Maximum number of entries of a directory to look at.
const MAX_ENTRIES: usize = 1024;

impl Repositories {
    /// Returns `true` if git, started by another process, may be making a git directory of this directory.
    ///
    /// If another process created the directory less than `FILLING_TIME` ago, that is always assumed. Later, an entry
    /// that has been there for that time and has no name of git proves the contrary. A younger entry proves nothing:
    /// the command, or another one, could have put it there for that purpose.
    pub(super) fn may_be_filled(
        &self,
        folder: &OwnedFd,
        about: &About,
        is_root: bool,
        is_new: impl Fn(Option<Duration>) -> bool,
    ) -> io::Result<bool> {
        if self.is_own_repository(key(&self.hasher, about), folder, None)? {
            return Ok(false);
        }
        if self.owns(about) {
            return self.is_begun_by_another(folder, about, None, is_new);
        }
        // The writable directory was there before the command, however young it is.
        let is_anothers = !is_root && is_new(about.born);
        if is_anothers && is_young(about.born) {
            return Ok(true);
        }
        if !is_anothers && !self.is_begun_by_another(folder, about, None, is_new)? {
            return Ok(false);
        }
        Ok(!holds_others(folder)?)
    }
}

/// Returns `true` if an entry has been in this directory for `FILLING_TIME` whose name git does not use in a git
/// directory.
pub(super) fn holds_others(folder: &OwnedFd) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut entries = Dir::new(openat(folder, ".", flags, Mode::empty())?)?;
    for _ in 0..MAX_ENTRIES {
        let Some(found) = entries.next() else { break };
        let found = found?;
        let bare = OsStr::from_bytes(found.file_name().to_bytes());
        let name = folded(bare);
        if bare == "." || bare == ".." || is_written(&name) || what_becomes(&name).is_some_and(is_written) {
            continue;
        }
        match About::entry(folder, bare) {
            Ok(about) if !is_young(about.changed) => return Ok(true),
            // It was removed in the meantime.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(false)
}

/// Returns `true` if a time is less than `FILLING_TIME` ago, or unknown.
fn is_young(time: Option<Duration>) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    time.is_none_or(|time| now.saturating_sub(time) < FILLING_TIME)
}
