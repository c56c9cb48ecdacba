//! A team's index of packs: a static JSON file.

use crate::{Fingerprint, PluginName};
use scorpiox_text::is_deceptive;
use semver::Version;
use serde::Deserialize;

/// Maximum size of an index, enough for some ten thousand entries.
pub const MAX_INDEX_BYTES: u64 = 8 * 1024 * 1024;

const VERSION: u32 = 1;
const MAX_PLUGINS: usize = 20_000;
const MAX_DESCRIPTION_CHARS: usize = 500;
const MAX_ADDRESS_CHARS: usize = 1000;

/// An index of packs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    entries: Vec<Entry>,
}

/// A version of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Name of the plugin.
    pub name: PluginName,
    /// Version of the plugin.
    #[serde(deserialize_with = "version")]
    pub version: Version,
    /// Purpose of the plugin.
    #[serde(default)]
    pub description: String,
    /// Location of the pack: an `https://` or `oci://` URL, or a path relative to the index.
    pub address: String,
    /// SHA-256 of the pack, in lowercase hexadecimal digits.
    pub sha256: String,
    /// Location of the signature. If absent, the signature is next to the pack.
    #[serde(default)]
    pub signature: Option<String>,
}

/// An index that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the index cannot be used: {0}")]
pub struct IndexError(String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    plugins: Vec<Entry>,
}

fn version<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Version, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong =
        || serde::de::Error::custom(format!("{text:?} is no version with three numbers, such as 1.2.0"));
    Version::parse(&text).map_err(|_| wrong())
}

impl Index {
    /// Parses an index. A single invalid entry makes the whole index invalid.
    pub fn parse(bytes: &[u8]) -> Result<Self, IndexError> {
        if bytes.len() as u64 > MAX_INDEX_BYTES {
            return Err(IndexError(format!("it has {} bytes; the limit is {MAX_INDEX_BYTES}", bytes.len())));
        }
        let written: Written =
            serde_json::from_slice(bytes).map_err(|error| IndexError(error.to_string()))?;
        if written.version != VERSION {
            let said = format!("it is of version {}, and this program knows {VERSION}", written.version);
            return Err(IndexError(said));
        }
        if written.plugins.len() > MAX_PLUGINS {
            return Err(IndexError(format!("it has more than {MAX_PLUGINS} entries")));
        }
        for (at, entry) in written.plugins.iter().enumerate() {
            entry.check().map_err(|why| {
                IndexError(format!("entry {} ({} {}): {why}", at + 1, entry.name, entry.version))
            })?;
        }
        let mut entries = written.plugins;
        entries.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
        let twice =
            entries.windows(2).find(|two| (&two[0].name, &two[0].version) == (&two[1].name, &two[1].version));
        if let Some(two) = twice {
            return Err(IndexError(format!("{} {} is in it twice", two[0].name, two[0].version)));
        }
        Ok(Self { entries })
    }

    /// Returns the newest release of a plugin. Considers prereleases only if the installed version is one.
    pub fn newest(&self, name: &PluginName, installed: Option<&Version>) -> Option<&Entry> {
        let takes_early = installed.is_some_and(|version| !version.pre.is_empty());
        let fits = |entry: &&Entry| entry.name == *name && (takes_early || entry.version.pre.is_empty());
        self.entries.iter().rfind(fits)
    }

    /// Returns the newest release of each plugin whose name or description contains all search words.
    pub fn search<'a>(&'a self, text: &str) -> Vec<&'a Entry> {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let mut found: Vec<&Entry> = Vec::new();
        for entry in &self.entries {
            let about = format!("{} {}", entry.name, entry.description.to_lowercase());
            if !words.iter().all(|word| about.contains(word)) || Some(entry) != self.newest(&entry.name, None)
            {
                continue;
            }
            found.push(entry);
        }
        found
    }
}

impl Entry {
    fn check(&self) -> Result<(), String> {
        if Fingerprint::from_digest(&self.sha256).is_none() {
            return Err(format!("sha256 is {:?}, and not 64 digits in small letters", self.sha256));
        }
        if self.description.chars().count() > MAX_DESCRIPTION_CHARS {
            return Err(format!("its description has more than {MAX_DESCRIPTION_CHARS} characters"));
        }
        for (what, text) in [
            ("description", Some(&self.description)),
            ("address", Some(&self.address)),
            ("signature", self.signature.as_ref()),
        ] {
            let Some(text) = text else { continue };
            if text.chars().any(|c| c == '\n' || is_deceptive(c)) {
                return Err(format!("its {what} has a character that cannot be seen, or a second line"));
            }
        }
        for address in [Some(&self.address), self.signature.as_ref()].into_iter().flatten() {
            if address.is_empty() || address.chars().count() > MAX_ADDRESS_CHARS {
                return Err(format!("an address has 1 to {MAX_ADDRESS_CHARS} characters"));
            }
        }
        Ok(())
    }
}
