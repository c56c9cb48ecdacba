//! Plugins packed into a single file.
//!
//! A pack is an uncompressed tar archive: `plugin.toml`, then the component that it names, then documentation
//! (`wit/`, `README*`, `LICENSE*`). [`Package`] writes and reads a pack, [`collect`] selects the files of an
//! author's folder that belong in it, and [`Index`] is a team's list of packs.
//!
//! Invariants:
//! - The same content gives the same bytes on every machine: see [`archive`](crate::archive). Modes and the
//!   order are fixed too.
//! - A pack is accepted only if writing its content again gives identical bytes. It therefore has no links,
//!   no duplicate entries, no trailing data, and nothing that two readers could interpret differently.
//! - A pack is read in memory, within limits. This crate writes nothing from it to disk.

mod collect;
mod index;
mod names;
mod read;
mod write;

pub use collect::{CollectError, Collected, collect};
pub use index::{Entry, Index, IndexError, MAX_INDEX_BYTES};
pub use names::{MAX_ENTRIES, MAX_ENTRY_NAME, NameFault, check_name, is_for_people};
pub use read::PackError;
pub use write::WriteError;

use crate::{MANIFEST, MAX_COMPONENT_BYTES, Manifest};
use semver::Version;

/// Maximum total size of the files other than the component: the manifest and documentation.
pub const MAX_TEXT_BYTES: u64 = 4 * 1024 * 1024;

/// Maximum overhead of the archive: a header and padding for each entry, and two empty blocks.
const MAX_FRAME_BYTES: u64 = (MAX_ENTRIES as u64 + 1) * 2 * 512;

/// Maximum size of a pack: the largest component, the other files, and the archive's overhead.
pub const MAX_PACKAGE_BYTES: u64 = MAX_COMPONENT_BYTES + MAX_TEXT_BYTES + MAX_FRAME_BYTES;

/// File name suffix of packs.
pub const PACKAGE_SUFFIX: &str = ".plugin";

/// Content of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    manifest_text: String,
    manifest: Manifest,
    version: Version,
    component: Vec<u8>,
    /// Documentation files, sorted by name.
    files: Vec<(String, Vec<u8>)>,
}

impl Package {
    /// Returns the parsed manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the version.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// Iterates over the documentation files, with the size of each.
    pub fn files(&self) -> impl Iterator<Item = (&str, usize)> {
        self.files.iter().map(|(name, bytes)| (name.as_str(), bytes.len()))
    }

    /// Returns the text of `plugin.toml` and the component, as installed.
    pub fn into_parts(self) -> (String, Vec<u8>) {
        (self.manifest_text, self.component)
    }

    /// Returns the file name of the pack.
    pub fn file_name(&self) -> String {
        format!("{}-{}{PACKAGE_SUFFIX}", self.manifest.name, self.version)
    }

    /// Returns `true` if the first bytes are those of a pack. The rest is not checked.
    pub fn is_one(bytes: &[u8]) -> bool {
        let begins = |at: usize, with: &[u8]| bytes.get(at..at + with.len()) == Some(with);
        begins(0, MANIFEST.as_bytes()) && bytes.get(MANIFEST.len()) == Some(&0) && begins(257, b"ustar")
    }
}

/// Returns the version of a manifest. A pack needs a semantic version.
pub fn version_of(manifest: &Manifest) -> Result<Version, VersionError> {
    Version::parse(&manifest.version).map_err(|_| VersionError(manifest.version.clone()))
}

/// A version that is not a semantic version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "plugin.toml has version = {0:?}; write a version with three numbers, such as version = \"1.2.0\" (semver.org)"
)]
pub struct VersionError(String);

#[cfg(test)]
mod tests;
