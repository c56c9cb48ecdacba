//! Finds out which files an index tracks, and if it belongs to a work tree.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::{Entries, word};
use crate::object_hash::ObjectHash;
use crate::read;

/// Maximum number of bytes read from the start of an index.
const MAX_BYTES: u64 = 64 << 10;
/// Maximum size of an index to read completely, in bytes.
const MAX_WHOLE_BYTES: u64 = 4 << 20;
/// Maximum number of entries to compare.
const MAX_ENTRIES: usize = 100;

/// Returns `true` if an index was written for this work tree: one of its first entries has the inode, size
/// and times of the corresponding file, and this file has no other name. Moving or hard-linking a file
/// changes its `ctime`, which no program can set.
pub(crate) fn knows(index: &Path, tree: &Path) -> bool {
    has_noted(index, tree).unwrap_or(false)
}

fn has_noted(index: &Path, tree: &Path) -> Option<bool> {
    let text = read::text(index, MAX_BYTES)?;
    let mut entries = Entries::of_start(&text.bytes, ObjectHash::of(index.parent()?)?)?;
    for _ in 0..MAX_ENTRIES {
        if !entries.has_next() {
            break;
        }
        let entry = entries.next()?;
        // Only files directly in the tree count: a folder can be moved from elsewhere without changing the
        // files in it.
        if entry.path.is_empty() || entry.path.contains(&b'/') {
            continue;
        }
        let found = tree.join(OsStr::from_bytes(entry.path)).symlink_metadata();
        if found.is_ok_and(|found| found.is_file() && found.nlink() == 1 && is_noted(entry.metadata, &found))
        {
            return Some(true);
        }
    }
    Some(false)
}

/// Returns `true` if `is_fine` returns `true` for the path of each tracked file, relative to the tree. An index
/// that is too large, damaged, or has entries elsewhere or for whole folders is not fine.
pub(crate) fn tracked(index: &Path, is_fine: impl FnMut(&Path) -> bool) -> bool {
    all_tracked(index, is_fine).unwrap_or(false)
}

fn all_tracked(index: &Path, mut is_fine: impl FnMut(&Path) -> bool) -> Option<bool> {
    let text = read::text_itself(index, MAX_WHOLE_BYTES).ok()?.filter(|text| !text.is_cut)?;
    let (bytes, hash) = (&text.bytes, ObjectHash::of(index.parent()?)?);
    // Nothing is passed on of an index that cannot be read to its end.
    let mut entries = Entries::of(bytes, hash)?;
    while entries.has_next() {
        entries.next()?;
    }
    if !entries.end()?.has_all_entries {
        return Some(false);
    }
    let mut entries = Entries::of(bytes, hash)?;
    while entries.has_next() {
        let entry = entries.next()?;
        if entry.path.is_empty() || !is_fine(Path::new(OsStr::from_bytes(entry.path))) {
            return Some(false);
        }
    }
    Some(true)
}

fn is_noted(entry: &[u8], found: &Metadata) -> bool {
    let low = |number: u64| Some(u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0));
    let at = |position: usize| entry.get(position..).and_then(word);
    found.ino() != 0
        && at(0) == low(found.ctime().cast_unsigned())
        && at(4) == low(found.ctime_nsec().cast_unsigned())
        && at(8) == low(found.mtime().cast_unsigned())
        && at(12) == low(found.mtime_nsec().cast_unsigned())
        && at(20) == low(found.ino())
        && at(36) == low(found.len())
}
