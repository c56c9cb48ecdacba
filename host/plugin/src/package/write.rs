//! Writing of packs.

use std::collections::BTreeSet;
use std::io::{self, Write};

use crate::archive::{self, Entry};
use crate::package::names::{MAX_ENTRIES, NameFault, check_name, is_for_people, is_reserved};
use crate::package::{MAX_TEXT_BYTES, Package, VersionError, version_of};
use crate::{MANIFEST, MAX_COMPONENT_BYTES, Manifest, ManifestError};

/// Mode of every entry.
const MODE: u32 = 0o644;

/// Reason why a plugin cannot be packed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum WriteError {
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Version(#[from] VersionError),
    #[error("the name {name:?} {fault}; give the file another one")]
    Name { name: String, fault: NameFault },
    #[error(
        "{name:?} is nothing that a pack has beside plugin.toml and the component: wit/, README*, LICENSE*"
    )]
    Foreign { name: String },
    #[error("{one:?} and {other:?} are one name on some systems; rename one of them")]
    Twice { one: String, other: String },
    #[error("it has {count} files; the limit is {MAX_ENTRIES}")]
    Many { count: usize },
    #[error("the component has {bytes} bytes; the limit is {MAX_COMPONENT_BYTES}")]
    Component { bytes: usize },
    #[error("the files beside the component have {bytes} bytes; the limit is {MAX_TEXT_BYTES}")]
    Text { bytes: usize },
}

impl Package {
    /// Creates a pack from the text of `plugin.toml`, the component, and documentation files.
    pub fn new(
        manifest_text: String,
        component: Vec<u8>,
        mut files: Vec<(String, Vec<u8>)>,
    ) -> Result<Self, WriteError> {
        let manifest = Manifest::parse(&manifest_text)?;
        let version = version_of(&manifest)?;
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        check_files(&manifest, &files)?;
        if component.len() as u64 > MAX_COMPONENT_BYTES {
            return Err(WriteError::Component { bytes: component.len() });
        }
        let bytes = files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() + manifest_text.len();
        if bytes as u64 > MAX_TEXT_BYTES {
            return Err(WriteError::Text { bytes });
        }
        Ok(Self { manifest_text, manifest, version, component, files })
    }

    /// Returns the bytes of the pack, which depend only on its content.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.component.len() + 64 * 1024);
        self.write(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes the pack; the bytes depend only on its content.
    pub(crate) fn write(&self, out: impl Write) -> io::Result<()> {
        let entry = |name, bytes| Entry { name, mode: MODE, bytes };
        let first = [
            entry(MANIFEST.to_owned(), self.manifest_text.as_bytes()),
            entry(self.manifest.component.clone(), &self.component),
        ];
        let others = self.files.iter().map(|(name, bytes)| entry(name.clone(), bytes.as_slice()));
        archive::write(out, first.into_iter().chain(others))
    }
}

fn check_files(manifest: &Manifest, files: &[(String, Vec<u8>)]) -> Result<(), WriteError> {
    let count = files.len() + 2;
    if count > MAX_ENTRIES {
        return Err(WriteError::Many { count });
    }
    let component = &manifest.component;
    let named =
        |name: &str| check_name(name).map_err(|fault| WriteError::Name { name: name.to_owned(), fault });
    named(component)?;
    if component.eq_ignore_ascii_case(MANIFEST) {
        return Err(WriteError::Twice { one: MANIFEST.to_owned(), other: component.clone() });
    }
    let mut seen = BTreeSet::new();
    for (name, _) in files {
        named(name)?;
        if is_reserved(name, component) {
            return Err(WriteError::Twice { one: component.clone(), other: name.clone() });
        }
        if !is_for_people(name) {
            return Err(WriteError::Foreign { name: name.clone() });
        }
        if !seen.insert(name.to_ascii_lowercase()) {
            let same = |other: &&(String, Vec<u8>)| other.0.eq_ignore_ascii_case(name);
            let one = files.iter().find(same).map_or_else(|| name.clone(), |(one, _)| one.clone());
            return Err(WriteError::Twice { one, other: name.clone() });
        }
    }
    Ok(())
}
