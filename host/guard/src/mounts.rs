//! The mounts that this process sees, which are those that the command's rules are about.
//!
//! A folder can be reached that lies in none of them: one that was open before the sandbox was
//! made, or one of a process in another mount namespace. Its path looks like one of here, and
//! no cover is on it there.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{AtFlags, Statx, StatxFlags, statx};

/// What is known of them. Their numbers are those that the kernel gives, of which no two mounts that
/// are there have the same one.
#[derive(Debug, Default)]
pub(super) struct Mounts(RefCell<BTreeSet<u64>>);

impl Mounts {
    /// Whether a folder lies in one of them.
    pub(super) fn hold(&self, folder: &About) -> io::Result<bool> {
        let Some(mount) = folder.mount else { return Ok(false) };
        if self.0.borrow().contains(&mount) {
            return Ok(true);
        }
        // The first one that is asked about; or something was mounted since, as somebody may who has
        // the same tree.
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

/// What the kernel knows of a folder, as far as it says so.
pub(super) struct About {
    mount: Option<u64>,
    /// When it was made.
    pub born: Option<Duration>,
}

impl About {
    pub(super) fn folder(folder: &OwnedFd) -> io::Result<Self> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
        let found = statx(folder, "", flags, StatxFlags::BTIME | StatxFlags::MNT_ID)?;
        let is_told = |what| StatxFlags::from_bits_retain(found.stx_mask).contains(what);
        Ok(Self {
            mount: is_told(StatxFlags::MNT_ID).then_some(found.stx_mnt_id),
            born: is_told(StatxFlags::BTIME).then(|| born(&found)),
        })
    }
}

fn born(found: &Statx) -> Duration {
    Duration::new(found.stx_btime.tv_sec.try_into().unwrap_or(0), found.stx_btime.tv_nsec)
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
        let nowhere = About { mount: Some(u64::MAX), born: None };
        assert!(!mounts.hold(&nowhere).expect("known"));
        assert!(!mounts.hold(&About { mount: None, born: None }).expect("known"));
    }
}
