//! Uncompressed tar archives whose bytes depend only on their content.
//!
//! Invariants:
//! - Times, owners and the format are fixed, and nothing is compressed, so that no compressor's version
//!   matters.
//! - An archive is read in memory. Links, folders, devices and extensions of the format are errors, and so is
//!   a name that the caller's check refuses.
//! - [`check_form`] accepts only the bytes that writing the same content gives. Two readers can then not
//!   interpret an archive differently.

use std::io::{self, Write};

use tar::{Archive, Builder, EntryType, Header};

/// Modification time of every entry: 2000-01-01. Some readers treat a time of zero as an error.
const TIME: u64 = 946_684_800;
/// Maximum length of an entry name in an error message.
const MAX_SHOWN: usize = 60;

/// Beginnings of compressed files, and their kinds.
const COMPRESSED: [(&[u8], &str); 5] = [
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\0", "xz"),
    (b"BZh", "bzip2"),
];

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Path, with `/` as the separator.
    pub name: String,
    /// Permission bits.
    pub mode: u32,
    /// Content.
    pub bytes: &'a [u8],
}

/// Reason why bytes are not an acceptable archive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum ArchiveError {
    #[error("the pack is damaged or cut off: {0}; fetch it again")]
    Damaged(String),
    #[error(
        "the pack is compressed ({0}); packs are plain tar archives: unpack it, or pack the folder with `scorpiox-code`"
    )]
    Compressed(&'static str),
    #[error("the pack has more than {0} files")]
    Many(usize),
    #[error("the pack has the entry {name:?}, which {fault}; it was not made by `scorpiox-code`")]
    Name { name: String, fault: String },
    #[error("the pack has the entry {name:?}, which is {what}; packs have nothing but files")]
    Kind { name: String, what: &'static str },
    #[error(
        "the pack is not what `scorpiox-code` writes of its files: it differs at byte {at}; pack it again"
    )]
    OtherForm { at: usize },
}

/// Returns at most `most` entries. `check` returns the fault of a name.
pub fn entries(
    bytes: &[u8],
    most: usize,
    check: impl Fn(&str) -> Result<(), String>,
) -> Result<Vec<Entry<'_>>, ArchiveError> {
    if let Some((_, name)) = COMPRESSED.iter().find(|(begin, _)| bytes.starts_with(begin)) {
        return Err(ArchiveError::Compressed(name));
    }
    let damaged = |error: io::Error| ArchiveError::Damaged(shown(&error.to_string()));
    let mut archive = Archive::new(bytes);
    let mut found = Vec::new();
    // Raw mode yields extensions such as long names as entries instead of applying them.
    for entry in archive.entries().map_err(damaged)?.raw(true) {
        let entry = entry.map_err(damaged)?;
        if found.len() == most {
            return Err(ArchiveError::Many(most));
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if let Some(what) = other_kind(entry.header().entry_type()) {
            return Err(ArchiveError::Kind { name: shown(&name), what });
        }
        check(&name).map_err(|fault| ArchiveError::Name { name: shown(&name), fault })?;
        let (from, size) = (entry.raw_file_position(), entry.size());
        let range = usize::try_from(from).ok().zip(usize::try_from(from.saturating_add(size)).ok());
        let content = range.and_then(|(from, to)| bytes.get(from..to));
        let cut_off = || ArchiveError::Damaged(format!("{:?} is not whole", shown(&name)));
        let content = content.ok_or_else(cut_off)?;
        let mode = entry.header().mode().map_err(damaged)?;
        found.push(Entry { name, mode, bytes: content });
    }
    Ok(found)
}

/// Returns the kind of an entry that is not a file.
fn other_kind(kind: EntryType) -> Option<&'static str> {
    match kind {
        EntryType::Regular => None,
        EntryType::Symlink | EntryType::Link => Some("a link"),
        EntryType::Directory => Some("a folder"),
        EntryType::Char | EntryType::Block | EntryType::Fifo => Some("a device"),
        _ => Some("an extension of the archive"),
    }
}

/// Writes the entries in their order. A name that the format cannot hold is an error.
pub fn write<'a>(out: impl Write, entries: impl IntoIterator<Item = Entry<'a>>) -> io::Result<()> {
    let mut archive = Builder::new(out);
    for Entry { name, mode, bytes } in entries {
        let mut header = Header::new_ustar();
        header.set_path(name)?;
        header.set_entry_type(EntryType::Regular);
        header.set_mode(mode);
        header.set_mtime(TIME);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        archive.append(&header, bytes)?;
    }
    archive.into_inner()?.flush()
}

/// Checks that `write` gives exactly these bytes.
pub fn check_form(
    bytes: &[u8],
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), ArchiveError> {
    let mut same = Same { expected: bytes, at: 0 };
    let written = write(&mut same);
    if written.is_ok() && same.at == bytes.len() {
        return Ok(());
    }
    Err(ArchiveError::OtherForm { at: same.at })
}

fn shown(name: &str) -> String {
    name.chars().take(MAX_SHOWN).collect()
}

/// Writer that compares its input with expected bytes, and fails at the first difference.
struct Same<'a> {
    expected: &'a [u8],
    at: usize,
}

impl Write for Same<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let rest = &self.expected[self.at..];
        let equal = rest.iter().zip(bytes).take_while(|(one, other)| one == other).count();
        self.at += equal;
        if equal == bytes.len() { Ok(equal) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_archive_is_not_taken_for_a_damaged_one() {
        let refused = |bytes: &[u8]| entries(bytes, 1, |_| Ok(())).expect_err("an error").to_string();
        assert!(refused(b"\x1f\x8b\x08\0").starts_with("the pack is compressed (gzip); packs are plain tar"));
        assert!(refused(b"PK\x03\x04 and more").starts_with("the pack is compressed (zip);"));
        assert!(refused(b"neither of them").starts_with("the pack is damaged or cut off: "));
    }
}
