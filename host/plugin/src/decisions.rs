//! Approvals and denials of plugins, stored in a single file that is always replaced as a whole.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use scorpiox_fs::home::private;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::asks::{Asks, Limits};
use crate::fingerprint::{Fingerprint, Stamps};
use crate::hashes::{ApprovalHash, Hashes, PluginHash};
use crate::name::PluginName;
use crate::origin::Origin;
use crate::plugin_folder::{owned, read_file};

const VERSION: u32 = 1;
/// Maximum size of the file, enough for some thousand plugins.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// All decisions.
#[derive(Debug, Default)]
pub struct Decisions {
    records: BTreeMap<PluginName, Record>,
}

/// A decision about a plugin.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Time of the decision, in seconds since 1970.
    pub decided_at: u64,
    /// The decision itself.
    pub decision: Decision,
}

impl Record {
    /// Returns `true` if the plugin was approved to use its tool and prompt names without its own name as a
    /// prefix.
    pub fn has_plain_names(&self) -> bool {
        matches!(&self.decision, Decision::Approved(approval) if approval.plain_names)
    }
}

/// Decision about running a plugin.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Decision {
    Approved(Box<Approval>),
    Denied,
}

/// Directories as named in `plugin.toml`, mapped to the path that each resolved to when it was approved.
pub type Pins = BTreeMap<String, PathBuf>;

/// An approval: the granted capabilities, and the fingerprints of the files that it covers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// Fingerprint of `plugin.toml`.
    pub manifest: Fingerprint,
    /// Fingerprint of the component.
    pub component: Fingerprint,
    /// Fingerprint of `tools` and `offers`.
    pub definitions: Fingerprint,
    /// Stamps of both files, taken before they were read. `None` if the files were too recent for reliable
    /// stamps.
    pub stamps: Option<Stamps>,
    /// Granted capabilities.
    pub capabilities: Asks,
    /// Resolved paths of the granted directories, without links.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub folders: Pins,
    /// Resource limits of a call.
    pub limits: Limits,
    /// Signature in minisign format. Each use of the plugin checks again whether its signer is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Source of the plugin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Key of the signer that vouched for the plugin at approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// Tool definitions as sent to clients.
    pub tools: Box<RawValue>,
    /// Prompts and resources as sent to clients. `None` if the plugin has only tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offers: Option<Box<RawValue>>,
    /// `true` if tools and prompts keep the names that the plugin gives them, without its own name as a
    /// prefix, and its resources may have URIs of any scheme.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain_names: bool,
}

impl Approval {
    /// Returns the hashes that identify the plugin to users. `home` is the user's home directory.
    pub fn hashes(&self, home: Option<&Path>) -> Hashes {
        let plugin = PluginHash::of(&self.manifest, &self.component, &self.definitions);
        Hashes {
            approval: ApprovalHash::of(&plugin, &self.folders, home, self.plain_names),
            component: self.component.clone(),
            file: self.origin.as_ref().and_then(|origin| origin.file.clone()),
            plugin,
        }
    }

    /// Returns `true` if the stored definitions match the approved fingerprint.
    pub(crate) fn has_its_definitions(&self) -> bool {
        let offers = self.offers.as_deref().map(RawValue::get);
        Fingerprint::of_definitions(self.tools.get(), offers) == self.definitions
    }
}

/// Decisions that cannot be read or stored. No plugin runs in this case.
#[derive(Debug, thiserror::Error)]
pub enum DecisionsError {
    /// An error of the file system.
    #[error("{path}: {error}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        error: io::Error,
    },
    /// The content is invalid, or other users could have written the file.
    #[error("{path} cannot be used: {why}; correct it, or remove it and approve the plugins again")]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        why: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    plugins: BTreeMap<PluginName, Record>,
}

impl Decisions {
    /// Reads the decisions in the program's directory. Returns no decisions if the file does not exist.
    pub fn read(own_home: &Path) -> Result<Self, DecisionsError> {
        let path = file(own_home);
        let about = match path.symlink_metadata() {
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(DecisionsError::Io { path, error }),
        };
        let damaged = |why: String| DecisionsError::Damaged { path: path.clone(), why };
        // Write access to this file or its directory is enough to decide which plugins run.
        owned(&path, &about, "it").map_err(damaged)?;
        if let Ok(folder) = own_home.metadata() {
            owned(own_home, &folder, "the folder around it").map_err(damaged)?;
        }
        let text =
            read_file(&path, MAX_BYTES).map_err(|error| DecisionsError::Io { path: path.clone(), error })?;
        let records = parse(&text).map_err(damaged)?;
        Ok(Self { records })
    }

    /// Changes the decisions under an exclusive lock.
    pub fn change(own_home: &Path, change: impl FnOnce(&mut Self)) -> Result<(), DecisionsError> {
        let failed = |path: &Path, error: io::Error| DecisionsError::Io { path: path.to_owned(), error };
        fs::create_dir_all(own_home).map_err(|error| failed(own_home, error))?;
        let lock = own_home.join("plugins.lock");
        let held = open(&lock).and_then(|held| held.lock().map(|()| held));
        let held = held.map_err(|error| failed(&lock, error))?;
        let mut decisions = Self::read(own_home)?;
        change(&mut decisions);
        let path = file(own_home);
        decisions.write(own_home, &path).map_err(|error| failed(&path, error))?;
        drop(held);
        Ok(())
    }

