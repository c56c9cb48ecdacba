//! Source of an installed skill.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use scorpiox_plugin::{Fingerprint, read_file};
use serde::{Deserialize, Serialize};

/// Name of the file in the skill's folder. Hidden files are no part of a skill, so neither a pack nor a
/// repository can bring it.
pub(crate) const ORIGIN: &str = ".origin.json";

/// Maximum size of this file.
const MAX_BYTES: u64 = 16 * 1024;

/// Source of a skill, and its content when it was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillOrigin {
    /// Absolute path of the folder or pack.
    pub source: PathBuf,
    /// Fingerprint of the installed files.
    pub content: Fingerprint,
}

impl SkillOrigin {
    /// Reads the source of an installed skill. Returns `None` if it was not added by this program.
    pub fn read(skill: &Path) -> Result<Option<Self>> {
        let path = skill.join(ORIGIN);
        match read_file(&path, MAX_BYTES) {
            Ok(text) => serde_json::from_slice(&text).with_context(|| path.display().to_string()).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| path.display().to_string()),
        }
    }

    /// Serializes the source for its file.
    pub(crate) fn text(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
