//! Reaching a path without following a link, wherever on the way it is: commands that run
//! already may exchange a folder of the workspace for a link to the outside at any moment.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, Stat, fstat, openat};

const FLAGS: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// What lies at an absolute path; also a link, when it is the last part.
pub fn open(path: &Path) -> io::Result<OwnedFd> {
    let Some(name) = path.file_name() else {
        return Ok(openat(CWD, path, FLAGS, Mode::empty())?);
    };
    let (folder, _) = parent(path)?;
    Ok(openat(&folder, name, FLAGS, Mode::empty())?)
}

/// The folder that an absolute path lies in, and its name there.
///
/// Goes from part to part. `openat2` could do it at once, but the filter that commands have
/// does not let it through, since it cannot see with which mode a file is made.
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

/// Reaches one path after the other; of those in one folder, the folder once.
#[derive(Default)]
pub struct Walk(Option<Reached>);

/// The folder that was reached last.
struct Reached {
    path: PathBuf,
    folder: OwnedFd,
    identity: Option<Identity>,
}

impl Walk {
    /// As [`open`].
    pub fn open(&mut self, path: &Path) -> io::Result<OwnedFd> {
        let (folder, name) = self.parent(path)?;
        Ok(openat(folder, name, FLAGS, Mode::empty())?)
    }

    /// As [`parent`].
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

    /// Returns the identity of the folder that was reached last, asking the system once.
    pub fn folder(&mut self) -> io::Result<Identity> {
        let reached = self.0.as_mut().ok_or(io::ErrorKind::NotFound)?;
        match reached.identity {
            Some(known) => Ok(known),
            None => Ok(*reached.identity.insert(identity(&fstat(&reached.folder)?))),
        }
    }
}

/// What tells a file from any other.
pub type Identity = (u64, u64);

/// Of something open.
pub fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

/// Of what lies at a path.
pub fn identity_at(path: &Path) -> io::Result<Identity> {
    Ok(identity(&fstat(open(path)?)?))
}