    fn write(self, own_home: &Path, path: &Path) -> io::Result<()> {
        let stored = Stored { version: VERSION, plugins: self.records };
        let text = serde_json::to_vec_pretty(&stored)?;
        let new = path.with_extension("json.new");
        let mut written = open(&new)?;
        written.set_len(0)?;
        written.write_all(&text)?;
        written.sync_all()?;
        private::replace(&new, path)?;
        private::sync_folder(own_home)
    }

    /// Returns the decision about a plugin.
    pub fn get(&self, name: &PluginName) -> Option<&Record> {
        self.records.get(name)
    }

    /// Iterates over all decisions.
    pub fn iter(&self) -> impl Iterator<Item = (&PluginName, &Record)> {
        self.records.iter()
    }

    /// Stores a decision.
    pub fn set(&mut self, name: PluginName, record: Record) {
        self.records.insert(name, record);
    }

    /// Removes a decision. Returns `true` if there was one.
    pub fn remove(&mut self, name: &PluginName) -> bool {
        self.records.remove(name).is_some()
    }

    /// Returns the path of the file, for detecting changes to it.
    pub fn path(own_home: &Path) -> PathBuf {
        file(own_home)
    }
}

fn parse(text: &[u8]) -> Result<BTreeMap<PluginName, Record>, String> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let other = |version| format!("it is of version {version}, and this program knows {VERSION}");
    match serde_json::from_slice::<Stored>(text) {
        Ok(stored) if stored.version == VERSION => Ok(stored.plugins),
        Ok(stored) => Err(other(stored.version)),
        // A different version may contain fields that this version does not know.
        Err(error) => Err(match serde_json::from_slice(text) {
            Ok(Versioned { version }) if version != VERSION => other(version),
            _ => error.to_string(),
        }),
    }
}

fn file(own_home: &Path) -> PathBuf {
    own_home.join("plugins.json")
}

/// Opens a file that only its owner can read.
fn open(path: &Path) -> io::Result<File> {
    private::options().create(true).truncate(false).write(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> PluginName {
        PluginName::try_from(name.to_owned()).expect("a name")
    }

    fn approved() -> Record {
        let approval = Approval {
            manifest: Fingerprint::of(b"m"),
            component: Fingerprint::of(b"c"),
            definitions: Fingerprint::of(b"[]"),
            stamps: None,
            capabilities: Asks::default(),
            folders: Pins::new(),
            limits: Limits::default(),
            signature: None,
            origin: None,
            signer: None,
            tools: RawValue::from_string("[]".to_owned()).expect("JSON"),
            offers: None,
            plain_names: false,
        };
        Record { decided_at: 1_700_000_000, decision: Decision::Approved(Box::new(approval)) }
    }

    fn denied() -> Record {
        Record { decided_at: 1_700_000_000, decision: Decision::Denied }
    }

    #[test]
    fn decisions_are_kept() {
        let home = tempfile::tempdir().expect("a folder");
        assert_eq!(Decisions::read(home.path()).expect("none yet").iter().count(), 0);
        Decisions::change(home.path(), |decisions| decisions.set(name("a"), approved())).expect("kept");
        Decisions::change(home.path(), |decisions| decisions.set(name("b"), denied())).expect("kept");
        let decisions = Decisions::read(home.path()).expect("read");
        let decision = |plugin| &decisions.get(&name(plugin)).expect("a record").decision;
        assert!(
            matches!(decision("a"), Decision::Approved(approval) if approval.component == Fingerprint::of(b"c"))
        );
        assert!(matches!(decision("b"), Decision::Denied));
        let mut removed = false;
        Decisions::change(home.path(), |decisions| removed = decisions.remove(&name("a"))).expect("kept");
        assert!(removed && Decisions::read(home.path()).expect("read").get(&name("a")).is_none());
    }

    #[test]
    fn many_who_decide_at_once_lose_nothing() {
        let home = tempfile::tempdir().expect("a folder");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let home = home.path();
                scope.spawn(move || {
                    let name = name(&format!("plugin-{number}"));
                    Decisions::change(home, |decisions| decisions.set(name, approved())).expect("kept");
                });
            }
        });
        assert_eq!(Decisions::read(home.path()).expect("read").iter().count(), 8);
    }

    #[test]
    fn a_damaged_file_is_no_empty_one() {
        let home = tempfile::tempdir().expect("a folder");
        for text in ["", "{", "{\"version\":2,\"plugins\":{}}", "{\"version\":1,\"plugins\":{\"Bash\":{}}}"] {
            fs::write(home.path().join("plugins.json"), text).expect("writes");
            assert!(matches!(Decisions::read(home.path()), Err(DecisionsError::Damaged { .. })), "{text}");
            let changed = Decisions::change(home.path(), |decisions| decisions.set(name("a"), approved()));
            assert!(changed.is_err());
            assert_eq!(fs::read_to_string(home.path().join("plugins.json")).expect("there"), text);
        }
    }
}
