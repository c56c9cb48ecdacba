//! Reads an index as git does: the versions 2 to 4, with object names of SHA-1 and SHA-256.

pub(crate) mod judge;
mod stripped;
#[cfg(unix)]
mod tracked;

pub(crate) use stripped::stripped;
#[cfg(unix)]
pub(crate) use tracked::{knows, tracked};

use crate::object_hash::ObjectHash;

/// Maximum length of a path, in bytes, as systems have it. An index with a longer one counts as unreadable.
const MAX_PATH: usize = 4096;
/// Size of the header, in bytes: signature, version, and number of entries.
const HEADER: usize = 12;
/// Size of the metadata at the beginning of an entry, in bytes, before the object name and the flags.
const METADATA: usize = 40;
/// Size of the flags, in bytes.
const FLAGS: usize = 2;
/// Flag of an entry that has two more bytes of flags.
const IS_EXTENDED: u16 = 0x4000;
/// Bits of the flags with the length of a path. If all are set, a zero byte ends the path.
const LENGTH: u16 = 0x0fff;
/// Size of a number, in bytes.
const WORD: usize = 4;
/// Size of the header of an extension, in bytes: name and length.
const EXTENSION: usize = 8;

/// Entry of an index.
struct Entry<'a> {
    /// Times, numbers and size of the file, as git found them.
    #[cfg_attr(not(unix), allow(dead_code, reason = "compared with files there only"))]
    metadata: &'a [u8],
    /// Empty if the entry replaces one of a shared index.
    path: &'a [u8],
}

/// An index that was read to its end.
struct Whole<'a> {
    /// Position after the last entry.
    end: usize,
    /// `true` if each tracked file has an entry: none are in a shared index, or stand for folders.
    #[cfg_attr(not(unix), allow(dead_code, reason = "tracked files are listed there only"))]
    has_all_entries: bool,
    /// Name of each extension after the entries, and all of its bytes.
    parts: Vec<([u8; 4], &'a [u8])>,
}

/// Entries of an index, one after the other.
struct Entries<'a> {
    /// The index without its checksum.
    body: &'a [u8],
    /// Position of the next entry.
    at: usize,
    /// Number of all entries, and of those that were not read.
    count: u32,
    left: u32,
    /// Size of an object name, in bytes.
    hash: usize,
    /// `true` if paths leave out what they share with their predecessors.
    is_compressed: bool,
    /// Path of the last entry.
    path: Vec<u8>,
    /// Positions of the entries, and `true` for each path that shares nothing.
    starts: Vec<(usize, bool)>,
}

impl<'a> Entries<'a> {
    /// Returns the entries of a complete index. Returns `None` if the header is not that of an index.
    fn of(bytes: &'a [u8], hash: ObjectHash) -> Option<Self> {
        Self::of_start(bytes.get(..bytes.len().checked_sub(hash.size())?)?, hash)
    }

    /// Returns the entries at the start of an index, of which the end is missing.
    fn of_start(body: &'a [u8], hash: ObjectHash) -> Option<Self> {
        let mut rest = body.strip_prefix(b"DIRC")?;
        let (version, count) = (take_word(&mut rest)?, take_word(&mut rest)?);
        let is_compressed = match version {
            2 | 3 => false,
            4 => true,
            _ => return None,
        };
        let (hash, path, starts) = (hash.size(), Vec::new(), Vec::new());
        Some(Self { body, at: HEADER, count, left: count, hash, is_compressed, path, starts })
    }

    /// Returns `true` if entries are left.
    fn has_next(&self) -> bool {
        self.left > 0
    }

