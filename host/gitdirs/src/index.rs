//! Git's index, as far as it knows the files of a work tree by their numbers.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::read;

/// Most bytes that are read, from the beginning.
const MAX_BYTES: u64 = 64 << 10;
/// Most entries that are compared.
const MAX_ENTRIES: usize = 100;
/// Bytes before the first entry.
const HEADER: usize = 12;
/// Bytes of an entry before its path, with names of objects of 20 bytes.
const ENTRY: usize = 62;
/// The flag of an entry with two more bytes of flags.
const IS_EXTENDED: u16 = 0x4000;

/// Reports whether an index was written for this tree: one of its first entries has the number, the size and the times of
/// the file that is there and nowhere else. A file that is moved there, or gets another name, has another time of its last
/// change of state (`ctime`), which nobody can set.
pub(crate) fn knows(index: &Path, tree: &Path) -> bool {
    let Some(text) = read::text(index, MAX_BYTES) else { return false };
    let Some(mut rest) = text.bytes.strip_prefix(b"DIRC").and_then(|rest| rest.get(HEADER - 4..)) else {
        return false;
    };
    // In a later version paths are parts of those before them.
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
        // Right in the tree: what lies in a folder of it comes with that folder from anywhere, unchanged.
        if !name.contains(&b'/') {
            let found = tree.join(OsStr::from_bytes(name)).symlink_metadata();
            if found.is_ok_and(|found| found.is_file() && found.nlink() == 1 && is_noted(head, &found)) {
                return true;
            }
        }
        // Entries begin at multiples of eight bytes, with at least one byte of zero between.
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
