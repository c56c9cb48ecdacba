//! What among the files that commands see needs a rule of its own: files that are denied, sockets of other
//! programs, repositories.
//!
//! Whole trees are looked through before each command, since a file may have come since
//! the last one; a folder whose time of change is the same is not read again.

use std::collections::HashMap;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use scorpiox_policy::{DenySet, Places};

/// Most folders that the trees may have.
const MAX_FOLDERS: usize = 500_000;
/// Deepest folder.
const MAX_DEPTH: usize = 200;
/// A folder that changed this short before it was read may have changed since, without its
/// time showing it.
const RACY_TIME: Duration = Duration::from_millis(50);

/// Looks through some trees.
#[derive(Debug)]
pub(crate) struct Survey {
    roots: Vec<PathBuf>,
    deny: DenySet,
    places: Places,
    known: Mutex<HashMap<PathBuf, Folder>>,
}

/// What was found. All paths are absolute, below one of the trees, and pass through no link.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Files, folders and links that are denied. Nothing below a denied folder is listed.
    pub denied: Vec<PathBuf>,
    /// Sockets, which lead to programs outside.
    pub sockets: Vec<PathBuf>,
    /// Everything called `.git`.
    pub repositories: Vec<PathBuf>,
}

/// Why a workspace cannot be looked through. Commands do not run then.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// A folder cannot be read.
    #[error("the folder {} cannot be looked through for protected files: {error}", .path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
    /// There are too many.
    #[error(
        "the files that commands may see have more than {MAX_FOLDERS} folders, or folders more than {MAX_DEPTH} \
             deep; start in a smaller folder"
    )]
    TooLarge,
}

/// A folder, as it was when it was read.
#[derive(Debug)]
struct Folder {
    stamp: Stamp,
    read_at: SystemTime,
    folders: Vec<PathBuf>,
    found: Found,
}

/// What tells a folder at one time from itself at another, and from any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    /// The time of the change of its inode, in seconds and nanoseconds: the one that no program
    /// can set.
    changed: (i64, i64),
}

impl Stamp {
    fn time(&self) -> Option<SystemTime> {
        let (seconds, nanoseconds) = self.changed;
        let since = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanoseconds).ok()?);
        SystemTime::UNIX_EPOCH.checked_add(since)
    }
}

impl Survey {
    pub(crate) fn new(roots: Vec<PathBuf>, deny: DenySet, places: Places) -> Self {
        Self { roots, deny, places, known: Mutex::default() }
    }

    /// Looks through all of it.
    pub(crate) fn look(&self) -> Result<Found, SurveyError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut old = std::mem::take(&mut *known);
        let mut found = Found::default();
        let mut open: Vec<_> = self.roots.iter().map(|root| (root.clone(), 0)).collect();
        while let Some((path, depth)) = open.pop() {
            if known.len() >= MAX_FOLDERS || depth > MAX_DEPTH {
                return Err(SurveyError::TooLarge);
            }
            let folder = match self.folder(&path, old.remove(&path)) {
                Ok(folder) => folder,
                // Gone since its parent was read.
                Err(error) if error.kind() == io::ErrorKind::NotFound && depth > 0 => continue,
                // What this user cannot read, commands cannot either: they have the same id and
                // fewer rights.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied && depth > 0 => continue,
                Err(error) => return Err(SurveyError::Unreadable { path, error }),
            };
            found.denied.extend_from_slice(&folder.found.denied);
            found.sockets.extend_from_slice(&folder.found.sockets);
            found.repositories.extend_from_slice(&folder.found.repositories);
            open.extend(folder.folders.iter().map(|folder| (folder.clone(), depth + 1)));
            known.insert(path, folder);
        }
        for list in [&mut found.denied, &mut found.sockets, &mut found.repositories] {
            list.sort_unstable();
            list.dedup();
        }
        Ok(found)
    }

    fn folder(&self, path: &Path, old: Option<Folder>) -> io::Result<Folder> {
        let metadata = path.symlink_metadata()?;
        let stamp = Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        };
        if let Some(old) = old
            && old.stamp == stamp
            && stamp.time().is_some_and(|changed| changed + RACY_TIME < old.read_at)
        {
            return Ok(old);
        }
        let read_at = SystemTime::now();
        let mut folder = Folder { stamp, read_at, folders: Vec::new(), found: Found::default() };
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            self.note(entry.path(), entry.file_type()?, &mut folder);
        }
        Ok(folder)
    }

    fn note(&self, path: PathBuf, kind: FileType, folder: &mut Folder) {
        if self.deny.matches_at(&path, &self.places).is_some() {
            folder.found.denied.push(path);
            return;
        }
        if kind.is_socket() {
            folder.found.sockets.push(path);
            return;
        }
        if path.file_name().is_some_and(|name| name == ".git") {
            folder.found.repositories.push(path.clone());
        }
        if kind.is_dir() {
            folder.folders.push(path);
        }
    }
}
