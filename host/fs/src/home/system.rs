//! Platform-specific access control for private files.

#[cfg(unix)]
pub(crate) use self::unix::{check, check_folder, unfollowed};
#[cfg(unix)]
pub use self::unix::{check_use, folder, name_new, open_unfollowed, options, replace, sync_folder};
#[cfg(windows)]
pub(crate) use self::windows::{check, check_folder, unfollowed};
#[cfg(windows)]
pub use self::windows::{check_use, folder, name_new, open_unfollowed, options, replace, sync_folder};

#[cfg(unix)]
mod unix {
    use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
    use std::path::Path;

    use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
    use rustix::io::Errno;

    /// Creates a directory and its missing parents, accessible only to this user.
    pub fn folder(path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    /// Returns options that create files accessible only to this user.
    pub fn options() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.mode(0o600);
        options
    }

    /// Returns the same options, refusing symbolic links.
    pub(crate) fn unfollowed() -> OpenOptions {
        let mut options = options();
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        options
    }

    /// Opens a file for reading. Refuses symbolic links, and does not block on FIFOs.
    pub fn open_unfollowed(path: &Path) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
    }

    /// Checks that this process can create and access files in a directory.
    pub fn check_use(folder: &Path) -> io::Result<()> {
        use rustix::fs::{Access, access};
        Ok(access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
    }

    /// Renames a finished file to a new name. Fails with `AlreadyExists` if the name is taken.
    pub fn name_new(draft: &Path, path: &Path) -> io::Result<()> {
        match renameat_with(CWD, draft, CWD, path, RenameFlags::NOREPLACE) {
            // Some file systems do not support this rename.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                fs::hard_link(draft, path)?;
                fs::remove_file(draft)
            }
            renamed => Ok(renamed?),
        }
    }

    /// Renames a finished file, atomically replacing any previous one.
    pub fn replace(draft: &Path, path: &Path) -> io::Result<()> {
        fs::rename(draft, path)
    }

    /// Makes the names in a directory survive a power failure.
    pub fn sync_folder(path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    /// Fails if another user can have written the open file.
    pub(crate) fn check(file: &File) -> io::Result<()> {
        check_by(&file.metadata()?)
    }

    /// Fails if another user can have placed files in the directory.
    pub(crate) fn check_folder(path: &Path) -> io::Result<()> {
        check_by(&path.symlink_metadata()?)
    }

    fn check_by(about: &Metadata) -> io::Result<()> {
        let own = rustix::process::geteuid().as_raw();
        if about.uid() != own || about.mode() & 0o022 != 0 || about.is_symlink() {
            return Err(io::Error::other("others can write it"));
        }
        Ok(())
    }
}

#[cfg(windows)]
mod windows {
    use std::fs::{self, File, OpenOptions};
    use std::io::{self, ErrorKind};
    use std::os::windows::fs::OpenOptionsExt as _;
    use std::os::windows::io::AsHandle as _;
    use std::path::Path;
    use std::thread;
    use std::time::{Duration, Instant};

    use scorpiox_sys::windows::access;
    use scorpiox_sys::windows::file::{FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, rename_new};

    /// Maximum time to wait for readers of a file to be replaced.
    const REPLACE_TIME: Duration = Duration::from_secs(2);
    const REPLACE_PAUSE: Duration = Duration::from_millis(5);

    /// Creates a directory and its missing parents. Access rights are inherited from the parent, and a user
    /// profile excludes other users.
    pub fn folder(path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    /// Returns options for a file. Access rights are inherited from the directory.
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Returns the same options, refusing links.
    pub(crate) fn unfollowed() -> OpenOptions {
        let mut options = options();
        options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
        options
    }

    /// Opens a file for reading. Links are refused.
    pub fn open_unfollowed(path: &Path) -> io::Result<File> {
        let file = unfollowed().read(true).open(path)?;
        if file.metadata()?.is_symlink() {
            return Err(io::Error::other("is a link, which is not followed here"));
        }
        Ok(file)
    }

    /// Checks that this process can create files in a directory, by requesting that right.
    pub fn check_use(folder: &Path) -> io::Result<()> {
        /// `FILE_ADD_FILE` and `FILE_ADD_SUBDIRECTORY`.
        const ADD: u32 = 0x2 | 0x4;
        OpenOptions::new().access_mode(ADD).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(folder).map(drop)
    }

    /// Renames a finished file to a new name. Fails with `AlreadyExists` if the name is taken. A hard link
    /// would not work, because the first name of an open file cannot be deleted.
    pub fn name_new(draft: &Path, path: &Path) -> io::Result<()> {
        rename_new(draft, path).map_err(|error| {
            // Windows reports a different error if the name is in use.
            if path.symlink_metadata().is_ok() { ErrorKind::AlreadyExists.into() } else { error }
        })
    }

    /// Renames a finished file, atomically replacing any previous one. Windows may refuse while the previous
    /// file is open, so this waits.
    pub fn replace(draft: &Path, path: &Path) -> io::Result<()> {
        let until = Instant::now() + REPLACE_TIME;
        loop {
            match fs::rename(draft, path) {
                Err(error) if is_in_use(&error) && Instant::now() < until => thread::sleep(REPLACE_PAUSE),
                other => return other,
            }
        }
    }

    fn is_in_use(error: &io::Error) -> bool {
        const ERROR_SHARING_VIOLATION: i32 = 32;
        error.kind() == io::ErrorKind::PermissionDenied
            || error.raw_os_error() == Some(ERROR_SHARING_VIOLATION)
    }

    /// Makes the names in a directory survive a power failure. Windows file systems do so without a flush.
    pub fn sync_folder(_: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Fails if another user can have written the open file.
    pub(crate) fn check(file: &File) -> io::Result<()> {
        if file.metadata()?.is_symlink() {
            return Err(io::Error::other("it is a link"));
        }
        match access::others_can_change(file.as_handle())? {
            Some(why) => Err(io::Error::other(why)),
            None => Ok(()),
        }
    }

    /// Fails if another user can have placed files in the directory.
    pub(crate) fn check_folder(path: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS);
        check(&options.open(path)?)
    }
}
