//! Reaching a path without following a link, wherever on the way it is: commands that run
//! already may exchange a folder of the workspace for a link to the outside at any moment.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, Stat, fstat};

use crate::wire::Fault;

/// What lies at an absolute path; also a link, when it is the last part.
pub(super) fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).or_else(|error| {
        match error {
            // A link as the last part is refused, too: taken from its folder, it is what it is.
            rustix::io::Errno::LOOP => {
                let (folder, name) = parent(path)?;
                rustix::fs::openat(&folder, name, flags, Mode::empty())
            }
            other => Err(other),
        }
    })?)
}

/// The folder that an absolute path lies in, and its name there.
pub(super) fn parent(path: &Path) -> rustix::io::Result<(OwnedFd, &OsStr)> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(rustix::io::Errno::INVAL);
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::DIRECTORY;
    let folder = rustix::fs::openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    Ok((folder, name))
}

/// What tells a file from any other.
pub(super) type Identity = (u64, u64);

/// Of something open.
pub(super) fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

/// Of what lies at a path.
pub(super) fn identity_at(path: &Path) -> io::Result<Identity> {
    Ok(identity(&fstat(open(path)?)?))
}

/// The fault of a path that was not as the host found it, or that cannot be reached at all.
pub(super) fn fault(step: &str, path: &Path, error: io::Error) -> Fault {
    use io::ErrorKind::{NotADirectory, NotFound};
    let looped = error.raw_os_error() == Some(libc::ELOOP);
    let changed = looped || matches!(error.kind(), NotFound | NotADirectory);
    Fault { changed, ..Fault::new(format!("{step} {}", path.display()), error) }
}
