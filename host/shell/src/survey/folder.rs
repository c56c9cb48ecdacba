//! Snapshot of a single folder.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use scorpiox_fs::{Identity, Stamp};
use scorpiox_git::Signs;
use scorpiox_policy::{DenySet, is_protected_name, protected_below, protected_names_in};

use super::entries::{Kind, Opened};

/// Maximum number of attempts to read a folder that changes during the read. Each takes microseconds, so only
/// a program that tries to disturb the survey can exhaust them.
pub(super) const MAX_READINGS: usize = 16;
/// Maximum size in bytes of the paths stored for one folder.
const MAX_PATH_BYTES: usize = 32 << 20;
/// Memory overhead of a path in bytes.
const PATH_BYTES: usize = 64;
/// Bytes of stored paths that count as one additional folder. A folder with a usual path and little content
/// counts as one.
const UNIT_BYTES: usize = 512;

/// Scope of the inspection of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Looks for everything.
    Open,
    /// Inside a package manager's folder: only Git names are protected.
    Packed,
    /// Denied folder: collects only its files.
    Denied,
}

impl Manner {
    /// Returns the scope for a package manager's folder with this parent.
    pub(super) fn packed(self) -> Self {
        if self == Self::Open { Self::Packed } else { self }
    }
}

/// Entries found directly in a folder.
#[derive(Debug)]
pub(super) struct Folder {
    stamp: Stamp,
    identity: Identity,
    manner: Manner,
    read_at: SystemTime,
    /// Size in bytes of all stored paths.
    bytes: usize,
    /// Folders that are not denied.
    folders: Vec<PathBuf>,
    denied_folders: Vec<PathBuf>,
    /// Inode numbers of the regular files in the folder, on its device.
    files: Box<[u64]>,
    pub links: Vec<PathBuf>,
    pub is_of_git: bool,
    /// Denied entries of any kind, including folders.
    pub denied: Vec<PathBuf>,
    pub sockets: Vec<PathBuf>,
    /// Protected names. Those protected because of this folder's name need not exist.
    pub names: Vec<PathBuf>,
    pub git_pointers: Vec<PathBuf>,
    /// Names protected because of links in the folder: paths through these links, which need not exist.
    pub linked_names: Vec<PathBuf>,
}

impl Folder {
    /// Reads a folder unless `old` is still current. The flag is `true` if the folder was read.
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

    /// Returns `true` if the snapshot is current. A folder changed right before it was read may have changed
    /// again without a visible difference in its time stamp.
    fn is_still(&self, stamp: &Stamp, manner: Manner) -> bool {
        self.stamp == *stamp && stamp.is_settled(self.read_at) && self.manner == manner
    }

    pub(super) fn identity(&self) -> Identity {
        self.identity
    }

    /// Returns the subfolders to inspect, each with its scope.
    pub(super) fn below(&self) -> impl Iterator<Item = (&Path, Manner)> {
        let denied = self.denied_folders.iter().map(|path| (path.as_path(), Manner::Denied));
        self.folders.iter().map(|path| (path.as_path(), self.manner)).chain(denied)
    }

    /// Returns the identities of the regular files in the folder.
    pub(super) fn files(&self) -> impl Iterator<Item = Identity> {
        let (device, _) = self.identity();
        self.files.iter().map(move |number| (device, *number))
    }

    /// Reads until the folder is stable.
    ///
    /// A single read can miss an entry that is moved at the same time. If the folder changed during a read,
    /// the next read must find everything again; it may find more.
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

    /// Returns `true` if `other` contains nothing that is missing in this snapshot.
    fn has_all_of(&self, other: &Self) -> bool {
        let found: HashSet<_> = self.paths().collect();
        (self.is_of_git || !other.is_of_git) && other.paths().all(|path| found.contains(path))
    }

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let lists = [&self.folders, &self.denied_folders, &self.links, &self.denied, &self.sockets];
        lists.into_iter().chain([&self.names, &self.git_pointers, &self.linked_names]).flatten()
    }

    /// Reads a folder once. The flag is `true` if it was still the same, unchanged folder after the read.
    pub(super) fn read_once(path: &Path, manner: Manner, deny: &DenySet) -> io::Result<(Self, bool)> {
        let read_at = SystemTime::now();
        let opened = Opened::open(path)?;
        // A folder whose names can be listed but not reached cannot be protected.
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
            // These names count whether or not they exist, because of the folder that contains them.
            folder.names.extend(protected_names_in(path).map(|name| path.join(name)));
        }
        // This also applies to a denied folder: Git obeys it, and it can lead elsewhere.
        folder.is_of_git = path.file_name().is_some_and(is_dot_git) || signs.are_of_git(path);
        let is_still = Stamp::of(&path.symlink_metadata()?) == folder.stamp;
        Ok((folder, is_still))
    }

    /// Returns the number of folders that it counts as, by the memory that its paths take.
    pub(super) fn weight(&self) -> usize {
        1 + self.bytes / UNIT_BYTES
    }

    fn note(&mut self, path: PathBuf, name: &OsStr, kind: Kind, manner: Manner, deny: &DenySet) {
        let kept = self.kept();
        let length = path.as_os_str().len() + PATH_BYTES;
        self.sort(path, name, kind, manner, deny);
        self.bytes += (self.kept() - kept) * length;
    }

    /// Returns the number of stored paths.
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

/// Returns the names and identities of those regular files in a folder that satisfy `is_one`.
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
