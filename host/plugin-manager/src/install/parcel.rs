//! A file for publication in a registry.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use scorpiox_component_abi::anatomy::Anatomy;
use scorpiox_plugin::Manifest;
use scorpiox_plugin::package::{MAX_PACKAGE_BYTES, Package};

use crate::install::source::{bounded, signature_beside};

/// A pack or a component, ready for upload.
pub struct Parcel {
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Content of the signature file next to it.
    pub signature: Option<String>,
    /// Parsed content.
    pub content: Content,
}

/// Content of a parcel.
pub enum Content {
    /// A pack, with its manifest.
    Pack(Box<Manifest>),
    /// A component or a core module.
    Component(Box<Anatomy>),
}

impl Parcel {
    /// Reads a file and its signature, if there is one.
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
            Content::Component(Box::new(
                scorpiox_runtime::compile::inspect(&bytes, || false).with_context(shown)?,
            ))
        };
        Ok(Self { bytes, signature: signature_beside(path)?, content })
    }
}
