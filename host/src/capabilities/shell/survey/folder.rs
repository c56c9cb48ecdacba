//! One folder, as it was when it was read.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Access, AtFlags, CWD, Dir, DirEntry, FileType, Mode, OFlags, accessat, openat, statat};
use scorpiox_gitdirs::Signs;
use scorpiox_policy::{DenySet, is_protected_name};

/// A folder that changed this short before it was read may have changed since, without its
/// time showing it.
const RACY_TIME: Duration = Duration::from_millis(50);

/// What tells a folder from any other: its device and inode.
pub(super) type Identity = (u64, u64);

/// What was found right in a folder.
#[derive(Debug)]
pub(super) struct Folder {
    stamp: Stamp,
    read_at: SystemTime,
    /// Those that are to be looked at, too.
    pub folders: Vec<PathBuf>,
    pub is_of_git: bool,
    pub denied: Vec<PathBuf>,
    pub sockets: Vec<PathBuf>,
    pub names: Vec<PathBuf>,
    pub git_pointers: Vec<PathBuf>,
}

/// What tells a folder at one time from itself at another, and from any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    identity: Identity,
    /// The time of the change of its inode, in seconds and nanoseconds: the one that no program
    /// can set.
    changed: (i64, i64),
}

impl Stamp {
    fn of(found: &fs::Metadata) -> Self {
        Self { identity: (found.dev(), found.ino()), changed: (found.ctime(), found.ctime_nsec()) }
    }

    fn time(&self) -> Option<SystemTime> {
        let (seconds, nanoseconds) = self.changed;
        let since = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanoseconds).ok()?);
        SystemTime::UNIX_EPOCH.checked_add(since)
    }
}

impl Folder {
    /// Reads a folder, unless `old` is how it still is. In what is packed no name is protected but
    /// git's.
    pub(super) fn read(path: &Path, old: Option<Self>, is_packed: bool, deny: &DenySet) -> io::Result<Self> {
        let stamp = Stamp::of(&path.symlink_metadata()?);
        match old {
            Some(old) if old.stamp == stamp && old.is_settled() => Ok(old),
            _ => Self::read_anew(path, is_packed, deny),
        }
    }

    pub(super) fn identity(&self) -> Identity {
        self.stamp.identity
    }

    fn is_settled(&self) -> bool {
        self.stamp.time().is_some_and(|changed| changed + RACY_TIME < self.read_at)
    }

    fn read_anew(path: &Path, is_packed: bool, deny: &DenySet) -> io::Result<Self> {
        let read_at = SystemTime::now();
        let opened = open(path)?;
        // Where names can be listed but nothing can be reached, nothing can be protected either.
        accessat(&opened, ".", Access::EXEC_OK, AtFlags::EACCESS)?;
        let stamp = Stamp::of(&File::from(opened.try_clone()?).metadata()?);
        let mut folder = Self {
            stamp,
            read_at,
            folders: Vec::new(),
            is_of_git: false,
            denied: Vec::new(),
            sockets: Vec::new(),
            names: Vec::new(),
            git_pointers: Vec::new(),
        };
        let mut signs = Signs::default();
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let Some(kind) = kind(&opened, &entry)? else { continue };
            signs.note(name, kind.is_dir(), kind.is_file());
            folder.note(path.join(name), name, kind, is_packed, deny);
        }
        folder.is_of_git = path.file_name().is_some_and(is_dot_git) || signs.are_of_git(path);
        Ok(folder)
    }

    fn note(&mut self, path: PathBuf, name: &OsStr, kind: FileType, is_packed: bool, deny: &DenySet) {
        if deny.matches(&path).is_some() {
            self.denied.push(path);
            return;
        }
        if kind.is_socket() {
            self.sockets.push(path);
            return;
        }
        if !is_packed && is_protected_name(name) {
            self.names.push(path.clone());
        }
        if kind.is_dir() {
            self.folders.push(path);
        } else if is_dot_git(name) {
            self.git_pointers.push(path);
        }
    }
}

fn is_dot_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// What an entry is; nothing, when it is gone.
fn kind(folder: &OwnedFd, entry: &DirEntry) -> io::Result<Option<FileType>> {
    match entry.file_type() {
        // Some file systems do not say.
        FileType::Unknown => match statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        },
        kind => Ok(Some(kind)),
    }
}

/// Opens a folder. A link anywhere on the way came in the place of a folder since that was seen,
/// and leads to what commands do not have.
fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Filters of containers know it not, and some say so by another error.
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {}
            opened => return Ok(opened?),
        }
    }
    Ok(openat(CWD, path, flags, Mode::empty())?)
}
