//! Reads all paths of an index as git does, and judges them.
//!
//! Git verifies a path when it reads a tree, but not when it reads an index, and creates the file of each entry when its
//! user restores files. A program that writes an index by itself decides where.

use std::path::Path;
use std::time::Instant;

use crate::read;

/// Maximum size of an index, in bytes. A larger one counts as unreadable.
pub(crate) const MAX_BYTES: u64 = 128 << 20;
/// Maximum number of bytes of paths to judge: a compressed index repeats long ones in a few bytes each. An index with more
/// counts as unreadable.
const MAX_PATH_BYTES: usize = 256 << 20;
/// Number of bytes of paths between two looks at the clock.
const ASK_BYTES: usize = 1 << 20;
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
/// Sizes of object names, in bytes: SHA-1 and SHA-256. Which one applies depends on the repository.
const HASHES: [usize; 2] = [20, 32];
/// Size of a number, in bytes.
const WORD: usize = 4;
/// Size of the header of an extension, in bytes: name and length.
const EXTENSION: usize = 8;

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

/// Judges the paths of an index, or of a part of a split one.
pub(crate) fn judge(path: &Path, until: Instant) -> Judged {
    match read::text_itself(path, MAX_BYTES) {
        Ok(Some(text)) if !text.is_cut => judge_bytes(&text.bytes, until),
        // It was removed in the meantime, or is a link, which commands cannot create there.
        Ok(None) => Judged::Plain,
        Ok(Some(_)) | Err(_) => Judged::Unreadable,
    }
}

/// Judges the paths of an index with this content.
pub(crate) fn judge_bytes(bytes: &[u8], until: Instant) -> Judged {
    let mut is_readable = false;
    for hash in HASHES {
        let mut refused = None;
        let mut look = |path: &[u8]| {
            // The entries of a split index that replace others have no path.
            if refused.is_none() && !path.is_empty() && is_refused(path) {
                refused = Some(path.to_owned());
            }
        };
        if each_path(bytes, hash, until, &mut look).is_none() {
            continue;
        }
        is_readable = true;
        if let Some(path) = refused {
            return Judged::Names(path);
        }
    }
    if is_readable { Judged::Plain } else { Judged::Unreadable }
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
fn each_path(bytes: &[u8], hash: usize, until: Instant, look: &mut dyn FnMut(&[u8])) -> Option<()> {
    let body = bytes.get(..bytes.len().checked_sub(hash)?)?;
    let mut rest = body.strip_prefix(b"DIRC")?;
    let (version, count) = (take_word(&mut rest)?, take_word(&mut rest)?);
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut entries = Entries { body, at: HEADER, hash, is_compressed: version == 4, starts: Vec::new() };
    let (mut name, mut left) = (Vec::new(), MAX_PATH_BYTES);
    let mut unasked = 0_usize;
    for _ in 0..count {
        entries.next(&mut name)?;
        left = left.checked_sub(name.len())?;
        unasked += name.len();
        if unasked > ASK_BYTES {
            unasked = 0;
            if Instant::now() >= until {
                return None;
            }
        }
        look(&name);
    }
    extensions(&entries, count)
}

/// Position in the entries of an index.
struct Entries<'a> {
    /// The index without its checksum.
    body: &'a [u8],
    at: usize,
    hash: usize,
    /// `true` if paths leave out what they share with their predecessors.
    is_compressed: bool,
    /// Positions of the entries, and `true` for each path that shares nothing.
    starts: Vec<(usize, bool)>,
}

impl Entries<'_> {
    /// Replaces `name`, the path of the previous entry, by that of the next one.
    fn next(&mut self, name: &mut Vec<u8>) -> Option<()> {
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
            name.len().checked_sub(removed)?
        } else {
            0
        };
        self.starts.push((self.at, shared == 0));
        name.truncate(shared);
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
        name.extend_from_slice(added);
        if name.len() > MAX_PATH {
            return None;
        }
        self.at += if self.is_compressed { begin + length + 1 } else { (begin + length) / 8 * 8 + 8 };
        (self.at <= self.body.len()).then_some(())
    }
}

/// Checks the extensions after the entries. Two of them say where the entries and the extensions begin, for several
/// threads: they must agree with that.
fn extensions(entries: &Entries<'_>, count: u32) -> Option<()> {
    let mut rest = entries.body.get(entries.at..)?;
    let mut is_last_end = false;
    while !rest.is_empty() {
        let (name, length) = (rest.get(..4)?, usize::try_from(word(rest.get(4..)?)?).ok()?);
        let content = rest.get(EXTENSION..)?.get(..length)?;
        match name {
            b"EOIE" if usize::try_from(word(content)?).ok()? != entries.at => return None,
            b"IEOT" => blocks(entries, content, count)?,
            b"EOIE" | b"FSMN" | b"REUC" | b"TREE" | b"UNTR" | b"link" | b"sdir" => {}
            // Git would look for the end of the entries in the content of another one.
            _ => return None,
        }
        // Git looks for this one at the end of the file, whatever it is a part of there.
        is_last_end = name == b"EOIE" && length == WORD + entries.hash;
        rest = rest.get(EXTENSION + length..)?;
    }
    let end = entries.body.len().checked_sub(EXTENSION + WORD + entries.hash);
    let seems_end = end.and_then(|end| entries.body.get(end..end + 4)) == Some(b"EOIE");
    (seems_end == is_last_end).then_some(())
}

/// Checks the positions from which several threads read entries: each with a number of entries.
fn blocks(entries: &Entries<'_>, content: &[u8], count: u32) -> Option<()> {
    let mut rest = content;
    let _version = take_word(&mut rest)?;
    let mut first = 0_u32;
    while !rest.is_empty() {
        let (at, number) = (usize::try_from(take_word(&mut rest)?).ok()?, take_word(&mut rest)?);
        let start = entries.starts.get(usize::try_from(first).ok()?)?;
        if *start != (at, true) {
            return None;
        }
        first = first.checked_add(number)?;
    }
    (first == count).then_some(())
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
