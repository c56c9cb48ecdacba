//! Restores the modes of root directories that a command made inaccessible (`chmod 000 .`), because no later
//! command could run.

#[cfg(unix)]
pub use self::unix::{Modes, is_of_user};

/// Modes of directories; unused on this system, where modes cannot lock out the owner.
#[cfg(not(unix))]
#[derive(Debug, Default)]
pub struct Modes;

#[cfg(not(unix))]
#[allow(clippy::unused_self)] // same signature as on other systems
impl Modes {
    /// Does nothing.
    pub fn remember(&mut self, _: &[std::path::PathBuf]) {}

    /// Restores nothing.
    #[must_use]
    pub fn restore(&self) -> Vec<std::path::PathBuf> {
        Vec::new()
    }
}

/// Returns `true` if the user could have made the path inaccessible, which is impossible on this system.
#[cfg(not(unix))]
#[must_use]
pub fn is_of_user(_: &std::path::Path) -> bool {
    false
}

#[cfg(unix)]
mod unix {
    use std::collections::BTreeMap;
    use std::fs;
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    use crate::Identity;

    /// Mode bits that the owner of a directory needs.
    const OWNERS: u32 = 0o700;

    /// Returns `true` if the user could have made the path inaccessible. A path that cannot be examined
    /// counts as the user's.
    #[must_use]
    pub fn is_of_user(path: &Path) -> bool {
        path.symlink_metadata().map_or(true, |found| found.uid() == rustix::process::geteuid().as_raw())
    }

    /// Modes of the roots when they were last accessible.
    #[derive(Debug, Default)]
    pub struct Modes(BTreeMap<PathBuf, (Identity, u32)>);

    impl Modes {
        /// Records the modes of these directories, replacing all earlier ones.
        pub fn remember(&mut self, roots: &[PathBuf]) {
            let mode = |root: &PathBuf| {
                let found = root.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
                Some((root.clone(), ((found.dev(), found.ino()), found.mode() & 0o777)))
            };
            self.0 = roots.iter().filter_map(mode).collect();
        }

        /// Restores missing permissions of the owner. Returns the restored roots.
        #[must_use]
        pub fn restore(&self) -> Vec<PathBuf> {
            let restored = self.0.iter().filter(|(root, known)| {
                restore(root, **known).unwrap_or_else(|error| {
                    tracing::warn!("the mode of {} cannot be restored: {error}", root.display());
                    false
                })
            });
            restored.map(|(root, _)| root.clone()).collect()
        }
    }

    fn restore(root: &Path, (identity, mode): (Identity, u32)) -> io::Result<bool> {
        let lacks = |found: &fs::Metadata| mode & OWNERS & !found.mode() != 0;
        if !root.symlink_metadata().is_ok_and(|found| lacks(&found)) {
            return Ok(false);
        }
        let held = Held::new(root)?;
        let found = held.metadata()?;
        let is_same = (found.dev(), found.ino()) == identity;
        if !is_same || !lacks(&found) || found.uid() != rustix::process::geteuid().as_raw() {
            return Ok(false);
        }
        held.set_mode((found.mode() | mode & OWNERS) & 0o7777)?;
        Ok(true)
    }

    /// Directory handle that needs no read permission. Check and change apply to the same directory, even if
    /// the path is replaced.
    #[cfg(target_os = "linux")]
    struct Held(fs::File);

    #[cfg(target_os = "linux")]
    impl Held {
        fn new(path: &Path) -> io::Result<Self> {
            use rustix::fs::{CWD, Mode, OFlags, openat};
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(Self(openat(CWD, path, flags, Mode::empty())?.into()))
        }

        fn metadata(&self) -> io::Result<fs::Metadata> {
            self.0.metadata()
        }

        fn set_mode(&self, mode: u32) -> io::Result<()> {
            use std::os::fd::AsRawFd as _;
            use std::os::unix::fs::PermissionsExt as _;
            let opened = format!("/proc/self/fd/{}", self.0.as_raw_fd());
            fs::set_permissions(opened, fs::Permissions::from_mode(mode))
        }
    }

    /// Other systems cannot open an unreadable directory. If another directory of the same owner takes its
    /// path, that one gets the permissions.
    #[cfg(not(target_os = "linux"))]
    struct Held<'a>(&'a Path);

    #[cfg(not(target_os = "linux"))]
    impl<'a> Held<'a> {
        #[allow(clippy::unnecessary_wraps)] // same signature as on Linux
        fn new(path: &'a Path) -> io::Result<Self> {
            Ok(Self(path))
        }

        fn metadata(&self) -> io::Result<fs::Metadata> {
            self.0.symlink_metadata()
        }

        fn set_mode(&self, mode: u32) -> io::Result<()> {
            use rustix::fs::{AtFlags, CWD, Mode, RawMode, chmodat};
            let mode = Mode::from_raw_mode(RawMode::try_from(mode).unwrap_or_default());
            Ok(chmodat(CWD, self.0, mode, AtFlags::SYMLINK_NOFOLLOW)?)
        }
    }
}
