//! Opens paths component by component with `openat`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

use super::{Identity, Kind, invalid, is_a_link, name, parent, plain, rooted};

/// A directory on the way needs no read permission.
#[cfg(target_os = "linux")]
const THROUGH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const THROUGH: OFlags = OFlags::RDONLY;
const FOLDER: OFlags = THROUGH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// `NONBLOCK` keeps a FIFO in place of a file from blocking.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Open directory. It stays the same if its path is replaced.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Opens a directory by an absolute path that passes through no link.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (root, inside) = rooted(path)?;
        let root = Self(openat(CWD, &root, FOLDER, Mode::empty())?);
        if inside.as_os_str().is_empty() { Ok(root) } else { root.folder(inside) }
    }

    /// Opens a directory by a relative path without `..`. An empty path is this directory.
    pub fn folder(&self, inside: &Path) -> io::Result<Self> {
        for part in inside.components() {
            name(inside, part)?;
        }
        if let Some(opened) = at_once(&self.0, inside, FOLDER) {
            return Ok(Self(opened?));
        }
        let mut reached = self.0.try_clone()?;
        for part in inside.components() {
            let name = name(inside, part)?;
            reached = openat(&reached, name, FOLDER, Mode::empty())
                .map_err(|error| self::refused(&reached, name, error))?;
        }
        Ok(Self(reached))
    }

    /// Opens a regular file below this directory for reading.
    pub fn file(&self, inside: &Path) -> io::Result<File> {
        let (folder, name) = parent(self, inside)?;
        let folder = folder.as_ref().unwrap_or(self);
        let file = openat(&folder.0, name, FILE, Mode::empty())
            .map_err(|error| self::refused(&folder.0, name, error))?;
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(invalid(Path::new(name), "is not a regular file"));
        }
        Ok(File::from(file))
    }

    /// Opens a regular file in this directory for reading and appending. A missing file is created,
    /// accessible only to its owner.
    pub fn append(&self, name: &OsStr) -> io::Result<File> {
        const FLAGS: OFlags = OFlags::RDWR
            .union(OFlags::APPEND)
            .union(OFlags::CREATE)
            .union(OFlags::NOFOLLOW)
            .union(OFlags::NONBLOCK)
            .union(OFlags::NOCTTY)
            .union(OFlags::CLOEXEC);
        let name = plain(name)?;
        let file = openat(&self.0, name, FLAGS, Mode::RUSR | Mode::WUSR)
            .map_err(|error| self::refused(&self.0, name, error))?;
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(invalid(Path::new(name), "is not a regular file"));
        }
        Ok(File::from(file))
    }

    /// Returns the kind of the entry at a path below this directory. A link is not followed.
    pub fn kind(&self, inside: &Path) -> io::Result<Kind> {
        let (folder, name) = parent(self, inside)?;
        let folder = folder.as_ref().unwrap_or(self);
        Ok(kind_of(&statat(&folder.0, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Returns the names in the directory in arbitrary order. A name that cannot be read is an error.
    pub fn names(&self) -> io::Result<impl Iterator<Item = io::Result<OsString>> + use<>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let entries = Dir::new(openat(&self.0, ".", flags, Mode::empty())?)?;
        let named = entries.map(|entry| {
            let entry = entry?;
            Ok(OsString::from_vec(entry.file_name().to_bytes().to_vec()))
        });
        Ok(named.filter(|name: &io::Result<OsString>| {
            !name.as_ref().is_ok_and(|name| name == "." || name == "..")
        }))
    }

    /// Returns the identity of the directory.
    pub fn identity(&self) -> io::Result<Identity> {
        Ok(identity_of(&fstat(&self.0)?))
    }

    /// Returns a path that refers to this directory while it is open, for interfaces that accept only paths.
    #[cfg(target_os = "linux")]
    pub fn alias(&self) -> std::path::PathBuf {
        use std::os::fd::AsRawFd as _;
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Opens a path with one system call. Returns `None` if the call is unsupported or refuses; opening component
/// by component then finds the component at fault.
#[cfg(target_os = "linux")]
fn at_once(folder: &OwnedFd, inside: &Path, flags: OFlags) -> Option<io::Result<OwnedFd>> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    match openat2(folder, inside, flags, Mode::empty(), resolve) {
        Ok(opened) => Some(Ok(opened)),
        Err(Errno::NOENT) if !inside.as_os_str().is_empty() => Some(Err(Errno::NOENT.into())),
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn at_once(_folder: &OwnedFd, _inside: &Path, _flags: OFlags) -> Option<io::Result<OwnedFd>> {
    None
}

fn kind_of(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File(u64::try_from(stat.st_size).unwrap_or(0)),
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}

#[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, reason = "the types are others on other systems")]
fn identity_of(stat: &Stat) -> Identity {
    (stat.st_dev as u64, stat.st_ino as u64)
}

fn refused(folder: &OwnedFd, name: &OsStr, error: Errno) -> io::Error {
    let is_link =
        || statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| kind_of(&found) == Kind::Link);
    if matches!(error, Errno::LOOP | Errno::NOTDIR) && is_link() {
        return is_a_link(name);
    }
    error.into()
}
