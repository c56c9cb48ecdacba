//! Removes from an index whatever git could find out by itself.

use std::borrow::Cow;

use sha1::Digest;

use super::{Entries, Extensions};
use crate::object_hash::ObjectHash;

/// Extensions that say more about tracked files than their entries: where others are, folders, and resolved conflicts.
const KEPT: [&[u8; 4]; 3] = [b"link", b"sdir", b"REUC"];

/// Returns an index without its caches: the trees of folders, which git takes over into the next commit, and the files
/// that have not changed or are not tracked, which it does not look at again. A program that writes an index by itself
/// could hide changes by them. Returns `None` if git would reject the index.
pub(crate) fn stripped(bytes: &[u8], hash: ObjectHash) -> Option<Cow<'_, [u8]>> {
    let mut entries = Entries::of(bytes, hash)?;
    while entries.has_next() {
        entries.next()?;
    }
    let end = entries.at;
    let Extensions { parts, .. } = entries.extensions()?;
    if parts.iter().all(|(name, _)| KEPT.contains(&name)) {
        return Some(Cow::Borrowed(bytes));
    }
    let mut kept = bytes.get(..end)?.to_vec();
    for (_, part) in parts.iter().filter(|(name, _)| KEPT.contains(&name)) {
        kept.extend_from_slice(part);
    }
    let checksum = bytes.get(bytes.len() - hash.size()..)?;
    // Git leaves it out if its user asks for that (`index.skipHash`).
    if checksum.iter().all(|byte| *byte == 0) {
        kept.extend_from_slice(checksum);
    } else {
        match hash {
            ObjectHash::Sha1 => kept.extend_from_slice(&sha1::Sha1::digest(&kept)),
            ObjectHash::Sha256 => kept.extend_from_slice(&sha2::Sha256::digest(&kept)),
        }
    }
    Some(Cow::Owned(kept))
}
