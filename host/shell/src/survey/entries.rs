//! Directory listings for each operating system.

#[cfg(unix)]
pub(super) use self::unix::Opened;
#[cfg(windows)]
pub(super) use self::windows::Opened;

/// Type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A regular file.
    File,
    Folder,
    Link,
    Socket,
    Other,
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;

    use rustix::fs::{Access, AtFlags, Dir, DirEntry, FileType, Mode, OFlags, accessat, openat, statat};
    use scorpiox_fs::{Identity, Stamp};

    use super::Kind;

    /// An open folder.
    pub(in crate::survey) struct Opened(OwnedFd);

    impl Opened {
        /// Opens a folder without following links. A link in the path replaced a folder since the path was
        /// found, and leads outside of what commands see.
        pub(in crate::survey) fn open(path: &Path) -> io::Result<Self> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            #[cfg(target_os = "linux")]
            {
                use rustix::fs::{CWD, ResolveFlags, openat2};
                match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
                    // Container filters may not know this system call, and some report that as EPERM.
                    Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {}
                    opened => return Ok(Self(opened?)),
                }
            }
            Ok(Self(openat(scorpiox_fs::Folder::open(path)?, ".", flags, Mode::empty())?))
        }

        /// Fails if entries of the folder cannot be reached.
        pub(in crate::survey) fn check_reach(&self) -> io::Result<()> {
            Ok(accessat(&self.0, ".", Access::EXEC_OK, AtFlags::EACCESS)?)
        }

        pub(in crate::survey) fn about(&self) -> io::Result<(Stamp, Identity)> {
            let stamp = Stamp::of(&File::from(self.0.try_clone()?).metadata()?);
            Ok((stamp, stamp.identity()))
        }

        /// Calls `note` with the name, type, and inode number of each entry.
        pub(in crate::survey) fn each(
            &self,
            mut note: impl FnMut(&OsStr, Kind, Option<u64>),
        ) -> io::Result<()> {
            for entry in Dir::read_from(&self.0)? {
                let entry = entry?;
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                if let Some(kind) = kind(&self.0, &entry)? {
                    note(name, kind, Some(entry.ino()));
                }
            }
            Ok(())
        }
    }

    /// Returns the type of an entry, or `None` if it was removed.
    fn kind(folder: &OwnedFd, entry: &DirEntry) -> io::Result<Option<Kind>> {
        let kind = match entry.file_type() {
            // Some file systems do not report the type.
            FileType::Unknown => match statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => FileType::from_raw_mode(found.st_mode),
                Err(rustix::io::Errno::NOENT) => return Ok(None),
                Err(error) => return Err(error.into()),
            },
            kind => kind,
        };
        Ok(Some(match kind {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            FileType::Socket => Kind::Socket,
            _ => Kind::Other,
        }))
    }
}

#[cfg(windows)]
mod windows {
    use std::ffi::OsStr;
    use std::io;
    use std::path::Path;

    use scorpiox_fs::{Folder, Identity, Kind as Found, Stamp};

    use super::Kind;

    /// An open folder that cannot be replaced while it is open.
    pub(in crate::survey) struct Opened {
        folder: Folder,
        stamp: Stamp,
    }

    impl Opened {
        /// Opens a folder. No component of the path may be a link.
        pub(in crate::survey) fn open(path: &Path) -> io::Result<Self> {
            let folder = Folder::open(path)?;
            Ok(Self { folder, stamp: Stamp::of(&path.symlink_metadata()?) })
        }

        /// Succeeds: on Windows, entries that can be listed can be reached.
        #[allow(clippy::unnecessary_wraps, clippy::unused_self)] // same signature as on Unix
        pub(in crate::survey) fn check_reach(&self) -> io::Result<()> {
            Ok(())
        }

        pub(in crate::survey) fn about(&self) -> io::Result<(Stamp, Identity)> {
            Ok((self.stamp, self.folder.identity()?))
        }

        /// Calls `note` with the name and type of each entry. Windows listings contain no file IDs.
        pub(in crate::survey) fn each(
            &self,
            mut note: impl FnMut(&OsStr, Kind, Option<u64>),
        ) -> io::Result<()> {
            for name in self.folder.names()? {
                let name = name?;
                let kind = match self.folder.kind(Path::new(&name)) {
                    Ok(Found::File(_)) => Kind::File,
                    Ok(Found::Folder) => Kind::Folder,
                    Ok(Found::Link) => Kind::Link,
                    Ok(Found::Other) => Kind::Other,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                };
                note(&name, kind, None);
            }
            Ok(())
        }
    }
}
