//! Where an installed plugin came from.

use std::io;

use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::name::PluginName;
use crate::plugin_folder::{Installed, read_file};

/// What the file about it is called, beside `plugin.toml`.
pub const ORIGIN: &str = "origin.json";

/// Largest such file: an address, a signature and some hashes.
const MAX_BYTES: u64 = 16 * 1024;

/// Where a plugin came from, and what it was there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Its author's name for it.
    pub name: PluginName,
    /// Its version; empty if it says none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// A path or an address.
    pub address: String,
    /// The SHA-256 of the file that it was, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Fingerprint>,
    /// The signature of that file, as minisign writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Of the `plugin.toml` that was installed from it.
    pub manifest: Fingerprint,
    /// Of the component.
    pub component: Fingerprint,
}

impl Origin {
    /// What is known of an installed plugin; nothing if its files are others by now.
    pub(crate) fn read(installed: &Installed, component: &Fingerprint) -> io::Result<Option<Self>> {
        let is_of = |origin: &Self| {
            origin.manifest == installed.manifest_fingerprint && origin.component == *component
        };
        Ok(Self::read_any(installed)?.filter(is_of))
    }

    /// What is written there, of whatever files it is.
    pub(crate) fn read_any(installed: &Installed) -> io::Result<Option<Self>> {
        match read_file(&installed.component.with_file_name(ORIGIN), MAX_BYTES) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Its text in that file.
    pub fn text(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Its author's name, where it is installed under another one.
    pub fn other_name(&self, installed: &PluginName) -> Option<&str> {
        (self.name != *installed).then(|| self.name.as_str())
    }
}
