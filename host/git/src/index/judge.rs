//! Judges the paths of an index.
//!
//! Git verifies a path when it reads a tree, but not when it reads an index, and creates the file of each entry when its
//! user restores files. A program that writes an index by itself decides where.

use std::path::Path;
use std::time::Instant;

use super::{Entries, Whole};
use crate::object_hash::ObjectHash;
use crate::read;

/// Maximum size of an index, in bytes. A larger one counts as unreadable.
pub(crate) const MAX_BYTES: u64 = 128 << 20;
/// Maximum number of bytes of paths to judge: a compressed index repeats long ones in a few bytes each. An index with more
/// counts as unreadable.
const MAX_PATH_BYTES: usize = 256 << 20;
/// Number of bytes of paths between two looks at the clock.
const ASK_BYTES: usize = 1 << 20;
/// Judgement on an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Judged {
    /// Git would create each path in the work tree.
    Plain,
    /// A path that git refuses in trees.
    Names(Vec<u8>),
    /// The file is no index, or has a part that is unknown here.
    Unreadable,
}

/// Judges the paths of an index, or of a part of a split one, in a repository with this hash function.
pub(crate) fn judge(path: &Path, hash: Option<ObjectHash>, until: Instant) -> Judged {
    match read::text_itself(path, MAX_BYTES) {
        Ok(Some(text)) if !text.is_cut => judge_bytes(&text.bytes, hash, until),
        // It was removed in the meantime, or is a link, which commands cannot create there.
        Ok(None) => Judged::Plain,
        Ok(Some(_)) | Err(_) => Judged::Unreadable,
    }
}

/// Judges the paths of an index with this content.
pub(crate) fn judge_bytes(bytes: &[u8], hash: Option<ObjectHash>, until: Instant) -> Judged {
    let Some(hash) = hash else { return Judged::Unreadable };
    examine(bytes, hash, until).map_or_else(|judged| judged, |_| Judged::Plain)
}

/// Reads an index to its end. Fails with the judgement on one that is not plain. Git reads it with the hash function of
/// the repository, and other paths with another one.
pub(super) fn examine(bytes: &[u8], hash: ObjectHash, until: Instant) -> Result<Whole<'_>, Judged> {
    let mut refused = None;
    let mut look = |path: &[u8]| {
        // The entries of a split index that replace others have no path.
        if refused.is_none() && !path.is_empty() && is_refused(path) {
            refused = Some(path.to_owned());
        }
    };
    let whole = each_path(bytes, hash, until, &mut look);
    match refused {
        Some(path) => Err(Judged::Names(path)),
        None => whole.ok_or(Judged::Unreadable),
    }
}

/// Returns `true` if git refuses a path in a tree: it leads out of the work tree, or into a git directory on some file
/// system.
pub(crate) fn is_refused(path: &[u8]) -> bool {
    // A folder that is not checked out ends with a slash.
    let path = path.strip_suffix(b"/").unwrap_or(path);
    path.split(|byte| *byte == b'/').any(|part| {
        matches!(part, b"" | b"." | b"..") || part.split(|byte| *byte == b'\\').any(is_git_directory)
    })
}

/// Returns `true` if a file system could take a name for `.git`: macOS ignores some characters, Windows what follows, and
/// both ignore case.
fn is_git_directory(name: &[u8]) -> bool {
    // Most names end here.
    let is_other = |first: &u8| first.is_ascii() && !b".gG".contains(first);
    if name.first().is_none_or(is_other) {
        return false;
    }
    // So do most of the others.
    let is_plain = |byte: &u8| byte.is_ascii() && *byte != b':';
    if name.iter().all(is_plain) {
        let end = name.iter().rposition(|byte| !b" .".contains(byte)).map_or(0, |last| last + 1);
        let name = name.get(..end).unwrap_or_default();
        return name.eq_ignore_ascii_case(b".git") || name.eq_ignore_ascii_case(b"git~1");
    }
    let text = String::from_utf8_lossy(name);
    let is_ignored = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let text: String = text.chars().filter(|c| !is_ignored(c)).collect();
    let text = text.split(':').next().unwrap_or_default().trim_end_matches([' ', '.']);
    text.eq_ignore_ascii_case(".git") || text.eq_ignore_ascii_case("git~1")
}

/// Calls `look` with each path. Returns `None` if git would reject the index, or could read it in another way.
fn each_path<'a>(
    bytes: &'a [u8],
    hash: ObjectHash,
    until: Instant,
    look: &mut dyn FnMut(&[u8]),
) -> Option<Whole<'a>> {
    let mut entries = Entries::of(bytes, hash)?;
    let (mut left, mut unasked) = (MAX_PATH_BYTES, 0_usize);
    while entries.has_next() {
        let entry = entries.next()?;
        left = left.checked_sub(entry.path.len())?;
        unasked += entry.path.len();
        look(entry.path);
        if unasked > ASK_BYTES {
            unasked = 0;
            if Instant::now() >= until {
                return None;
            }
        }
    }
    entries.end()
}
