//! Plugins as one file.
//!
//! A pack is a tar archive without compression: `plugin.toml`, then the component that it names, then what helps people
//! who look at it (`wit/`, `README*`, `LICENSE*`). [`Package`] writes one and reads one, [`collect`] finds in an author's
//! folder what belongs into it, and [`Index`] is a list of packs that a team hosts.
//!
//! Invariants:
//! - The same content gives the same bytes, on each machine: times, owners, modes and the order are fixed, and nothing is
//!   compressed, so that no compressor's version matters.
//! - A pack that is read is, byte for byte, what would be written of its content. So it has no links, no second entry of
//!   a name, nothing behind its end, and nothing that two readers could understand differently.
//! - It is read in memory, within bounds; nothing of it is written to the disk here.

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

use scorpiox_plugin::{MANIFEST, MAX_COMPONENT_BYTES, Manifest};
use semver::Version;

/// Most bytes of all that is in a pack beside the component: texts that people read.
pub const MAX_TEXT_BYTES: u64 = 4 * 1024 * 1024;

/// What archives add: a header and the rest of a block for each entry, and two empty blocks.
const MAX_FRAME_BYTES: u64 = (MAX_ENTRIES as u64 + 1) * 2 * 512;

/// Largest pack: the largest component, with texts for people.
pub const MAX_PACKAGE_BYTES: u64 = MAX_COMPONENT_BYTES + MAX_TEXT_BYTES + MAX_FRAME_BYTES;

/// How names of packs end.
pub const PACKAGE_SUFFIX: &str = ".plugin";

/// A plugin as one file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    manifest_text: String,
    manifest: Manifest,
    version: Version,
    component: Vec<u8>,
    /// What is for people, in the order of names.
    files: Vec<(String, Vec<u8>)>,
}

impl Package {
    /// What `plugin.toml` says.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Its version.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// The other files, each with its size.
    pub fn files(&self) -> impl Iterator<Item = (&str, usize)> {
        self.files.iter().map(|(name, bytes)| (name.as_str(), bytes.len()))
    }

    /// `plugin.toml` and the component, as they are installed.
    pub fn into_parts(self) -> (String, Vec<u8>) {
        (self.manifest_text, self.component)
    }

    /// How its file is called.
    pub fn file_name(&self) -> String {
        format!("{}-{}{PACKAGE_SUFFIX}", self.manifest.name, self.version)
    }

    /// Whether a file says that it is a pack, by how it begins.
    pub fn is_one(bytes: &[u8]) -> bool {
        let begins = |at: usize, with: &[u8]| bytes.get(at..at + with.len()) == Some(with);
        begins(0, MANIFEST.as_bytes()) && bytes.get(MANIFEST.len()) == Some(&0) && begins(257, b"ustar")
    }
}

/// The version of a manifest as packs have it, or what is wrong with it.
pub fn version_of(manifest: &Manifest) -> Result<Version, VersionError> {
    Version::parse(&manifest.version).map_err(|_| VersionError(manifest.version.clone()))
}

/// A version that cannot be compared with others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "plugin.toml has version = {0:?}; write a version with three numbers, such as version = \"1.2.0\" (semver.org)"
)]
pub struct VersionError(String);

#[cfg(test)]
mod tests;
