//! Reads the index of a work tree: the files that it tracks, and by their inodes, if it belongs to the tree.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::read;

/// Maximum number of bytes read from the start of an index.
const MAX_BYTES: u64 = 64 << 10;
/// Maximum size of an index to read completely, in bytes.
const MAX_WHOLE_BYTES: u64 = 4 << 20;
/// Maximum number of entries to compare.
const MAX_ENTRIES: usize = 100;
/// Size of the header, in bytes.
const HEADER: usize = 12;
/// Size of an entry before its path, in bytes, with object names of 20 bytes.
const ENTRY: usize = 62;
/// Size of the checksum at the end, in bytes.
const CHECKSUM: usize = 20;
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

/// Returns `true` if `is_fine` returns `true` for the path of each tracked file, relative to the tree. An index
/// that is too large, damaged, of another version, or needs an extension such as another index is not fine.
pub(crate) fn tracked(index: &Path, is_fine: impl FnMut(&Path) -> bool) -> bool {
    all_tracked(index, is_fine).unwrap_or(false)
}

fn all_tracked(index: &Path, mut is_fine: impl FnMut(&Path) -> bool) -> Option<bool> {
    let found = index.symlink_metadata().ok()?;
    if !found.is_file() || found.len() > MAX_WHOLE_BYTES {
        return None;
    }
    let mut file = BufReader::new(read::open(index).ok()?.take(MAX_WHOLE_BYTES));
    let mut header = [0; HEADER];
    file.read_exact(&mut header).ok()?;
    if !header.starts_with(b"DIRC") || !matches!(word(&header, 4), Some(2 | 3)) {
        return None;
    }
    for _ in 0..word(&header, 8)? {
        let mut head = [0; ENTRY];
        file.read_exact(&mut head).ok()?;
        let flags = u16::from_be_bytes([head[ENTRY - 2], head[ENTRY - 1]]);
        let mut begin = ENTRY;
        if flags & IS_EXTENDED != 0 {
            file.read_exact(&mut [0; 2]).ok()?;
            begin += 2;
        }
        let mut path = Vec::new();
        file.read_until(0, &mut path).ok()?;
        if path.pop() != Some(0) || path.is_empty() {
            return None;
        }
        if !is_fine(Path::new(OsStr::from_bytes(&path))) {
            return Some(false);
        }
        // One of the zero bytes after the path has been read.
        let padding = (begin + path.len()) / 8 * 8 + 8 - (begin + path.len()) - 1;
        file.read_exact(&mut [0; 8][..padding]).ok()?;
    }
    let mut rest = Vec::new();
    file.read_to_end(&mut rest).ok()?;
    Some(are_optional(&rest))
}

/// Returns `true` if git may ignore all extensions between the entries and the checksum of an index. Those whose
/// names begin with a small letter change the meaning of the entries.
fn are_optional(mut rest: &[u8]) -> bool {
    while rest.len() > CHECKSUM {
        let Some(length) = word(rest, 4).and_then(|length| usize::try_from(length).ok()) else {
            return false;
        };
        let Some(next) = rest.get(8..).and_then(|rest| rest.get(length..)) else { return false };
        if !rest[0].is_ascii_uppercase() {
            return false;
        }
        rest = next;
    }
    rest.len() == CHECKSUM
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
