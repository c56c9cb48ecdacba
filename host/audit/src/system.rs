//! Platform-specific file operations: identity, ownership, positioned I/O, and locks.

#[cfg(unix)]
pub(crate) use self::unix::{
    identity, identity_at, make_folder, private, read_at, try_lock, unlock, write_all_at,
};
#[cfg(windows)]
pub(crate) use self::windows::{
    identity, identity_at, make_folder, private, read_at, try_lock, unlock, write_all_at,
};

use std::fs::File;
use std::io::{self, ErrorKind};

/// Identity of a file (device and inode), independent of its name.
pub(crate) type Identity = (u64, u64);

/// Mode of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    /// Exclusive lock.
    Exclusive,
    /// Shared lock.
    Shared,
}

/// Reads from offset `at` until the buffer is full or the file ends. Returns the number of bytes read.
pub(crate) fn read_from(file: &File, text: &mut [u8], at: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < text.len() {
        match read_at(file, &mut text[read..], at + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// Fills the buffer from offset `at`. Fails if the file is too short.
pub(crate) fn read_exact_at(file: &File, text: &mut [u8], at: u64) -> io::Result<()> {
    if read_from(file, text, at)? < text.len() { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
    use std::io;
    use std::os::unix::fs::{
        DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    };
    use std::path::Path;

    use rustix::fs::{FlockOperation, OFlags, flock};
    use rustix::io::Errno;

    use super::{Identity, Share};

    #[allow(clippy::unnecessary_wraps)] // same signature as on Windows
    pub(crate) fn identity(_: &File, about: &Metadata) -> io::Result<Identity> {
        Ok((about.dev(), about.ino()))
    }

    /// Returns the identity of the object at this path, without following a symbolic link.
    pub(crate) fn identity_at(path: &Path) -> io::Result<Identity> {
        let about = path.symlink_metadata()?;
        Ok((about.dev(), about.ino()))
    }

    /// Creates a directory accessible only to its owner, if it is missing.
    pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
        const ALL: u32 = 0o777;
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let about = folder.symlink_metadata()?;
        if !about.is_dir() {
            return Err(io::Error::other(format!("{} is a link, which is not followed", folder.display())));
        }
        if about.permissions().mode() & ALL != 0o700 {
            fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    /// Opens a regular file accessible only to its owner, or creates it. Symbolic links are refused.
    pub(crate) fn private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
        // Opening a FIFO without a peer would block.
        let flags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits();
        let flags = i32::try_from(flags).map_err(io::Error::other)?;
        let file = options.create(true).mode(0o600).custom_flags(flags).open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other(format!("{} is not an ordinary file", path.display())));
        }
        if about.permissions().mode() & 0o077 != 0 {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
        Ok(file)
    }

    pub(crate) fn read_at(file: &File, text: &mut [u8], at: u64) -> io::Result<usize> {
        file.read_at(text, at)
    }

    pub(crate) fn write_all_at(file: &File, text: &[u8], at: u64) -> io::Result<()> {
        file.write_all_at(text, at)
    }

    /// Tries to acquire a lock without waiting. Returns `true` on success.
    pub(crate) fn try_lock(file: &File, share: Share) -> io::Result<bool> {
        let operation = match share {
            Share::Exclusive => FlockOperation::NonBlockingLockExclusive,
            Share::Shared => FlockOperation::NonBlockingLockShared,
        };
        match rustix::io::retry_on_intr(|| flock(file, operation)) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn unlock(file: &File) {
        let _ = flock(file, FlockOperation::Unlock);
    }
}

#[cfg(windows)]
mod windows {
    use std::fs::{self, File, Metadata, OpenOptions};
    use std::io;
    use std::os::windows::fs::{FileExt as _, OpenOptionsExt as _};
    use std::os::windows::io::AsHandle as _;
    use std::path::Path;

    use scorpiox_sys::windows::file::{FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT};
    use scorpiox_sys::windows::{access, file};

    use super::{Identity, Share};

    pub(crate) fn identity(file: &File, _: &Metadata) -> io::Result<Identity> {
        file::identity(file.as_handle())
    }

    /// Returns the identity of the object at this path, without following a link.
    pub(crate) fn identity_at(path: &Path) -> io::Result<Identity> {
        file::identity(opened(path)?.as_handle())
    }

    fn opened(path: &Path) -> io::Result<File> {
        let flags = FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS;
        File::options().read(true).custom_flags(flags).open(path)
    }

    /// Creates a directory if it is missing, with access rights inherited from the parent. Fails if another user
    /// can change the directory.
    pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let open = opened(folder)?;
        if !open.metadata()?.is_dir() {
            return Err(io::Error::other(format!("{} is a link, which is not followed", folder.display())));
        }
        refuse_others(&open, folder)
    }

    fn refuse_others(open: &File, path: &Path) -> io::Result<()> {
        match access::others_can_change(open.as_handle())? {
            Some(why) => Err(io::Error::other(format!("{}: {why}", path.display()))),
            None => Ok(()),
        }
    }

    /// Opens a regular file that no other user can change, or creates it. Links are refused.
    pub(crate) fn private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
        let file = options.create(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other(format!("{} is not an ordinary file", path.display())));
        }
        refuse_others(&file, path)?;
        Ok(file)
    }

    pub(crate) fn read_at(file: &File, text: &mut [u8], at: u64) -> io::Result<usize> {
        file.seek_read(text, at)
    }

    pub(crate) fn write_all_at(file: &File, mut text: &[u8], mut at: u64) -> io::Result<()> {
        while !text.is_empty() {
            match file.seek_write(text, at)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => {
                    text = &text[written..];
                    at += written as u64;
                }
            }
        }
        Ok(())
    }

    /// Tries to acquire a lock without waiting. Returns `true` on success.
    pub(crate) fn try_lock(file: &File, share: Share) -> io::Result<bool> {
        file::try_lock(file.as_handle(), share == Share::Exclusive)
    }

    pub(crate) fn unlock(file: &File) {
        let _ = file::unlock(file.as_handle());
    }
}