    /// Returns the next entry. Returns `None` if git would reject the index.
    fn next(&mut self) -> Option<Entry<'_>> {
        self.left = self.left.checked_sub(1)?;
        let entry = self.body.get(self.at..)?;
        let mut begin = METADATA + self.hash + FLAGS;
        let flags = entry.get(begin - FLAGS..begin)?;
        let flags = u16::from_be_bytes([flags[0], flags[1]]);
        if flags & IS_EXTENDED != 0 {
            begin += FLAGS;
        }
        let mut rest = entry.get(begin..)?;
        let shared = if self.is_compressed {
            let before = rest.len();
            let removed = take_varint(&mut rest)?;
            begin += before - rest.len();
            self.path.len().checked_sub(removed)?
        } else {
            0
        };
        self.starts.push((self.at, shared == 0));
        self.path.truncate(shared);
        // The flags have the length of the whole path.
        let length = match flags & LENGTH {
            LENGTH => rest.iter().position(|byte| *byte == 0)?,
            length => usize::from(length).checked_sub(shared)?,
        };
        let added = rest.get(..length)?;
        // Git takes the path for a text that ends with a zero byte.
        if added.contains(&0) {
            return None;
        }
        self.path.extend_from_slice(added);
        if self.path.len() > MAX_PATH {
            return None;
        }
        // Without compression, entries begin at multiples of eight bytes, with at least one zero byte between them.
        self.at += if self.is_compressed { begin + length + 1 } else { (begin + length) / 8 * 8 + 8 };
        if self.at > self.body.len() {
            return None;
        }
        Some(Entry { metadata: entry.get(..METADATA)?, path: &self.path })
    }

    /// Checks the extensions after the entries, all of which were read. Two extensions say where the entries and the
    /// extensions begin, for several threads: they must agree with that. Returns `None` if git would reject the index, or
    /// could read it in another way.
    fn end(self) -> Option<Whole<'a>> {
        let mut rest = self.body.get(self.at..)?;
        let (mut is_last_end, mut has_all_entries, mut parts) = (false, true, Vec::new());
        while !rest.is_empty() {
            let (name, length) = (rest.get(..4)?, usize::try_from(word(rest.get(4..)?)?).ok()?);
            let content = rest.get(EXTENSION..)?.get(..length)?;
            match name {
                b"EOIE" if usize::try_from(word(content)?).ok()? != self.at => return None,
                b"IEOT" => self.blocks(content)?,
                b"link" | b"sdir" => has_all_entries = false,
                b"EOIE" | b"FSMN" | b"REUC" | b"TREE" | b"UNTR" => {}
                // Git would look for the end of the entries in the content of another one.
                _ => return None,
            }
            // Git looks for this one at the end of the file, whatever it is a part of there.
            is_last_end = name == b"EOIE" && length == WORD + self.hash;
            parts.push((*rest.first_chunk()?, rest.get(..EXTENSION + length)?));
            rest = rest.get(EXTENSION + length..)?;
        }
        let end = self.body.len().checked_sub(EXTENSION + WORD + self.hash);
        let seems_end = end.and_then(|end| self.body.get(end..end + 4)) == Some(b"EOIE");
        (seems_end == is_last_end).then_some(Whole { end: self.at, has_all_entries, parts })
    }

    /// Checks the positions from which several threads read entries: each with a number of entries.
    fn blocks(&self, content: &[u8]) -> Option<()> {
        let mut rest = content;
        let _version = take_word(&mut rest)?;
        let mut first = 0_u32;
        while !rest.is_empty() {
            let (at, number) = (usize::try_from(take_word(&mut rest)?).ok()?, take_word(&mut rest)?);
            let start = self.starts.get(usize::try_from(first).ok()?)?;
            if *start != (at, true) {
                return None;
            }
            first = first.checked_add(number)?;
        }
        (first == self.count).then_some(())
    }
}

fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().copied().map(u32::from_be_bytes)
}

fn take_word(bytes: &mut &[u8]) -> Option<u32> {
    let word = word(bytes)?;
    *bytes = bytes.get(4..)?;
    Some(word)
}

/// Takes a number of seven bits a byte, as git writes it: each further byte begins one higher.
fn take_varint(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0_usize;
    for position in 0.. {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if position > 0 {
            number = number.checked_add(1)?;
        }
        number = number.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(number)
}
