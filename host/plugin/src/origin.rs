//! Source of an installed plugin.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::name::PluginName;
use crate::plugin_folder::{Installed, read_file};

/// Name of the file that records the source, next to `plugin.toml`.
pub const ORIGIN: &str = "origin.json";

/// Maximum size of this file, which holds an address, a signature and some hashes.
const MAX_BYTES: u64 = 16 * 1024;

/// Source of a plugin, and its identity there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Name that the author gave the plugin.
    pub name: PluginName,
    /// Version. Empty if the manifest has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Path or URL.
    pub address: String,
    /// SHA-256 of the file that the plugin came in: a package, or a module or component that was added alone. For a
    /// folder, that of its module, if it has no component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Fingerprint>,
    /// Signature of that file, in minisign format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Choices of the user for it.
    #[serde(default, skip_serializing_if = "Chosen::is_empty")]
    pub chosen: Chosen,
    /// Fingerprint of the installed `plugin.toml`.
    pub manifest: Fingerprint,
    /// Fingerprint of the component.
    pub component: Fingerprint,
}

/// Choices of the user for a plugin, which hold for its other versions, too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chosen {
    /// Path of the WIT package that describes the tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wit: Option<PathBuf>,
    /// Maximum number of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tools: Option<usize>,
}

impl Chosen {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Origin {
    /// Reads the source of an installed plugin. Returns `None` if its files have changed since.
    pub(crate) fn read(installed: &Installed, component: &Fingerprint) -> io::Result<Option<Self>> {
        let is_of = |origin: &Self| {
            origin.manifest == installed.manifest_fingerprint && origin.component == *component
        };
        Ok(Self::read_any(installed)?.filter(is_of))
    }

    /// Reads the source, without comparing it to the installed files.
    pub(crate) fn read_any(installed: &Installed) -> io::Result<Option<Self>> {
        match read_file(&installed.component.with_file_name(ORIGIN), MAX_BYTES) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Serializes the source for its file.
    pub fn text(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Returns the author's name for the plugin, if it differs from the installed name.
    pub fn other_name(&self, installed: &PluginName) -> Option<&str> {
        (self.name != *installed).then(|| self.name.as_str())
    }
}
