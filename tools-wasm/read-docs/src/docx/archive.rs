//! Reads the parts of a document from its archive. Sizes in the archive are never trusted.

use std::collections::HashMap;
use std::io::Read as _;

use encoding_rs::{Encoding, UTF_8};
use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};
use scorpiox_tool_kit::Failure;

/// Maximum number of archive entries that are read. A document has dozens, and up to some hundred images.
const MAX_ENTRIES: usize = 20_000;
/// Maximum unpacked size of a part, in bytes. `MAX_ALL` limits the total. The tree of a part takes several
/// times as much memory. A book of 500 pages has about 10 MiB.
const MAX_PART: usize = 16 * 1024 * 1024;
const MAX_ALL: usize = 32 * 1024 * 1024;
/// Signature of encrypted Office files, and of versions before 2007.
const OLD_OFFICE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// An opened archive.
pub(super) struct Archive<'a> {
    files: ZipSliceArchive<&'a [u8]>,
    entries: HashMap<String, Entry>,
    /// Remaining number of bytes that may be unpacked.
    left: usize,
}

#[derive(Clone, Copy)]
struct Entry {
    at: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    is_encrypted: bool,
}

/// A part, and its damage if any.
pub(super) struct Part {
    pub(super) text: String,
    pub(super) flaw: Option<String>,
}

impl<'a> Archive<'a> {
    pub(super) fn open(body: &'a [u8]) -> Result<Self, Failure> {
        if body.starts_with(OLD_OFFICE) {
            return Err(refused(
                "The document is protected by a password, or of a version of Word before 2007. To read it, save it without a password as .docx.",
            ));
        }
        let damaged = |error: rawzip::Error| {
            refused(&format!("The document is damaged: as an archive it cannot be read ({error})."))
        };
        let archive = ZipArchive::from_slice(body).map_err(damaged)?;
        let mut entries = HashMap::new();
        let mut all = archive.entries();
        for _ in 0..MAX_ENTRIES {
            // The entries listed before the damage may be sufficient.
            let Ok(Some(entry)) = all.next_entry() else { break };
            let Ok(name) = entry.file_path().try_normalize() else { continue };
            let name = name.as_ref().to_ascii_lowercase();
            let found = Entry {
                at: entry.wayfinder(),
                method: entry.compression_method(),
                is_encrypted: entry.flags().is_encrypted(),
            };
            entries.entry(name).or_insert(found);
        }
        Ok(Self { files: archive, entries, left: MAX_ALL })
    }

    /// Returns a part by name, or `None` if it does not exist.
    pub(super) fn part(&mut self, name: &str) -> Result<Option<Part>, Failure> {
        let Some(entry) = self.entries.get(&name.to_ascii_lowercase()).copied() else { return Ok(None) };
        if entry.is_encrypted {
            return Err(refused("The document is encrypted. To read it, save it without a password."));
        }
        let damaged = || refused(&format!("The document is damaged: its part {name} cannot be read."));
        let found = self.files.get_entry(entry.at).map_err(|_| damaged())?;
        let limit = MAX_PART.min(self.left);
        let mut bytes = Vec::new();
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let result = match entry.method {
            CompressionMethod::STORE => found.data().take(most).read_to_end(&mut bytes),
            CompressionMethod::DEFLATE => {
                DeflateDecoder::new(found.data()).take(most).read_to_end(&mut bytes)
            }
            _ => {
                return Err(refused(
                    "The document is packed in a way that is not known; save it again as .docx.",
                ));
            }
        };
        let mut flaw =
            result.is_err().then(|| format!("The document is damaged: its part {name} ends early."));
        if bytes.len() > limit {
            bytes.truncate(limit);
            flaw =
                Some(format!("The document is very large; of its part {name} only {limit} bytes were read."));
        }
        self.left = self.left.saturating_sub(bytes.len());
        if bytes.is_empty() && flaw.is_some() {
            return Err(damaged());
        }
        let (encoding, mark) = Encoding::for_bom(&bytes).unwrap_or((UTF_8, 0));
        let text = encoding.decode_without_bom_handling(bytes.get(mark..).unwrap_or_default()).0.into_owned();
        Ok(Some(Part { text, flaw }))
    }
}

pub(super) fn refused(text: &str) -> Failure {
    Failure::Failed(text.to_owned())
}
