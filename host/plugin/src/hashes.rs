//! Hashes that identify a plugin to users. Each has its own type; a [`Fingerprint`] is the hash of a file's
//! bytes.

use std::fmt;
use std::fmt::Write as _;
use std::path::Path;

use crate::decisions::Pins;
use crate::fingerprint::Fingerprint;

/// Hash of a complete plugin: its manifest, component and definitions. It is the same on every machine.
/// Policies list it, and audit records contain it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PluginHash(Fingerprint);

/// Hash of an approval: the plugin, the targets of links on this machine, and the use of unprefixed names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ApprovalHash(Fingerprint);

/// All hashes under which users can know a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hashes {
    /// Hash of the complete plugin.
    pub plugin: PluginHash,
    /// Hash of the component's bytes.
    pub component: Fingerprint,
    /// Hash of the approval.
    pub approval: ApprovalHash,
    /// Hash of the package or module that the plugin came in, if any.
    pub file: Option<Fingerprint>,
}

impl PluginHash {
    /// Hashes the fingerprints of a manifest, a component and definitions.
    pub fn of(manifest: &Fingerprint, component: &Fingerprint, definitions: &Fingerprint) -> Self {
        let parts = [manifest.as_str(), component.as_str(), definitions.as_str()];
        Self(Fingerprint::of(parts.join(" ").as_bytes()))
    }

    /// Returns the 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl ApprovalHash {
    /// Hashes everything that an approval covers. A directory's path is included only if links make it differ
    /// from its name, because plain paths (such as the home directory) differ between machines.
    pub fn of(plugin: &PluginHash, folders: &Pins, home: Option<&Path>, plain_names: bool) -> Self {
        let mut elsewhere = String::new();
        for (folder, place) in led_elsewhere(folders, home) {
            // Writing to a string cannot fail.
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

    /// Returns the 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl Hashes {
    /// Returns the hashes other than the plugin's: component, approval and file. An empty string stands for
    /// no file.
    pub fn others(&self) -> [&str; 3] {
        let file = self.file.as_ref().map_or("", Fingerprint::as_str);
        [self.component.as_str(), self.approval.as_str(), file]
    }

    /// Returns the kind of hash that `digits` is, or `None` if it is none of them.
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

/// Lists directories whose resolved path differs from their name because of links.
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
