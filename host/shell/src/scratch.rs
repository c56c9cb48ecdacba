//! Folders for as long as something runs, in the program's own folder.
//!
//! Invariant: whoever has such a folder holds a lock on it, so that what a killed server left is told from what
//! is in use, also by servers of other containers.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use scorpiox_cell::remove_folder;
use scorpiox_home::private;

/// One that is younger may be about to be locked.
const MIN_AGE: Duration = Duration::from_mins(1);

/// A folder that is in use. Who made it removes it.
#[derive(Debug)]
pub struct Scratch {
    /// Where it is.
    pub path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// A folder of this name, which no other run has. The first of a run removes those of runs that were killed.
    pub fn new(own_home: &Path, name: &str) -> io::Result<Self> {
        static SWEPT: Once = Once::new();
        let parent = folder(own_home);
        SWEPT.call_once(|| sweep(&parent, MIN_AGE));
        let path = parent.join(name);
        private::folder(&path)?;
        let lock = open(&path)?;
        // Where folders cannot be locked nothing is swept either.
        let _ = lock.try_lock();
        Ok(Self { path, _lock: lock })
    }
}

/// What is locked: the folder itself.
#[cfg(unix)]
fn open(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

/// What is locked: a file in it, since folders cannot be.
#[cfg(windows)]
fn open(folder: &Path) -> io::Result<File> {
    private::options().read(true).write(true).create(true).truncate(false).open(folder.join(".lock"))
}

/// Where they all are.
pub fn folder(own_home: &Path) -> PathBuf {
    own_home.join("tmp")
}

/// Removes the folders that nobody uses any more.
fn sweep(parent: &Path, min_age: Duration) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_old = |about: &std::fs::Metadata| {
            about.modified().ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age >= min_age)
        };
        if !entry.metadata().is_ok_and(|about| about.is_dir() && is_old(&about)) {
            continue;
        }
        let Ok(folder) = open(&entry.path()) else { continue };
        if folder.try_lock().is_ok() {
            #[cfg(windows)] // what is open cannot be removed
            drop(folder);
            remove_folder(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_removed_and_what_is_in_use_stays() {
        let home = tempfile::tempdir().expect("it works");
        let held = Scratch::new(home.path(), "held").expect("it works");
        let left = Scratch::new(home.path(), "left").expect("it works").path;
        std::fs::create_dir(left.join("inside")).expect("it works");
        sweep(&folder(home.path()), MIN_AGE);
        assert!(left.exists(), "it may be about to be locked");
        sweep(&folder(home.path()), Duration::ZERO);
        assert!(held.path.exists() && !left.exists());
    }
}
