//! Temporary folders that live as long as a run, in the server's own folder.
//!
//! Invariant: the owner of such a folder holds a lock on it. The lock separates folders left by killed
//! servers from folders in use, even across containers.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use scorpiox_fs::home::private;
use scorpiox_sandbox::remove_folder;

/// Minimum age at which an unlocked folder under construction counts as abandoned.
const MIN_AGE: Duration = Duration::from_mins(1);
/// Name prefix of a folder under construction. It gets its final name once it is locked.
#[cfg(unix)]
const UNMADE: &str = ".new-";

/// A temporary folder in use. Its creator removes it.
#[derive(Debug)]
pub struct Scratch {
    /// Path of the folder.
    pub path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Creates a folder with a unique name, after removing the folders of killed runs.
    pub fn new(own_home: &Path, name: &str) -> io::Result<Self> {
        let parent = folder(own_home);
        sweep(&parent, MIN_AGE);
        let path = parent.join(name);
        let lock = made(&path)?;
        Ok(Self { path, _lock: lock })
    }
}

/// Creates a folder that gets its final name once it is locked. If folders cannot be locked, none is swept
/// either.
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

/// Creates a folder. Windows cannot rename a folder that contains an open file.
#[cfg(windows)]
fn made(path: &Path) -> io::Result<File> {
    private::folder(path)?;
    let lock = open(path)?;
    let _ = lock.try_lock();
    Ok(lock)
}

/// Returns `true` if the creator of the folder had enough time to lock it.
fn is_made(entry: &std::fs::DirEntry, about: &std::fs::Metadata, min_age: Duration) -> bool {
    #[cfg(unix)]
    if !entry.file_name().as_encoded_bytes().starts_with(UNMADE.as_bytes()) {
        return true;
    }
    #[cfg(windows)]
    let _ = entry;
    about.modified().ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age >= min_age)
}

/// Returns `true` if the folder belongs to the user of this process. Folders of other users are not removed.
#[cfg(unix)]
fn is_own(about: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    about.uid() == rustix::process::geteuid().as_raw()
}

/// Returns `true`: on Windows no other user may write to the parent folder.
#[cfg(windows)]
fn is_own(_: &std::fs::Metadata) -> bool {
    true
}

/// Opens the object to lock, which is the folder itself.
#[cfg(unix)]
fn open(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

/// Opens the object to lock, which is a file inside, because Windows cannot lock folders.
#[cfg(windows)]
fn open(folder: &Path) -> io::Result<File> {
    private::options().read(true).write(true).create(true).truncate(false).open(folder.join(".lock"))
}

/// Returns the parent of all temporary folders.
pub fn folder(own_home: &Path) -> PathBuf {
    own_home.join("tmp")
}

/// Removes folders whose lock is free.
fn sweep(parent: &Path, min_age: Duration) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        // `metadata` does not follow links, so a link is skipped with its target.
        let is_left =
            |about: &std::fs::Metadata| about.is_dir() && is_own(about) && is_made(&entry, about, min_age);
        if !entry.metadata().is_ok_and(|about| is_left(&about)) {
            continue;
        }
        let Ok(folder) = open(&entry.path()) else { continue };
        if folder.try_lock().is_ok() {
            #[cfg(windows)] // an open file cannot be removed
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
        // Creating the next folder removes it, however young it is.
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
