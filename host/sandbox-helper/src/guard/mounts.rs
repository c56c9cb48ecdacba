//! The mounts in this process's namespace, to which the command's rules apply.
//!
//! A directory can be reachable although it lies in none of them: if it was open before the sandbox was
//! built, or belongs to a process in another mount namespace. Its path looks like one in this namespace, but
//! no cover applies to it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, StatxFlags, StatxTimestamp, makedev, openat, statx};
use scorpiox_sys::linux::reach::Identity;
use scorpiox_sys::linux::sys;

/// Known mounts, by the kernel's mount IDs, which are unique among existing mounts.
#[derive(Debug, Default)]
pub(super) struct Mounts(RefCell<BTreeSet<u64>>);

impl Mounts {
    /// Returns `true` if a directory lies in one of them.
    pub(super) fn hold(&self, folder: &About) -> io::Result<bool> {
        let Some(mount) = folder.mount else { return Ok(false) };
        if self.0.borrow().contains(&mount) {
            return Ok(true);
        }
        // This is the first check, or a process with the same tree has mounted something since.
        let now = mounts()?;
        let is_held = now.contains(&mount);
        self.0.replace(now);
        Ok(is_held)
    }
}

fn mounts() -> io::Result<BTreeSet<u64>> {
    let text = std::fs::read("/proc/self/mountinfo")?;
    let number = |line: &[u8]| {
        let word = line.split(|byte| *byte == b' ').next()?;
        std::str::from_utf8(word).ok()?.parse().ok()
    };
    Ok(text.split(|byte| *byte == b'\n').filter_map(number).collect())
}

/// Attributes of a file or directory, as far as the kernel reports them.
pub(super) struct About {
    mount: Option<u64>,
    /// Device and inode number.
    pub identity: Identity,
    /// Creation time.
    pub born: Option<Duration>,
    /// Generation of its inode number, if the file system keeps no creation time.
    pub generation: Option<u64>,
    /// Time of the last change of its attributes, content or name.
    pub changed: Option<Duration>,
    pub is_folder: bool,
    pub is_socket: bool,
}

impl About {
    pub(super) fn folder(folder: &OwnedFd) -> io::Result<Self> {
        Self::find(folder, OsStr::new(""), AtFlags::EMPTY_PATH)
    }

    pub(super) fn unique(&self) -> Unique {
        (self.identity, self.born, self.generation)
    }

    /// Inspects the entry with this name in a directory; follows no link.
    pub(super) fn entry(folder: &OwnedFd, name: &OsStr) -> io::Result<Self> {
        Self::find(folder, name, AtFlags::empty())
    }

    fn find(folder: &OwnedFd, name: &OsStr, flags: AtFlags) -> io::Result<Self> {
        let asked =
            StatxFlags::BTIME | StatxFlags::CTIME | StatxFlags::MNT_ID | StatxFlags::INO | StatxFlags::TYPE;
        let found = statx(folder, name, flags | AtFlags::SYMLINK_NOFOLLOW, asked)?;
        let kind = FileType::from_raw_mode(found.stx_mode.into());
        let is_told = |what| StatxFlags::from_bits_retain(found.stx_mask).contains(what);
        let born = is_told(StatxFlags::BTIME).then(|| time(&found.stx_btime));
        let may_open = kind.is_dir() || kind.is_file();
        let generation = if born.is_none() && may_open { generation(folder, name) } else { None };
        Ok(Self {
            mount: is_told(StatxFlags::MNT_ID).then_some(found.stx_mnt_id),
            identity: (makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino),
            born,
            generation,
            changed: is_told(StatxFlags::CTIME).then(|| time(&found.stx_ctime)),
            is_folder: kind.is_dir(),
            is_socket: kind.is_socket(),
        })
    }
}

/// Identity of a file or directory that no later one with the same inode number has. File systems that give neither a
/// creation time nor a generation (FUSE, NFS, 9p) can give it again.
pub(super) type Unique = (Identity, Option<Duration>, Option<u64>);

/// Returns the generation of the file or directory with this name, or of the open one if the name is empty. Returns
/// `None` if it cannot be read, or has none.
fn generation(folder: &OwnedFd, name: &OsStr) -> Option<u64> {
    let name = if name.is_empty() { OsStr::new(".") } else { name };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty()).ok()?;
    sys::generation(file.as_fd())
}

fn time(stamp: &StatxTimestamp) -> Duration {
    Duration::new(stamp.tv_sec.try_into().unwrap_or(0), stamp.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_lies_in_a_mount_of_here() {
        let here = About::folder(&std::fs::File::open("/").expect("a folder").into()).expect("known");
        let mounts = Mounts::default();
        assert!(mounts.hold(&here).expect("known"));
        assert!(mounts.hold(&here).expect("known"), "also the second time");
        let nowhere = About { mount: Some(u64::MAX), ..here };
        assert!(!mounts.hold(&nowhere).expect("known"));
        assert!(!mounts.hold(&About { mount: None, ..nowhere }).expect("known"));
    }

    #[test]
    fn a_folder_is_told_by_the_same_from_itself_and_from_above() {
        let folder = tempfile::tempdir().expect("a folder");
        let above = std::fs::File::open(folder.path().parent().expect("one above")).expect("a folder").into();
        let entry = About::entry(&above, folder.path().file_name().expect("a name")).expect("known");
        let opened = std::fs::File::open(folder.path()).expect("a folder").into();
        let itself = About::folder(&opened).expect("known");
        assert_eq!(entry.unique(), itself.unique());
        let name = folder.path().file_name().expect("a name");
        assert_eq!(generation(&above, name), generation(&opened, OsStr::new("")));
        assert!(entry.is_folder);
        assert_eq!(itself.identity, super::super::identity_of(&opened).expect("known"));
    }
}
