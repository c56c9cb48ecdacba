//! Roots that a command closed to their owner (`chmod 000 .`): no later command could run.

#[cfg(unix)]
pub(super) use self::unix::Modes;

/// Nothing can be closed to its owner by a mode here.
#[cfg(not(unix))]
#[derive(Debug, Default)]
pub(super) struct Modes;

#[cfg(not(unix))]
#[allow(clippy::unused_self)] // as on other systems
impl Modes {
    pub(super) fn remember(&mut self, _: &[std::path::PathBuf]) {}

    pub(super) fn restore(&self) -> Vec<std::path::PathBuf> {
        Vec::new()
    }
}

#[cfg(unix)]
mod unix {
    use std::collections::BTreeMap;
    use std::fs::{self, File, Permissions};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::{Path, PathBuf};

    use rustix::fs::{CWD, Mode, OFlags, openat};
    use scorpiox_paths::Identity;

    /// What the owner needs of a folder.
    const OWNERS: u32 = 0o700;

    /// The modes that roots had when they could be looked through.
    #[derive(Debug, Default)]
    pub(in crate::survey) struct Modes(BTreeMap<PathBuf, (Identity, u32)>);

    impl Modes {
        pub(in crate::survey) fn remember(&mut self, roots: &[PathBuf]) {
            let mode = |root: &PathBuf| {
                let found = root.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
                Some((root.clone(), ((found.dev(), found.ino()), found.mode() & 0o777)))
            };
            self.0 = roots.iter().filter_map(mode).collect();
        }

        /// Gives the owner back what is missing since; which roots it was.
        pub(in crate::survey) fn restore(&self) -> Vec<PathBuf> {
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
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = File::from(openat(CWD, root, flags, Mode::empty())?);
        let found = folder.metadata()?;
        let is_same = (found.dev(), found.ino()) == identity;
        if !is_same || !lacks(&found) || found.uid() != rustix::process::geteuid().as_raw() {
            return Ok(false);
        }
        // Of what was opened and looked at, whatever has its path by now.
        let opened = format!("/proc/self/fd/{}", folder.as_raw_fd());
        fs::set_permissions(opened, Permissions::from_mode((found.mode() | mode & OWNERS) & 0o7777))?;
        Ok(true)
    }
}
