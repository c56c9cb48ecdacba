//! One folder, as it was when it was read.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use scorpiox_gitdirs::Signs;
use scorpiox_paths::{Identity, Stamp};
use scorpiox_policy::{DenySet, is_protected_name, protected_below, protected_names_in};

use super::entries::{Kind, Opened};

/// The number of times that a folder is read that changes meanwhile. A program that changes folders at each of so many readings, which
/// take microseconds, is there to do so.
pub(super) const MAX_READINGS: usize = 16;
/// Most bytes of paths that are kept of one folder.
const MAX_PATH_BYTES: usize = 32 << 20;
/// Bytes that a path takes beside its own.
const PATH_BYTES: usize = 64;
/// Bytes of a folder that count as one folder more: one with a usual path, and little in it, is one.
const UNIT_BYTES: usize = 512;

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
    identity: Identity,
    manner: Manner,
    read_at: SystemTime,
    /// Bytes of all paths that are kept of it.
    bytes: usize,
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
    /// Protected ones, of which those that count because of this folder's name need not be there.
    pub names: Vec<PathBuf>,
    pub git_pointers: Vec<PathBuf>,
    /// Names that count because of links in it: paths through these, which need not be there.
    pub linked_names: Vec<PathBuf>,
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
            _ => Ok((Self::settled(|| Self::read_once(path, manner, deny))?, true)),
        }
    }

    /// One that changed right before it was read may have changed since, without its time showing it.
    fn is_still(&self, stamp: &Stamp, manner: Manner) -> bool {
        self.stamp == *stamp && stamp.is_settled(self.read_at) && self.manner == manner
    }

    pub(super) fn identity(&self) -> Identity {
        self.identity
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

    /// Reads until a folder stands still. What is moved in it at the wrong time can be missed by a reading, so all
    /// that was found has to be found again where it changed meanwhile; what is new may be.
    pub(super) fn settled(mut read: impl FnMut() -> io::Result<(Self, bool)>) -> io::Result<Self> {
        let mut before: Option<Self> = None;
        for _ in 0..MAX_READINGS {
            let (folder, is_still) = read()?;
            if is_still || before.is_some_and(|before| folder.has_all_of(&before)) {
                return Ok(folder);
            }
            before = Some(folder);
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Reports whether another reading found nothing that this one did not.
    fn has_all_of(&self, other: &Self) -> bool {
        let found: HashSet<_> = self.paths().collect();
        (self.is_of_git || !other.is_of_git) && other.paths().all(|path| found.contains(path))
    }

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let lists = [&self.folders, &self.denied_folders, &self.links, &self.denied, &self.sockets];
        lists.into_iter().chain([&self.names, &self.git_pointers, &self.linked_names]).flatten()
    }

    /// Reads a folder once; and whether it was the same folder, and unchanged, when that was done.
    pub(super) fn read_once(path: &Path, manner: Manner, deny: &DenySet) -> io::Result<(Self, bool)> {
        let read_at = SystemTime::now();
        let opened = Opened::open(path)?;
        // Where names can be listed but nothing can be reached, nothing can be protected either.
        opened.check_reach()?;
        let (stamp, identity) = opened.about()?;
        let mut folder = Self {
            stamp,
            identity,
            manner,
            read_at,
            bytes: 0,
            folders: Vec::new(),
            denied_folders: Vec::new(),
            files: Box::default(),
            links: Vec::new(),
            is_of_git: false,
            denied: Vec::new(),
            sockets: Vec::new(),
            names: Vec::new(),
            git_pointers: Vec::new(),
            linked_names: Vec::new(),
        };
        let (mut signs, mut files) = (Signs::default(), Vec::new());
        opened.each(|name, kind, number| {
            if kind == Kind::File {
                files.extend(number);
            }
            signs.note(name, kind == Kind::Folder, kind == Kind::File);
            if folder.bytes <= MAX_PATH_BYTES {
                folder.note(path.join(name), name, kind, manner, deny);
            }
        })?;
        if folder.bytes > MAX_PATH_BYTES {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        folder.files = files.into();
        if manner == Manner::Open {
            // Whether there is such a file yet or not: its folder makes it one that counts.
            folder.names.extend(protected_names_in(path).map(|name| path.join(name)));
        }
        // Also one that is denied: git obeys it, and what it leads to is elsewhere.
        folder.is_of_git = path.file_name().is_some_and(is_dot_git) || signs.are_of_git(path);
        let is_still = Stamp::of(&path.symlink_metadata()?) == folder.stamp;
        Ok((folder, is_still))
    }

    /// The number of folders that it counts as: what is kept of it takes memory.
    pub(super) fn weight(&self) -> usize {
        1 + self.bytes / UNIT_BYTES
    }

    fn note(&mut self, path: PathBuf, name: &OsStr, kind: Kind, manner: Manner, deny: &DenySet) {
        let kept = self.kept();
        let length = path.as_os_str().len() + PATH_BYTES;
        self.sort(path, name, kind, manner, deny);
        self.bytes += (self.kept() - kept) * length;
    }

    /// Counts the paths that are kept.
    fn kept(&self) -> usize {
        let lists = [&self.folders, &self.denied_folders, &self.links, &self.denied, &self.sockets];
        lists.into_iter().chain([&self.names, &self.git_pointers, &self.linked_names]).map(Vec::len).sum()
    }

    fn sort(&mut self, path: PathBuf, name: &OsStr, kind: Kind, manner: Manner, deny: &DenySet) {
        if manner == Manner::Denied {
            if kind == Kind::Folder {
                self.denied_folders.push(path);
            } else if is_dot_git(name) {
                self.git_pointers.push(path);
            }
            return;
        }
        if deny.matches(&path).is_some() {
            if kind == Kind::Folder {
                self.denied_folders.push(path.clone());
            }
            self.denied.push(path);
            return;
        }
        if kind == Kind::Socket {
            self.sockets.push(path);
            return;
        }
        if manner == Manner::Open && is_protected_name(name) {
            self.names.push(path.clone());
        }
        if kind == Kind::Link {
            self.links.push(path.clone());
            if manner == Manner::Open {
                self.linked_names.extend(protected_below(&path).map(|below| path.join(below)));
            }
        }
        if kind == Kind::Folder {
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
    let opened = Opened::open(path)?;
    let (_, (device, _)) = opened.about()?;
    let mut names = Vec::new();
    opened.each(|name, kind, number| {
        let identity = number.map(|number| (device, number)).filter(|_| kind == Kind::File);
        names.extend(
            identity.filter(|identity| is_one(*identity)).map(|identity| (path.join(name), identity)),
        );
    })?;
    Ok(names)
}
