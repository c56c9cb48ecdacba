//! One folder, as it was when it was read.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{Access, AtFlags, Dir, DirEntry, FileType, Mode, OFlags, accessat, openat, statat};
use scorpiox_gitdirs::Signs;
use scorpiox_paths::{Identity, Stamp};
use scorpiox_policy::{DenySet, is_protected_name};

/// How a folder is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// For everything.
    Open,
    /// It lies in what a package manager put there: no name is protected but git's.
    Packed,
    /// It is denied: only for which files are in it.
    Denied,
}

impl Manner {
    /// The same, in what a package manager put there.
    pub(super) fn packed(self) -> Self {
        if self == Self::Open { Self::Packed } else { self }
    }
}

/// What was found right in a folder.
#[derive(Debug)]
pub(super) struct Folder {
    stamp: Stamp,
    manner: Manner,
    read_at: SystemTime,
    /// Folders that are not denied.
    folders: Vec<PathBuf>,
    denied_folders: Vec<PathBuf>,
    /// Which regular files are in it, by their numbers on its device.
    files: Box<[u64]>,
    pub links: Vec<PathBuf>,
    pub is_of_git: bool,
    /// Of any kind, folders too.
    pub denied: Vec<PathBuf>,
    pub sockets: Vec<PathBuf>,
    pub names: Vec<PathBuf>,
    pub git_pointers: Vec<PathBuf>,
}

impl Folder {
    /// Reads a folder, unless `old` is how it still is; and whether it was read.
    pub(super) fn read(
        path: &Path,
        old: Option<Self>,
        manner: Manner,
        deny: &DenySet,
    ) -> io::Result<(Self, bool)> {
        let stamp = Stamp::of(&path.symlink_metadata()?);
        match old {
            Some(old) if old.is_still(&stamp, manner) => Ok((old, false)),
            _ => Ok((Self::read_anew(path, manner, deny)?, true)),
        }
    }

    /// One that changed right before it was read may have changed since, without its time showing it.
    fn is_still(&self, stamp: &Stamp, manner: Manner) -> bool {
        self.stamp == *stamp && stamp.is_settled(self.read_at) && self.manner == manner
    }

    pub(super) fn identity(&self) -> Identity {
        self.stamp.identity()
    }

    /// Folders in it that are looked at, and how.
    pub(super) fn below(&self) -> impl Iterator<Item = (&Path, Manner)> {
        let denied = self.denied_folders.iter().map(|path| (path.as_path(), Manner::Denied));
        self.folders.iter().map(|path| (path.as_path(), self.manner)).chain(denied)
    }

    /// Which regular files are in it.
    pub(super) fn files(&self) -> impl Iterator<Item = Identity> {
        let (device, _) = self.identity();
        self.files.iter().map(move |number| (device, *number))
    }

    fn read_anew(path: &Path, manner: Manner, deny: &DenySet) -> io::Result<Self> {
        let read_at = SystemTime::now();
        let opened = open(path)?;
        // Where names can be listed but nothing can be reached, nothing can be protected either.
        accessat(&opened, ".", Access::EXEC_OK, AtFlags::EACCESS)?;
        let stamp = Stamp::of(&File::from(opened.try_clone()?).metadata()?);
        let mut folder = Self {
            stamp,
            manner,
            read_at,
            folders: Vec::new(),
            denied_folders: Vec::new(),
            files: Box::default(),
            links: Vec::new(),
            is_of_git: false,
            denied: Vec::new(),
            sockets: Vec::new(),
            names: Vec::new(),
            git_pointers: Vec::new(),
        };
        let (mut signs, mut files) = (Signs::default(), Vec::new());
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let Some(kind) = kind(&opened, &entry)? else { continue };
            if kind.is_file() {
                files.push(entry.ino());
            }
            signs.note(name, kind.is_dir(), kind.is_file());
            folder.note(path.join(name), name, kind, manner, deny);
        }
        folder.files = files.into();
        let is_seen = manner != Manner::Denied;
        folder.is_of_git = is_seen && (path.file_name().is_some_and(is_dot_git) || signs.are_of_git(path));
        Ok(folder)
    }

    fn note(&mut self, path: PathBuf, name: &OsStr, kind: FileType, manner: Manner, deny: &DenySet) {
        if manner == Manner::Denied {
            if kind.is_dir() {
                self.denied_folders.push(path);
            }
            return;
        }
        if deny.matches(&path).is_some() {
            if kind.is_dir() {
                self.denied_folders.push(path.clone());
            }
            self.denied.push(path);
            return;
        }
        if kind.is_socket() {
            self.sockets.push(path);
            return;
        }
        if manner == Manner::Open && is_protected_name(name) {
            self.names.push(path.clone());
        }
        if kind.is_symlink() {
            self.links.push(path.clone());
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

/// The names in a folder of regular files with these numbers on its device.
pub(super) fn names_of(
    path: &Path,
    is_one: impl Fn(Identity) -> bool,
) -> io::Result<Vec<(PathBuf, Identity)>> {
    let opened = open(path)?;
    let (device, _) = Stamp::of(&File::from(opened.try_clone()?).metadata()?).identity();
    let mut names = Vec::new();
    for entry in Dir::read_from(&opened)? {
        let entry = entry?;
        let identity = (device, entry.ino());
        if is_one(identity) && kind(&opened, &entry)?.is_some_and(FileType::is_file) {
            names.push((path.join(OsStr::from_bytes(entry.file_name().to_bytes())), identity));
        }
    }
    Ok(names)
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
        use rustix::fs::{CWD, ResolveFlags, openat2};
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Filters of containers know it not, and some say so by another error.
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {}
            opened => return Ok(opened?),
        }
    }
    Ok(openat(scorpiox_paths::Folder::open(path)?, ".", flags, Mode::empty())?)
}
