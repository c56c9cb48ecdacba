//! Mounts that may show a part of another mount.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// File systems that are stored on one device only, which no other mount type shows.
const OWN: [&[u8]; 8] = [b"ext2", b"ext3", b"ext4", b"f2fs", b"tmpfs", b"vfat", b"xfs", b"zfs"];
/// Maximum number of attempts to read the list while it changes.
const TRIES: u32 = 10;

/// Last list that was read. The kernel reports changes of it.
static LIST: Mutex<Option<List>> = Mutex::new(None);

#[derive(Debug)]
struct List {
    file: File,
    /// Mount IDs that are the only mount of a complete file system of a known kind.
    once: BTreeSet<u64>,
}

/// Returns `true` if another mount, in any namespace, may show a part of this one, or more than it.
pub(crate) fn is_seen_twice(mount: u64) -> bool {
    let mut list = LIST.lock();
    let is_known = list.as_ref().is_some_and(|list| !has_changed(&list.file));
    if !is_known {
        *list = read();
    }
    !list.as_ref().is_some_and(|list| list.once.contains(&mount))
}

fn has_changed(file: &File) -> bool {
    let mut asked = [PollFd::new(file, PollFlags::PRI)];
    // The kernel reports a change as an error condition, too.
    !matches!(poll(&mut asked, Some(&Timespec::default())), Ok(0))
}

fn read() -> Option<List> {
    let mut file = File::open("/proc/self/mountinfo").ok()?;
    for _ in 0..TRIES {
        let mut text = Vec::new();
        file.rewind().ok()?;
        file.read_to_end(&mut text).ok()?;
        if !has_changed(&file) {
            return Some(List { once: once(&text), file });
        }
    }
    None
}

/// Line of the mount list.
struct Mount<'a> {
    number: u64,
    device: &'a [u8],
    /// Directory of the file system that the mount shows. Unless it is the root, mounts outside of this list may
    /// show other parts.
    root: &'a [u8],
    kind: &'a [u8],
}

fn once(text: &[u8]) -> BTreeSet<u64> {
    let mounts: Vec<_> = text.split(|byte| *byte == b'\n').filter_map(parse).collect();
    let mut of_device: BTreeMap<&[u8], usize> = BTreeMap::new();
    for mount in &mounts {
        *of_device.entry(mount.device).or_default() += 1;
    }
    let is_alone = |mount: &&Mount<'_>| {
        of_device.get(mount.device) == Some(&1) && mount.root == b"/" && OWN.contains(&mount.kind)
    };
    mounts.iter().filter(is_alone).map(|mount| mount.number).collect()
}

fn parse(line: &[u8]) -> Option<Mount<'_>> {
    let mut words = line.split(|byte| *byte == b' ');
    let number = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
    let (device, root) = (words.nth(1)?, words.next()?);
    // A hyphen ends the optional fields.
    let kind = words.skip_while(|word| *word != b"-").nth(1)?;
    Some(Mount { number, device, root, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_counts_that_alone_shows_a_whole_file_system() {
        let list = b"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
            21 20 8:2 / /home rw shared:1 - ext4 /dev/sda2 rw\n\
            22 20 8:2 /ann/work /srv/work rw - ext4 /dev/sda2 rw\n\
            23 20 8:3 / /data rw - xfs /dev/sda3 rw\n\
            24 20 8:3 / /w/data rw - xfs /dev/sda3 rw\n\
            25 20 8:4 /volumes/a /a rw - ext4 /dev/sda4 rw\n\
            26 20 0:40 / /merged rw master:2 - overlay overlay rw\n\
            27 20 0:41 / /tmp rw shared:3 master:4 - tmpfs tmpfs rw\n\
            no line\n";
        assert_eq!(once(list), BTreeSet::from([20, 27]));
        assert!(once(b"").is_empty());
    }

    #[test]
    fn a_mount_that_nobody_knows_counts_as_seen_twice() {
        assert!(is_seen_twice(u64::MAX));
        assert!(LIST.lock().is_some());
    }
}
