//! What lies in a folder, as each system says it.

#[cfg(unix)]
pub(super) use self::unix::Opened;
#[cfg(windows)]
pub(super) use self::windows::Opened;

/// What an entry is.
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
    use scorpiox_paths::{Identity, Stamp};

    use super::Kind;

    /// A folder that is open.
    pub(in crate::survey) struct Opened(OwnedFd);

    impl Opened {
        /// Opens a folder. A link anywhere on the way came in the place of a folder since that was seen,
        /// and leads to what commands do not have.
        pub(in crate::survey) fn open(path: &Path) -> io::Result<Self> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            #[cfg(target_os = "linux")]
            {
                use rustix::fs::{CWD, ResolveFlags, openat2};
                match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
                    // Filters of containers know it not, and some say so by another error.
                    Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {}
                    opened => return Ok(Self(opened?)),
                }
            }
            Ok(Self(openat(scorpiox_paths::Folder::open(path)?, ".", flags, Mode::empty())?))
        }

        /// An error where nothing in it can be reached.
        pub(in crate::survey) fn check_reach(&self) -> io::Result<()> {
            Ok(accessat(&self.0, ".", Access::EXEC_OK, AtFlags::EACCESS)?)
        }

        pub(in crate::survey) fn about(&self) -> io::Result<(Stamp, Identity)> {
            let stamp = Stamp::of(&File::from(self.0.try_clone()?).metadata()?);
            Ok((stamp, stamp.identity()))
        }

        /// Each entry: its name, what it is, and its number on the folder's device.
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

    /// What an entry is; nothing, when it is gone.
    fn kind(folder: &OwnedFd, entry: &DirEntry) -> io::Result<Option<Kind>> {
        let kind = match entry.file_type() {
            // Some file systems do not say.
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

    use scorpiox_paths::{Folder, Identity, Kind as Found, Stamp};

    use super::Kind;

    /// A folder that is open, which nobody can exchange meanwhile.
    pub(in crate::survey) struct Opened {
        folder: Folder,
        stamp: Stamp,
    }

    impl Opened {
        /// Opens a folder, by no link on the whole way.
        pub(in crate::survey) fn open(path: &Path) -> io::Result<Self> {
            let folder = Folder::open(path)?;
            Ok(Self { folder, stamp: Stamp::of(&path.symlink_metadata()?) })
        }

        /// What can be listed can be reached here.
        #[allow(clippy::unnecessary_wraps, clippy::unused_self)] // as on other systems
        pub(in crate::survey) fn check_reach(&self) -> io::Result<()> {
            Ok(())
        }

        pub(in crate::survey) fn about(&self) -> io::Result<(Stamp, Identity)> {
            Ok((self.stamp, self.folder.identity()?))
        }

        /// Each entry: its name, and what it is. A listing gives no numbers here.
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
