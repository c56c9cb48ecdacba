//! A plugin, as rules write it.

use std::fmt;
use std::sync::Arc;

use scorpiox_rules::{Invalid, NamePattern, shorten};

use super::{Signer, Vouched};

/// A plugin by its name, by the hash of all of it, by who signed it, or by several of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginPattern {
    pub(super) name: NamePattern,
    pub(super) signer: Option<Arc<Signer>>,
    /// 64 hexadecimal digits in small letters.
    pub(super) hash: Option<String>,
}

const SHA256: &str = "sha256:";
const SIGNER: &str = "signer:";

impl PluginPattern {
    /// Every plugin.
    pub(crate) const fn any() -> Self {
        Self { name: NamePattern::any(), signer: None, hash: None }
    }

    /// Reads `weather`, `team-*`, `sha256:…`, `signer:acme`, or several of them with `@` between; `signer` finds those
    /// that there are.
    pub(crate) fn parse(
        text: &str,
        signer: impl Fn(&str) -> Result<Arc<Signer>, Invalid>,
    ) -> Result<Self, Invalid> {
        let mut pattern = Self::any();
        for (index, part) in text.split('@').enumerate() {
            if let (Some(digits), None) = (part.strip_prefix(SHA256), &pattern.hash) {
                pattern.hash = Some(hash(digits, text)?);
            } else if let (Some(name), None, None) =
                (part.strip_prefix(SIGNER), &pattern.signer, &pattern.hash)
            {
                pattern.signer = Some(signer(name)?);
            } else if index == 0 && !part.contains(':') {
                pattern.name = NamePattern::parse(part, "plugin")?;
            } else {
                let what = format!("plugin \"{}\" has something behind its name", shorten(text));
                let fix = "write the name alone, or NAME@sha256: and its hash, or NAME@signer: and a name of [plugins.signers]";
                return Err(Invalid::new(what, fix));
            }
        }
        Ok(pattern)
    }

    /// Whether a plugin is meant.
    pub(super) fn covers(&self, plugin: &Vouched<'_>) -> bool {
        self.name.covers(plugin.name)
            && self.hash.as_ref().is_none_or(|own| own == plugin.hash)
            && self.signer.as_ref().is_none_or(|signer| plugin.by.iter().any(|by| by.says_the_same(signer)))
    }

    /// Reports whether a plugin is meant by one of its names and one of its hashes: what is denied is so under whatever name
    /// it was installed, and by whichever of its hashes somebody has seen.
    pub(super) fn covers_any_way(&self, plugin: &Vouched<'_>) -> bool {
        let names = [Some(plugin.name), plugin.original].into_iter().flatten();
        names.into_iter().any(|name| {
            let hashes = std::iter::once(plugin.hash).chain(plugin.also);
            hashes
                .into_iter()
                .any(|hash| self.covers(&Vouched { name, hash, by: plugin.by.clone(), ..*plugin }))
        })
    }

    /// Whether a plugin is meant by each of its names: another one does not open what its own does not. A rule that has
    /// the hash knows the name in it.
    pub(super) fn covers_each_name(&self, plugin: &Vouched<'_>) -> bool {
        let by_original = plugin.original.is_none_or(|name| self.hash.is_some() || self.name.covers(name));
        by_original && self.covers(plugin)
    }

    /// Whether the content is meant, or who vouches for it, and not the name alone.
    pub(super) fn is_by_content(&self) -> bool {
        self.hash.is_some() || self.signer.is_some()
    }

    /// Returns the hash that it has, if it means one version alone.
    pub fn hash(&self) -> Option<&str> {
        self.hash.as_deref()
    }

    /// What both mean, if there is anything.
    pub(crate) fn meet(&self, other: &Self) -> Option<Self> {
        let name = self.name.meet(&other.name)?;
        let hash = one_of(self.hash.as_ref(), other.hash.as_ref(), String::eq)?;
        let signer = one_of(self.signer.as_ref(), other.signer.as_ref(), |own, its| own.says_the_same(its))?;
        Some(Self { name, signer: signer.cloned(), hash: hash.cloned() })
    }
}

/// What both ask for; nothing where they ask for different things.
#[expect(clippy::option_option, reason = "nothing asked for is another thing than nothing left")]
fn one_of<'a, T>(
    own: Option<&'a T>,
    its: Option<&'a T>,
    is_same: impl Fn(&T, &T) -> bool,
) -> Option<Option<&'a T>> {
    match (own, its) {
        (Some(own), Some(its)) if !is_same(own, its) => None,
        (own, its) => Some(own.or(its)),
    }
}

fn hash(digits: &str, text: &str) -> Result<String, Invalid> {
    if digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(digits.to_ascii_lowercase());
    }
    Err(Invalid::new(
        format!("plugin \"{}\" has no valid hash", shorten(text)),
        "write NAME@sha256: and the 64 digits that `scorpiox-code plugin hash` prints",
    ))
}

impl fmt::Display for PluginPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = (self.name != NamePattern::any() || !self.is_by_content()).then(|| self.name.to_string());
        let signer = self.signer.as_ref().map(|signer| format!("{SIGNER}{}", signer.name));
        let hash = self.hash.as_ref().map(|hash| format!("{SHA256}{hash}"));
        let parts: Vec<_> = [name, signer, hash].into_iter().flatten().collect();
        f.write_str(&parts.join("@"))
    }
}
