//! Reading of packs, which may come from untrusted sources.

use crate::archive::{ArchiveError, check_form, entries};
use crate::package::names::{MAX_ENTRIES, check_name};
use crate::package::{MAX_PACKAGE_BYTES, Package, WriteError};
use crate::{MANIFEST, MAX_MANIFEST_BYTES, Manifest, ManifestError};

/// Reason why a file is not a valid pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum PackError {
    #[error("it is no pack of a plugin; `scorpiox-code plugin pack` makes one")]
    Foreign,
    #[error("the pack has {bytes} bytes; the limit is {MAX_PACKAGE_BYTES}")]
    Large { bytes: usize },
    #[error(transparent)]
    Archive(#[from] ArchiveError),
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
        let check = |name: &str| check_name(name).map_err(|fault| fault.to_string());
        let mut entries =
            entries(bytes, MAX_ENTRIES, check)?.into_iter().map(|entry| (entry.name, entry.bytes));
        let (Some((first, manifest)), Some((second, component))) = (entries.next(), entries.next()) else {
            return Err(ArchiveError::Damaged("it has no component".to_owned()).into());
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
        check_form(bytes, |out| package.write(out))?;
        Ok(package)
    }
}
