//! Removes from an index whatever git could find out by itself.

use std::borrow::Cow;
use std::time::Instant;

use sha1::Digest;

use super::Whole;
use super::judge::{Judged, examine};
use crate::object_hash::ObjectHash;

/// Extensions that say more about tracked files than their entries: where others are, folders, and resolved conflicts.
const KEPT: [&[u8; 4]; 3] = [b"link", b"sdir", b"REUC"];

/// Returns a plain index without its caches: the trees of folders, which git takes over into the next commit, and the
/// files that have not changed or are not tracked, which it does not look at again. A program that writes an index by
/// itself could hide changes by them. Fails with the judgement on an index that is not plain.
pub(crate) fn stripped(bytes: &[u8], hash: ObjectHash, until: Instant) -> Result<Cow<'_, [u8]>, Judged> {
    let Whole { end, parts, .. } = examine(bytes, hash, until)?;
    if parts.iter().all(|(name, _)| KEPT.contains(&name)) {
        return Ok(Cow::Borrowed(bytes));
    }
    let (entries, checksum) = (bytes.get(..end), bytes.len().checked_sub(hash.size()));
    let checksum = checksum.and_then(|start| bytes.get(start..));
    let (Some(entries), Some(checksum)) = (entries, checksum) else { return Err(Judged::Unreadable) };
    let mut kept = entries.to_vec();
    for (_, part) in parts.iter().filter(|(name, _)| KEPT.contains(&name)) {
        kept.extend_from_slice(part);
    }
    // Git leaves it out if its user asks for that (`index.skipHash`).
    if checksum.iter().all(|byte| *byte == 0) {
        kept.extend_from_slice(checksum);
    } else {
        match hash {
            ObjectHash::Sha1 => kept.extend_from_slice(&sha1::Sha1::digest(&kept)),
            ObjectHash::Sha256 => kept.extend_from_slice(&sha2::Sha256::digest(&kept)),
        }
    }
    Ok(Cow::Owned(kept))
}
