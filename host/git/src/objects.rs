//! Looks up objects in a store of git, without reading them.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Size of the name of an object, in bytes. Repositories with SHA-256 are not supported.
const ID: usize = 20;
/// Maximum number of packs to search.
const MAX_PACKS: usize = 1000;
/// Start of the index of a pack, in version 2, and size of its table of counts.
const MAGIC: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const COUNTS: u64 = 256 * 4;

/// Name of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id([u8; ID]);

impl Id {
    /// Parses the hexadecimal name at the start of a line.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let text = line.get(..2 * ID).filter(|_| line.get(2 * ID).is_none_or(u8::is_ascii_whitespace))?;
        let mut id = [0; ID];
        for (byte, pair) in id.iter_mut().zip(text.chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(id))
    }
}

/// Returns `true` if a store has an object, as a file or in a pack.
pub(crate) fn holds(store: &Path, id: &Id) -> bool {
    let [first, rest @ ..] = id.0;
    let name = rest.iter().fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    });
    if store.join(format!("{first:02x}")).join(name).symlink_metadata().is_ok_and(|found| found.is_file()) {
        return true;
    }
    let packs = fs::read_dir(store.join("pack")).into_iter().flatten().flatten();
    let indexes =
        packs.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "idx"));
    indexes
        .take(MAX_PACKS)
        .any(|index| File::open(index).and_then(|file| is_listed(file, id)).unwrap_or(false))
}

/// Returns `true` if the index of a pack lists an object: by a binary search among the sorted names.
fn is_listed(mut index: File, Id(id): &Id) -> io::Result<bool> {
    let mut magic = [0; MAGIC.len()];
    index.read_exact(&mut magic)?;
    if magic != MAGIC {
        return Ok(false);
    }
    let begin = MAGIC.len() as u64;
    // The table has, for each first byte, the number of names up to it.
    let mut count = |first: u8| -> io::Result<u64> {
        let mut number = [0; 4];
        index.seek(SeekFrom::Start(begin + u64::from(first) * 4))?;
        index.read_exact(&mut number)?;
        Ok(u64::from(u32::from_be_bytes(number)))
    };
    let mut low = if id[0] == 0 { 0 } else { count(id[0] - 1)? };
    let mut high = count(id[0])?;
    while low < high {
        let middle = low + (high - low) / 2;
        let mut name = [0; ID];
        index.seek(SeekFrom::Start(begin + COUNTS + middle * ID as u64))?;
        index.read_exact(&mut name)?;
        match name.cmp(id) {
            std::cmp::Ordering::Equal => return Ok(true),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_hexadecimal_and_ends_with_the_line_or_a_blank() {
        let name = "0a".repeat(ID);
        assert_eq!(Id::parse(name.as_bytes()), Some(Id([10; ID])));
        assert_eq!(Id::parse(format!("{name} refs/heads/main").as_bytes()), Some(Id([10; ID])));
        for other in [
            "",
            "ref: refs/heads/main",
            "# pack-refs",
            &"0a".repeat(32),
            &"zz".repeat(ID),
            &"0a".repeat(ID - 1),
        ] {
            assert_eq!(Id::parse(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_damaged_index_lists_nothing() {
        let store = tempfile::tempdir().unwrap();
        fs::create_dir(store.path().join("pack")).unwrap();
        let mut whole = MAGIC.to_vec();
        whole.extend([0, 0, 0, 9].repeat(256));
        for bytes in [&b""[..], b"PACK", &MAGIC, &whole] {
            fs::write(store.path().join("pack/x.idx"), bytes).unwrap();
            assert!(!holds(store.path(), &Id([10; ID])));
        }
    }
}
