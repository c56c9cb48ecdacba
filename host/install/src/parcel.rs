//! A file that is given to others.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use scorpiox_anatomy::Anatomy;
use scorpiox_package::{MAX_PACKAGE_BYTES, Package};
use scorpiox_plugin::Manifest;

use crate::source::{bounded, signature_beside};

/// A pack or a component, as a registry gets it.
pub struct Parcel {
    /// The file.
    pub bytes: Vec<u8>,
    /// The text of the signature beside it.
    pub signature: Option<String>,
    /// What it is.
    pub content: Content,
}

/// What is in a parcel.
pub enum Content {
    /// A pack, with what it says of itself.
    Pack(Box<Manifest>),
    /// A component or a core module.
    Component(Box<Anatomy>),
}

impl Parcel {
    /// Reads a file and what is beside it.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = bounded(path, MAX_PACKAGE_BYTES)?;
        let shown = || path.display().to_string();
        let content = if Package::is_one(&bytes) {
            Content::Pack(Box::new(Package::read(&bytes).with_context(shown)?.manifest().clone()))
        } else {
            ensure!(
                bytes.starts_with(b"\0asm"),
                "{} is neither a pack nor a component; `scorpiox-code plugin pack FOLDER` makes a pack",
                path.display()
            );
            Content::Component(Box::new(scorpiox_compile::inspect(&bytes, || false).with_context(shown)?))
        };
        Ok(Self { bytes, signature: signature_beside(path)?, content })
    }
}
