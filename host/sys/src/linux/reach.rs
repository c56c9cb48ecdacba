//! Opens paths without following a symbolic link in any component. A running command may replace a folder of
//! the workspace with a link to the outside at any moment.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, Stat, fstat, openat};

const FLAGS: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// Opens an absolute path with `O_PATH`. A link as the last component is opened itself.
pub fn open(path: &Path) -> io::Result<OwnedFd> {
    let Some(name) = path.file_name() else {
        return Ok(openat(CWD, path, FLAGS, Mode::empty())?);
    };
    let (folder, _) = parent(path)?;
    Ok(openat(&folder, name, FLAGS, Mode::empty())?)
}

/// Opens the parent folder of an absolute path, and returns it with the file name.
///
/// Resolves component by component, without following links, on kernels without `openat2`, too.
pub fn parent(path: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "not the absolute path of a file");
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(invalid()) };
    let flags = FLAGS | OFlags::DIRECTORY;
    let mut reached = openat(CWD, "/", flags, Mode::empty())?;
    for part in folder.components() {
        reached = match part {
            Component::RootDir => continue,
            Component::Normal(name) => openat(&reached, name, flags, Mode::empty())?,
            Component::Prefix(_) | Component::CurDir | Component::ParentDir => return Err(invalid()),
        };
    }
    Ok((reached, name))
}

/// Resolves paths in sequence and reuses the parent folder of the previous path.
#[derive(Default)]
pub struct Walk(Option<Reached>);

/// Parent folder of the previous path.
struct Reached {
    path: PathBuf,
    folder: OwnedFd,
    identity: Option<Identity>,
}

impl Walk {
    /// Like [`open`].
    pub fn open(&mut self, path: &Path) -> io::Result<OwnedFd> {
        let (folder, name) = self.parent(path)?;
        Ok(openat(folder, name, FLAGS, Mode::empty())?)
    }

    /// Like [`parent`].
    pub fn parent<'a>(&mut self, path: &'a Path) -> io::Result<(&OwnedFd, &'a OsStr)> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let known = self.0.take().filter(|reached| reached.path.as_os_str() == above.as_os_str());
        let reached = match known {
            Some(known) => known,
            None => Reached { path: above.to_owned(), folder: parent(path)?.0, identity: None },
        };
        Ok((&self.0.insert(reached).folder, name))
    }

    /// Returns the identity of the current folder, cached after the first call.
    pub fn folder(&mut self) -> io::Result<Identity> {
        let reached = self.0.as_mut().ok_or(io::ErrorKind::NotFound)?;
        match reached.identity {
            Some(known) => Ok(known),
            None => Ok(*reached.identity.insert(identity(&fstat(&reached.folder)?))),
        }
    }
}

/// Walks down from a directory and opens each directory on the way at most once, and only if it is asked for.
/// Commands choose how deep a path is, so opening each of its prefixes from the root would take them too far.
pub struct Descent {
    root: PathBuf,
    reached: Option<OwnedFd>,
    /// Names below `reached` that are not opened yet.
    ahead: PathBuf,
}

impl Descent {
    /// Starts at an absolute path.
    pub fn from(root: &Path) -> Self {
        Self { root: root.to_owned(), reached: None, ahead: PathBuf::new() }
    }

    /// Goes down to the directory with this name.
    pub fn enter(&mut self, name: &OsStr) {
        self.ahead.push(name);
    }

    /// Opens the current directory.
    pub fn folder(&mut self) -> io::Result<&OwnedFd> {
        let mut reached = match self.reached.take() {
            Some(reached) => reached,
            None => open(&self.root)?,
        };
        for name in &std::mem::take(&mut self.ahead) {
            reached = openat(&reached, name, FLAGS | OFlags::DIRECTORY, Mode::empty())?;
        }
        Ok(self.reached.insert(reached))
    }
}

/// Device and inode, which identify a file.
pub type Identity = (u64, u64);

/// Returns the identity of an open file.
pub fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

/// Returns the identity of the file at a path.
pub fn identity_at(path: &Path) -> io::Result<Identity> {
    Ok(identity(&fstat(open(path)?)?))
}
