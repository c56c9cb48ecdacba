//! What makes a file one person's alone, by system.

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

    /// Makes a folder, and those that lead to it, where there are none: nobody else can look into what is made.
    pub fn folder(path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    /// Options for a file: one that they make is nobody else's to read or write.
    pub fn options() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.mode(0o600);
        options
    }

    /// The same, for a file that is not reached through a link.
    pub(crate) fn unfollowed() -> OpenOptions {
        let mut options = options();
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        options
    }

    /// Opens what has this name to read it: not what a link there leads to, and without waiting for who writes into
    /// a pipe.
    pub fn open_unfollowed(path: &Path) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
    }

    /// Whether this process can make something in a folder and reach it.
    pub fn check_use(folder: &Path) -> io::Result<()> {
        use rustix::fs::{Access, access};
        Ok(access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
    }

    /// Gives a finished file its name; `AlreadyExists` where that is taken.
    pub fn name_new(draft: &Path, path: &Path) -> io::Result<()> {
        match renameat_with(CWD, draft, CWD, path, RenameFlags::NOREPLACE) {
            // Some file systems have no such rename.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                fs::hard_link(draft, path)?;
                fs::remove_file(draft)
            }
            renamed => Ok(renamed?),
        }
    }

    /// Gives a finished file its name; what had it is gone at once.
    pub fn replace(draft: &Path, path: &Path) -> io::Result<()> {
        fs::rename(draft, path)
    }

    /// Makes sure that the names in a folder outlast a loss of power.
    pub fn sync_folder(path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    /// Whether nobody else can have written an open file.
    pub(crate) fn check(file: &File) -> io::Result<()> {
        check_by(&file.metadata()?)
    }

    /// Whether nobody else can have put something into a folder.
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

    use scorpiox_windows::access;
    use scorpiox_windows::file::{FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, rename_new};

    /// How long a file that is to be replaced may stay open: who reads one does not take as long.
    const REPLACE_TIME: Duration = Duration::from_secs(2);
    const REPLACE_PAUSE: Duration = Duration::from_millis(5);

    /// Makes a folder, and those that lead to it, where there are none. Who can look into what is made, the folder
    /// says that it is made in: a person's own folder lets nobody else.
    pub fn folder(path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    /// Options for a file. Whose a file is that they make, its folder says.
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// The same, for a file that is not reached through a link.
    pub(crate) fn unfollowed() -> OpenOptions {
        let mut options = options();
        options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
        options
    }

    /// Opens what has this name to read it: not what a link there leads to.
    pub fn open_unfollowed(path: &Path) -> io::Result<File> {
        let file = unfollowed().read(true).open(path)?;
        if file.metadata()?.is_symlink() {
            return Err(io::Error::other("is a link, which is not followed here"));
        }
        Ok(file)
    }

    /// Whether this process can make something in a folder: it asks for the right to.
    pub fn check_use(folder: &Path) -> io::Result<()> {
        /// `FILE_ADD_FILE` and `FILE_ADD_SUBDIRECTORY`.
        const ADD: u32 = 0x2 | 0x4;
        OpenOptions::new().access_mode(ADD).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(folder).map(drop)
    }

    /// Gives a finished file its name; `AlreadyExists` where that is taken. A second name would not do: the first
    /// could not go while the file is open.
    pub fn name_new(draft: &Path, path: &Path) -> io::Result<()> {
        rename_new(draft, path).map_err(|error| {
            // A name that is in use at this moment is refused by another error.
            if path.symlink_metadata().is_ok() { ErrorKind::AlreadyExists.into() } else { error }
        })
    }

    /// Gives a finished file its name; what had it is gone at once. Waits for whoever has that one open: Windows may
    /// refuse as long as somebody does.
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

    /// Makes sure that the names in a folder outlast a loss of power: the file systems of Windows write those down by
    /// themselves.
    pub fn sync_folder(_: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Whether nobody else can have written an open file.
    pub(crate) fn check(file: &File) -> io::Result<()> {
        if file.metadata()?.is_symlink() {
            return Err(io::Error::other("it is a link"));
        }
        match access::others_can_change(file.as_handle())? {
            Some(why) => Err(io::Error::other(why)),
            None => Ok(()),
        }
    }

    /// Whether nobody else can have put something into a folder.
    pub(crate) fn check_folder(path: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS);
        check(&options.open(path)?)
    }
}
