//! Folders for as long as something runs, in the program's own folder.
//!
//! Invariant: whoever has such a folder holds a lock on it, so that what a killed server left is told from what
//! is in use, also by servers of other containers.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use scorpiox_cell::remove_folder;
use scorpiox_home::private;

/// A folder that is being made may be about to be locked while it is younger than this.
const MIN_AGE: Duration = Duration::from_mins(1);
/// The beginning of the name of a folder that is being made, which gets its own name when it is locked.
#[cfg(unix)]
const UNMADE: &str = ".new-";

/// A folder that is in use. Who made it removes it.
#[derive(Debug)]
pub struct Scratch {
    /// Where it is.
    pub path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// A folder of this name, which no other run has. Those of runs that were killed are removed first.
    pub fn new(own_home: &Path, name: &str) -> io::Result<Self> {
        let parent = folder(own_home);
        sweep(&parent, MIN_AGE);
        let path = parent.join(name);
        let lock = made(&path)?;
        Ok(Self { path, _lock: lock })
    }
}

/// Makes a folder that gets its name when it is locked. Where folders cannot be locked nothing is swept either.
#[cfg(unix)]
fn made(path: &Path) -> io::Result<File> {
    let mut name = std::ffi::OsString::from(UNMADE);
    name.push(path.file_name().unwrap_or_default());
    let unmade = path.with_file_name(name);
    private::folder(&unmade)?;
    let lock = open(&unmade)?;
    let _ = lock.try_lock();
    std::fs::rename(&unmade, path)?;
    Ok(lock)
}

/// Makes a folder. One in which a file is open cannot be renamed here.
#[cfg(windows)]
fn made(path: &Path) -> io::Result<File> {
    private::folder(path)?;
    let lock = open(path)?;
    let _ = lock.try_lock();
    Ok(lock)
}

/// Reports whether the maker of a folder had the time to lock it.
fn is_made(entry: &std::fs::DirEntry, about: &std::fs::Metadata, min_age: Duration) -> bool {
    #[cfg(unix)]
    if !entry.file_name().as_encoded_bytes().starts_with(UNMADE.as_bytes()) {
        return true;
    }
    #[cfg(windows)]
    let _ = entry;
    about.modified().ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age >= min_age)
}

/// Reports whether a folder belongs to the user of this process: those of other users are not removed.
#[cfg(unix)]
fn is_own(about: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    about.uid() == rustix::process::geteuid().as_raw()
}

/// Reports whether a folder belongs to the user of this process: no other user may write where it lies.
#[cfg(windows)]
fn is_own(_: &std::fs::Metadata) -> bool {
    true
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
        // A link is none: what it leads to is not looked at.
        let is_left =
            |about: &std::fs::Metadata| about.is_dir() && is_own(about) && is_made(&entry, about, min_age);
        if !entry.metadata().is_ok_and(|about| is_left(&about)) {
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_removed_and_what_is_in_use_stays() {
        let home = tempfile::tempdir().expect("it works");
        let held = Scratch::new(home.path(), "held").expect("it works");
        let left = Scratch::new(home.path(), "left").expect("it works").path;
        std::fs::create_dir(left.join("inside")).expect("it works");
        let unmade = folder(home.path()).join(format!("{UNMADE}other"));
        private::folder(&unmade).expect("it works");
        // The maker of the next one removes it, however young it is.
        let next = Scratch::new(home.path(), "next").expect("it works");
        assert!(held.path.exists() && next.path.exists() && !left.exists());
        assert!(unmade.exists(), "it may be about to be locked");
        sweep(&folder(home.path()), Duration::ZERO);
        assert!(held.path.exists() && next.path.exists() && !unmade.exists());
    }

    #[test]
    fn what_a_link_leads_to_and_what_another_user_left_stay() {
        let home = tempfile::tempdir().expect("it works");
        let elsewhere = tempfile::tempdir().expect("it works");
        std::fs::write(elsewhere.path().join("kept"), "").expect("it works");
        let parent = folder(home.path());
        let other = parent.join("other");
        private::folder(&other).expect("it works");
        std::os::unix::fs::symlink(elsewhere.path(), parent.join("link")).expect("it works");
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            std::os::unix::fs::chown(&other, Some(65534), None).expect("it works");
        }
        sweep(&parent, Duration::ZERO);
        assert!(elsewhere.path().join("kept").exists());
        assert_eq!(other.exists(), is_root, "it is somebody else's");
    }
}
