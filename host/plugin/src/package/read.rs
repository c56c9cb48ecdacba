//! Reading of packs, which may come from untrusted sources.

use std::io::{self, Write};

use crate::{MANIFEST, MAX_MANIFEST_BYTES, Manifest, ManifestError};
use tar::{Archive, Entry, EntryType};

use crate::package::names::{MAX_ENTRIES, NameFault, check_name};
use crate::package::{MAX_PACKAGE_BYTES, Package, WriteError};

/// Maximum length of an entry name in an error message.
const MAX_SHOWN: usize = 60;

/// Reason why a file is not a valid pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum PackError {
    #[error("it is no pack of a plugin; `scorpiox-code plugin pack` makes one")]
    Foreign,
    #[error("the pack has {bytes} bytes; the limit is {MAX_PACKAGE_BYTES}")]
    Large { bytes: usize },
    #[error("the pack is damaged or cut off: {0}; fetch it again")]
    Damaged(String),
    #[error("the pack has more than {MAX_ENTRIES} files")]
    Many,
    #[error("the pack has the entry {name:?}, which {fault}; it was not made by `scorpiox-code plugin pack`")]
    Name { name: String, fault: NameFault },
    #[error("the pack has the entry {name:?}, which is {what}; packs have nothing but files")]
    Kind { name: String, what: &'static str },
    #[error(
        "the pack begins with {first:?} and {second:?}; plugin.toml and the component that it names come first"
    )]
    Order { first: String, second: String },
    #[error("plugin.toml of the pack has {0} bytes; the limit is {MAX_MANIFEST_BYTES}")]
    LargeManifest(usize),
    #[error("plugin.toml of the pack is no UTF-8")]
    NoText,
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error("the pack cannot be used: {0}")]
    Content(WriteError),
    #[error(
        "the pack is not what `scorpiox-code plugin pack` writes of its files: it differs at byte {at}; pack the plugin again"
    )]
    OtherForm { at: usize },
}

impl Package {
    /// Reads and checks a complete pack.
    pub fn read(bytes: &[u8]) -> Result<Self, PackError> {
        if !Self::is_one(bytes) {
            return Err(PackError::Foreign);
        }
        if bytes.len() as u64 > MAX_PACKAGE_BYTES {
            return Err(PackError::Large { bytes: bytes.len() });
        }
        let mut entries = entries(bytes)?.into_iter();
        let (Some((first, manifest)), Some((second, component))) = (entries.next(), entries.next()) else {
            return Err(PackError::Damaged("it has no component".to_owned()));
        };
        if manifest.len() > MAX_MANIFEST_BYTES {
            return Err(PackError::LargeManifest(manifest.len()));
        }
        let text = str::from_utf8(manifest).map_err(|_| PackError::NoText)?;
        if first != MANIFEST || second != Manifest::parse(text)?.component {
            return Err(PackError::Order { first, second });
        }
        let files = entries.map(|(name, bytes)| (name, bytes.to_vec())).collect();
        let package = Self::new(text.to_owned(), component.to_vec(), files).map_err(PackError::Content)?;
        package.check_form(bytes)?;
        Ok(package)
    }

    /// Checks that writing the package again gives exactly these bytes.
    fn check_form(&self, bytes: &[u8]) -> Result<(), PackError> {
        let mut same = Same { expected: bytes, at: 0 };
        let other = |at: usize| PackError::OtherForm { at };
        self.write(&mut same).map_err(|_| other(same.at))?;
        if same.at == bytes.len() { Ok(()) } else { Err(other(same.at)) }
    }
}

/// Returns all entries; their content borrows from `bytes`.
fn entries(bytes: &[u8]) -> Result<Vec<(String, &[u8])>, PackError> {
    let damaged = |error: io::Error| PackError::Damaged(shown(&error.to_string()));
    let mut archive = Archive::new(bytes);
    let mut found = Vec::new();
    // Raw mode yields extensions such as long names as entries instead of applying them.
    for entry in archive.entries().map_err(damaged)?.raw(true) {
        let entry = entry.map_err(damaged)?;
        if found.len() == MAX_ENTRIES {
            return Err(PackError::Many);
        }
        let name = name_of(&entry)?;
        let (from, size) = (entry.raw_file_position(), entry.size());
        let range = usize::try_from(from).ok().zip(usize::try_from(from.saturating_add(size)).ok());
        let content = range.and_then(|(from, to)| bytes.get(from..to));
        let cut_off = || PackError::Damaged(format!("{name:?} is not whole"));
        found.push((name.clone(), content.ok_or_else(cut_off)?));
    }
    Ok(found)
}

fn name_of(entry: &Entry<'_, &[u8]>) -> Result<String, PackError> {
    let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
    let what = match entry.header().entry_type() {
        EntryType::Regular => None,
        EntryType::Symlink | EntryType::Link => Some("a link"),
        EntryType::Directory => Some("a folder"),
        EntryType::Char | EntryType::Block | EntryType::Fifo => Some("a device"),
        _ => Some("an extension of the archive"),
    };
    if let Some(what) = what {
        return Err(PackError::Kind { name: shown(&name), what });
    }
    check_name(&name).map_err(|fault| PackError::Name { name: shown(&name), fault })?;
    Ok(name)
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
