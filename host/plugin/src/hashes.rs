//! The hashes by which people name a plugin, each a type of its own: a [`Fingerprint`] is that of a file's bytes.

use std::fmt;
use std::fmt::Write as _;
use std::path::Path;

use crate::decisions::Pins;
use crate::fingerprint::Fingerprint;

/// The hash of a whole plugin: of its manifest, its component and its definitions, the same on each machine. Policies
/// list it, and lines of the audit have it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PluginHash(Fingerprint);

/// The hash of what a person approves: the plugin, where links lead on this machine, and whether its names are plain.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ApprovalHash(Fingerprint);

/// All hashes that somebody can have seen of one plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hashes {
    /// Of all of it.
    pub plugin: PluginHash,
    /// Of its component's bytes.
    pub component: Fingerprint,
    /// Of the approval.
    pub approval: ApprovalHash,
    /// Of the file that it came in, if it came in one.
    pub file: Option<Fingerprint>,
}

impl PluginHash {
    /// Hashes the fingerprints of a manifest, a component and definitions.
    pub fn of(manifest: &Fingerprint, component: &Fingerprint, definitions: &Fingerprint) -> Self {
        let parts = [manifest.as_str(), component.as_str(), definitions.as_str()];
        Self(Fingerprint::of(parts.join(" ").as_bytes()))
    }

    /// Returns its 64 digits.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl ApprovalHash {
    /// Hashes what is approved together. A folder that links lead away from its name is part of it; where folders are
    /// otherwise is another thing on each machine.
    pub fn of(plugin: &PluginHash, folders: &Pins, home: Option<&Path>, plain_names: bool) -> Self {
        let mut elsewhere = String::new();
        for (folder, place) in led_elsewhere(folders, home) {
            // Writing to a string does not fail.
            let _ = write!(elsewhere, " {folder:?} {}", place.display());
        }
        if plain_names {
            elsewhere.push_str(" plain names");
        }
        if elsewhere.is_empty() {
            return Self(plugin.0.clone());
        }
        Self(Fingerprint::of(format!("{plugin}{elsewhere}").as_bytes()))
    }

    /// Returns its 64 digits.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl Hashes {
    /// Returns those beside the plugin's own, without their names; an empty text stands for none.
    pub fn others(&self) -> [&str; 3] {
        let file = self.file.as_ref().map_or("", Fingerprint::as_str);
        [self.component.as_str(), self.approval.as_str(), file]
    }

    /// Says which of them these digits are; nothing if they are none.
    pub fn kind(&self, digits: &str) -> Option<&'static str> {
        let [component, approval, file] = self.others();
        match digits {
            _ if digits == self.plugin.as_str() => Some("the plugin"),
            _ if digits == component => Some("its component"),
            _ if digits == approval => Some("its approval on this machine"),
            _ if digits == file && !file.is_empty() => Some("the file that it came in"),
            _ => None,
        }
    }
}

/// Lists folders that are not where they are named, since links lead there.
pub fn led_elsewhere<'a>(
    folders: &'a Pins,
    home: Option<&'a Path>,
) -> impl Iterator<Item = (&'a str, &'a Path)> {
    let named = move |folder: &str, place: &Path| match (folder.strip_prefix("~/"), home) {
        (Some(inside), Some(home)) => place == home.join(inside),
        _ => place == Path::new(folder),
    };
    let all = folders.iter().map(|(folder, place)| (folder.as_str(), place.as_path()));
    all.filter(move |(folder, place)| !named(folder, place))
}

impl fmt::Display for PluginHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ApprovalHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(folders: &Pins, plain_names: bool) -> Hashes {
        let [manifest, component, definitions] = [b"m", b"c", b"d"].map(|bytes| Fingerprint::of(bytes));
        let plugin = PluginHash::of(&manifest, &component, &definitions);
        let approval = ApprovalHash::of(&plugin, folders, Some(Path::new("/h")), plain_names);
        Hashes { plugin, component, approval, file: None }
    }

    #[test]
    fn each_hash_of_a_plugin_is_known_by_its_kind() {
        let plain = hashes(&Pins::new(), true);
        let kinds = [plain.plugin.as_str(), plain.component.as_str(), plain.approval.as_str(), ""];
        assert_eq!(
            kinds.map(|digits| plain.kind(digits)),
            [Some("the plugin"), Some("its component"), Some("its approval on this machine"), None]
        );
        let packed = Hashes { file: Some(Fingerprint::of(b"pack")), ..plain };
        assert_eq!(packed.kind(packed.others()[2]), Some("the file that it came in"));
    }

    #[test]
    fn an_approval_is_the_plugin_unless_a_link_leads_elsewhere_or_names_are_plain() {
        let at = |place: &str| Pins::from([("~/notes".to_owned(), place.into())]);
        let named = hashes(&at("/h/notes"), false);
        assert_eq!(named.approval.as_str(), named.plugin.as_str());
        for other in [hashes(&at("/srv"), false), hashes(&at("/h/notes"), true)] {
            assert_eq!(other.plugin, named.plugin);
            assert_ne!(other.approval, named.approval);
        }
    }
}
