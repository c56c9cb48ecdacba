//! Temporary folders that live as long as a run, in the server's own folder.
//!
//! Invariant: the owner of such a folder holds a lock on it. The lock separates folders left by killed
//! servers from folders in use, even across containers.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use scorpiox_fs::home::private;
use scorpiox_sandbox::remove_folder_until;

/// Minimum age at which an unlocked folder under construction counts as abandoned.
const MIN_AGE: Duration = Duration::from_mins(1);
/// Maximum time for which the creation of a folder waits for the removal of others.
const WAIT_TIME: Duration = Duration::from_millis(200);
/// Maximum time of a removal in the background.
const SWEEP_TIME: Duration = Duration::from_mins(30);
/// Name prefix of a folder that cannot be removed. It is left alone until a person removes it.
const STUCK: &str = ".stuck-";
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
        if sweep(&parent, MIN_AGE, Instant::now() + WAIT_TIME) == Swept::Partly {
            sweep_on(parent.clone());
        }
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

/// Opens the object to lock, which is the folder itself. A command may have closed it to its owner.
#[cfg(unix)]
fn open(folder: &Path) -> io::Result<File> {
    use std::os::unix::fs::PermissionsExt as _;
    match File::open(folder) {
        // Only this user can replace it by a link.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
            File::open(folder)
        }
        opened => opened,
    }
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

/// Result of a sweep.
#[derive(Debug, PartialEq, Eq)]
enum Swept {
    Completely,
    /// The time was over, or resources of the system ran out.
    Partly,
}

/// Removes folders whose lock is free, for some time.
fn sweep(parent: &Path, min_age: Duration, until: Instant) -> Swept {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        // `metadata` does not follow links, so a link is skipped with its target.
        let is_left =
            |about: &std::fs::Metadata| about.is_dir() && is_own(about) && is_made(&entry, about, min_age);
        let is_stuck = entry.file_name().as_encoded_bytes().starts_with(STUCK.as_bytes());
        if is_stuck || !entry.metadata().is_ok_and(|about| is_left(&about)) {
            continue;
        }
        let Ok(folder) = open(&entry.path()) else { continue };
        if folder.try_lock().is_err() {
            continue;
        }
        #[cfg(windows)] // an open file cannot be removed
        drop(folder);
        match remove_folder_until(&entry.path(), until) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::TimedOut => return Swept::Partly,
            // This says nothing about the folder.
            Err(error) if scorpiox_fs::shortage(&error).is_some() => return Swept::Partly,
            Err(error) => put_aside(&entry.path(), &error),
        }
    }
    Swept::Completely
}

/// Renames a folder that cannot be removed, so that no later sweep tries it again.
fn put_aside(folder: &Path, error: &io::Error) {
    let mut name = std::ffi::OsString::from(STUCK);
    name.push(folder.file_name().unwrap_or_default());
    let aside = folder.with_file_name(name);
    let stuck = if std::fs::rename(folder, &aside).is_ok() { &aside } else { folder };
    tracing::warn!("files that commands left in {} cannot be removed: {error}", stuck.display());
}

/// Continues a sweep in the background, unless this process does so already. It ends with the process, and the
/// next one continues it.
fn sweep_on(parent: PathBuf) {
    static SWEEPS: AtomicBool = AtomicBool::new(false);
    if SWEEPS.swap(true, Ordering::AcqRel) {
        return;
    }
    let started = std::thread::Builder::new().name("sweep".to_owned()).spawn(move || {
        sweep(&parent, MIN_AGE, Instant::now() + SWEEP_TIME);
        SWEEPS.store(false, Ordering::Release);
    });
    if started.is_err() {
        SWEEPS.store(false, Ordering::Release);
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
        sweep(&folder(home.path()), Duration::ZERO, Instant::now() + WAIT_TIME);
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
        sweep(&parent, Duration::ZERO, Instant::now() + WAIT_TIME);
        assert!(elsewhere.path().join("kept").exists());
        assert_eq!(other.exists(), is_root, "it is somebody else's");
    }

    #[test]
    fn what_takes_too_long_stays_for_the_next_sweep() {
        let home = tempfile::tempdir().expect("it works");
        let left = folder(home.path()).join("left");
        private::folder(&left.join("inside")).expect("it works");
        let parent = folder(home.path());
        assert_eq!(sweep(&parent, Duration::ZERO, Instant::now()), Swept::Partly);
        assert!(left.exists());
        assert_eq!(sweep(&parent, Duration::ZERO, Instant::now() + WAIT_TIME), Swept::Completely);
        assert!(!left.exists());
    }

    #[test]
    fn what_cannot_be_removed_is_put_aside_once() {
        let home = tempfile::tempdir().expect("it works");
        let parent = folder(home.path());
        let aside = parent.join(format!("{STUCK}left"));
        private::folder(&parent.join("left")).expect("it works");
        put_aside(&parent.join("left"), &io::Error::other("a fault"));
        assert!(aside.exists() && !parent.join("left").exists());
        assert_eq!(sweep(&parent, Duration::ZERO, Instant::now() + WAIT_TIME), Swept::Completely);
        assert!(aside.exists(), "a sweep tries it again");
    }

    #[test]
    fn a_folder_that_a_command_closed_is_removed() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().expect("it works");
        let left = Scratch::new(home.path(), "left").expect("it works").path;
        std::fs::set_permissions(&left, std::fs::Permissions::from_mode(0o000)).expect("a mode");
        let _next = Scratch::new(home.path(), "next").expect("it works");
        assert!(!left.exists());
    }
}
