//! Checks by inode that a git index belongs to a work tree.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::read;

/// Maximum number of bytes read from the start of an index.
const MAX_BYTES: u64 = 64 << 10;
/// Maximum number of entries to compare.
const MAX_ENTRIES: usize = 100;
/// Size of the header, in bytes.
const HEADER: usize = 12;
/// Size of an entry before its path, in bytes, with object names of 20 bytes.
const ENTRY: usize = 62;
/// Flag of an entry that has two more bytes of flags.
const IS_EXTENDED: u16 = 0x4000;

/// Returns `true` if an index was written for this work tree: one of its first entries has the inode, size
/// and times of the corresponding file, and this file has no other name. Moving or hard-linking a file
/// changes its `ctime`, which no program can set.
pub(crate) fn knows(index: &Path, tree: &Path) -> bool {
    let Some(text) = read::text(index, MAX_BYTES) else { return false };
    let Some(mut rest) = text.bytes.strip_prefix(b"DIRC").and_then(|rest| rest.get(HEADER - 4..)) else {
        return false;
    };
    // Later versions compress paths relative to their predecessors.
    if !matches!(word(&text.bytes, 4), Some(2 | 3)) {
        return false;
    }
    for _ in 0..MAX_ENTRIES {
        let Some(head) = rest.get(..ENTRY) else { return false };
        let flags = u16::from_be_bytes([head[ENTRY - 2], head[ENTRY - 1]]);
        let begin = ENTRY + if flags & IS_EXTENDED == 0 { 0 } else { 2 };
        let Some(length) = rest.get(begin..).and_then(|path| path.iter().position(|byte| *byte == 0)) else {
            return false;
        };
        let name = &rest[begin..begin + length];
        // Only files directly in the tree count: a folder can be moved from elsewhere without changing the
        // files in it.
        if !name.contains(&b'/') {
            let found = tree.join(OsStr::from_bytes(name)).symlink_metadata();
            if found.is_ok_and(|found| found.is_file() && found.nlink() == 1 && is_noted(head, &found)) {
                return true;
            }
        }
        // Entries begin at multiples of eight bytes, with at least one zero byte between them.
        let Some(next) = rest.get((begin + length) / 8 * 8 + 8..) else { return false };
        rest = next;
    }
    false
}

fn is_noted(entry: &[u8], found: &Metadata) -> bool {
    let low = |number: u64| Some(u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0));
    found.ino() != 0
        && word(entry, 0) == low(found.ctime().cast_unsigned())
        && word(entry, 4) == low(found.ctime_nsec().cast_unsigned())
        && word(entry, 8) == low(found.mtime().cast_unsigned())
        && word(entry, 12) == low(found.mtime_nsec().cast_unsigned())
        && word(entry, 20) == low(found.ino())
        && word(entry, 36) == low(found.len())
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
}
