//! Opening from part to part.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

/// A folder need not be readable to be passed through.
#[cfg(target_os = "linux")]
const THROUGH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const THROUGH: OFlags = OFlags::RDONLY;
const FOLDER: OFlags = THROUGH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A pipe in the place of a file is not waited for.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// What tells a file from any other: its device and its number there.
pub type Identity = (u64, u64);

/// What lies under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file, with its size in bytes.
    File(u64),
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// A folder that is held open: whatever takes its place, this stays the same one.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// The folder at an absolute path, which passes through no link.
    pub fn open(path: &Path) -> io::Result<Self> {
        let inside = path.strip_prefix("/").map_err(|_| invalid(path, "is not absolute"))?;
        let root = Self(openat(CWD, "/", FOLDER, Mode::empty())?);
        if inside.as_os_str().is_empty() { Ok(root) } else { root.folder(inside) }
    }

    /// A folder below this one, by a relative path without `..`; an empty path is this folder.
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

    /// A regular file below this folder, to read.
    pub fn file(&self, inside: &Path) -> io::Result<File> {
        let (folder, name) = self.parent(inside)?;
        let folder = folder.as_ref().unwrap_or(self);
        let file = openat(&folder.0, name, FILE, Mode::empty())
            .map_err(|error| self::refused(&folder.0, name, error))?;
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(invalid(Path::new(name), "is not a regular file"));
        }
        Ok(File::from(file))
    }

    /// What lies below this folder under a path, which is not followed if it is a link.
    pub fn kind(&self, inside: &Path) -> io::Result<Kind> {
        let (folder, name) = self.parent(inside)?;
        let folder = folder.as_ref().unwrap_or(self);
        Ok(kind_of(&statat(&folder.0, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// The names in it, in no order. A name that cannot be read is an error.
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

    /// What tells it from any other.
    pub fn identity(&self) -> io::Result<Identity> {
        Ok(identity_of(&fstat(&self.0)?))
    }

    /// A path that leads to this very folder while it is held, for what takes nothing but paths.
    #[cfg(target_os = "linux")]
    pub fn alias(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }

    /// The folder that a relative path lies in, where it is another one, and its name there.
    fn parent<'a>(&self, inside: &'a Path) -> io::Result<(Option<Self>, &'a OsStr)> {
        let last = inside.components().next_back().ok_or_else(|| invalid(inside, "names nothing"))?;
        let name = name(inside, last)?;
        let above = inside.parent().filter(|above| !above.as_os_str().is_empty());
        Ok((above.map(|above| self.folder(above)).transpose()?, name))
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The same in one call, where the system has such a call; `None` when it has not, or refuses: going from
/// part to part says at which.
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

/// The regular file at an absolute path, which passes through no link, to read.
pub fn open_file(path: &Path) -> io::Result<File> {
    let inside = path.strip_prefix("/").map_err(|_| invalid(path, "is not absolute"))?;
    Folder::open(Path::new("/"))?.file(inside)
}

pub(crate) fn kind_of(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File(u64::try_from(stat.st_size).unwrap_or(0)),
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}

#[allow(clippy::unnecessary_cast, reason = "the type is another one on other systems")]
fn identity_of(stat: &Stat) -> Identity {
    (stat.st_dev as u64, stat.st_ino as u64)
}

fn name<'a>(path: &Path, part: Component<'a>) -> io::Result<&'a OsStr> {
    match part {
        Component::Normal(name) => Ok(name),
        _ => Err(invalid(path, "has a part that is no name")),
    }
}

fn invalid(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{} {why}", path.display()))
}

/// The system says of a link where a folder is wanted that it is no folder, which helps nobody.
fn refused(folder: &OwnedFd, name: &OsStr, error: Errno) -> io::Error {
    let is_link =
        || statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| kind_of(&found) == Kind::Link);
    if matches!(error, Errno::LOOP | Errno::NOTDIR) && is_link() {
        return invalid(Path::new(name), "is a symbolic link, which is not followed here");
    }
    error.into()
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder without links on the way to it.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    #[test]
    fn files_are_reached_through_folders_and_nothing_else() {
        let (_held, path) = folder();
        std::fs::create_dir_all(path.join("a/b")).unwrap();
        std::fs::write(path.join("a/b/file"), "text").unwrap();
        symlink("a", path.join("link")).unwrap();
        symlink("file", path.join("a/b/link")).unwrap();
        let mut text = String::new();
        open_file(&path.join("a/b/file")).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        let open = Folder::open(&path).unwrap();
        assert_eq!(open.kind(Path::new("a/b/file")).unwrap(), Kind::File(4));
        assert_eq!(open.kind(Path::new("link")).unwrap(), Kind::Link);
        for refused in ["link/b/file", "a/b/link", "a/../a/b/file", "a/b", "", "/etc/passwd"] {
            assert!(open.file(Path::new(refused)).is_err(), "{refused}");
        }
        let error = open.folder(Path::new("link")).unwrap_err().to_string();
        assert_eq!(error, "link is a symbolic link, which is not followed here");
    }

    #[test]
    fn what_takes_the_place_of_an_open_folder_is_not_it() {
        let (_held, path) = folder();
        std::fs::create_dir(path.join("a")).unwrap();
        std::fs::write(path.join("a/file"), "mine").unwrap();
        let open = Folder::open(&path.join("a")).unwrap();
        std::fs::rename(path.join("a"), path.join("old")).unwrap();
        symlink("/etc", path.join("a")).unwrap();
        assert_eq!(open.kind(Path::new("file")).unwrap(), Kind::File(4));
        assert_eq!(open.names().unwrap().map(Result::unwrap).collect::<Vec<_>>(), ["file"]);
        assert_eq!(open.identity().unwrap(), Folder::open(&path.join("old")).unwrap().identity().unwrap());
    }

    #[test]
    fn a_pipe_is_no_file_and_is_not_waited_for() {
        let (_held, path) = folder();
        rustix::fs::mknodat(CWD, path.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let error = open_file(&path.join("pipe")).unwrap_err().to_string();
        assert_eq!(error, "pipe is not a regular file");
    }
}
