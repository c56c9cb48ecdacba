//! Patterns that match plugins in rules.

use std::fmt;
use std::sync::Arc;

use crate::rule::{Invalid, NamePattern, shorten};

use super::{Signer, Vouched};

/// Matches a plugin by its name, its hash, its signer, or a combination of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginPattern {
    pub(super) name: NamePattern,
    pub(super) signer: Option<Arc<Signer>>,
    /// 64 lowercase hexadecimal digits.
    pub(super) hash: Option<String>,
}

const SHA256: &str = "sha256:";
const SIGNER: &str = "signer:";
/// Number of hexadecimal digits from which a name counts as a mistyped hash, alone and after `sha256`.
const LEAST_DIGITS: usize = 32;
const LEAST_DIGITS_AFTER_NAME: usize = 8;

impl PluginPattern {
    /// Returns the pattern that matches every plugin.
    pub(crate) const fn any() -> Self {
        Self { name: NamePattern::any(), signer: None, hash: None }
    }

    /// Parses `weather`, `team-*`, `sha256:…`, `signer:acme`, or several of them joined with `@`. `signer`
    /// looks up a signer by name.
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
            } else if index == 0 && is_hash(part) {
                // As a name it would match nothing, and a denied plugin would run.
                let what = format!("plugin \"{}\" is a hash without `sha256:`", shorten(text));
                return Err(Invalid::new(what, format!("write \"{SHA256}{}\"", part.to_ascii_lowercase())));
            } else if index == 0 && is_like_hash(part) {
                let what = format!("plugin \"{}\" looks like a hash, and is none", shorten(text));
                return Err(Invalid::new(
                    what,
                    format!("write {SHA256} and the 64 digits that `plugin hash` prints"),
                ));
            } else if index == 0 && !part.contains(':') {
                pattern.name = NamePattern::parse(part, "plugin")?;
                let name = part.strip_suffix('*').unwrap_or(part);
                if !name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
                    let what = format!(
                        "plugin \"{}\" has a character that names of plugins have not",
                        shorten(text)
                    );
                    let fix =
                        "write its name as `plugin list` shows it: lowercase letters, digits and hyphens";
                    return Err(Invalid::new(what, fix));
                }
            } else {
                let what = format!("plugin \"{}\" has something behind its name", shorten(text));
                let fix = "write the name alone, or NAME@sha256: and its hash, or NAME@signer: and a name of [plugins.signers]";
                return Err(Invalid::new(what, fix));
            }
        }
        Ok(pattern)
    }

    /// Returns the name of the signer that the pattern demands, if any.
    pub fn signer(&self) -> Option<&str> {
        self.signer.as_deref().map(|signer| signer.name.as_str())
    }

    /// Returns `true` if the pattern matches a plugin.
    pub(super) fn covers(&self, plugin: &Vouched<'_>) -> bool {
        self.name.covers(plugin.name)
            && self.hash.as_ref().is_none_or(|own| own == plugin.hash)
            && self.signer.as_ref().is_none_or(|signer| plugin.by.iter().any(|by| by.says_the_same(signer)))
    }

    /// Returns `true` if the pattern matches any of a plugin's names together with any of its hashes. Used
    /// for deny rules, which apply under every name and every known hash.
    pub(super) fn covers_any_way(&self, plugin: &Vouched<'_>) -> bool {
        let names = [Some(plugin.name), plugin.original].into_iter().flatten();
        names.into_iter().any(|name| {
            let hashes = std::iter::once(plugin.hash).chain(plugin.also);
            hashes
                .into_iter()
                .any(|hash| self.covers(&Vouched { name, hash, by: plugin.by.clone(), ..*plugin }))
        })
    }

    /// Returns `true` if the pattern matches each of a plugin's names. Used for allow rules: a new name must
    /// not gain what the original name lacks. A hash already covers the original name.
    pub(super) fn covers_each_name(&self, plugin: &Vouched<'_>) -> bool {
        let by_original = plugin.original.is_none_or(|name| self.hash.is_some() || self.name.covers(name));
        by_original && self.covers(plugin)
    }

    /// Returns `true` if the pattern requires a hash or a signer, not only a name.
    pub(super) fn is_by_content(&self) -> bool {
        self.hash.is_some() || self.signer.is_some()
    }

    /// Returns the hash, if the pattern matches a single version.
    pub fn hash(&self) -> Option<&str> {
        self.hash.as_deref()
    }

    /// Returns the pattern for the name alone.
    pub fn name(&self) -> &NamePattern {
        &self.name
    }

    /// Returns the intersection of two patterns, if there is one.
    pub(crate) fn meet(&self, other: &Self) -> Option<Self> {
        let name = self.name.meet(&other.name)?;
        let hash = one_of(self.hash.as_ref(), other.hash.as_ref(), String::eq)?;
        let signer = one_of(self.signer.as_ref(), other.signer.as_ref(), |own, its| own.says_the_same(its))?;
        Some(Self { name, signer: signer.cloned(), hash: hash.cloned() })
    }
}

/// Returns the combined requirement, or `None` if the requirements conflict.
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

fn is_hash(digits: &str) -> bool {
    digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Returns `true` if a text without `sha256:` is a hash that was cut or written otherwise: `sha256-6b86b273…`.
fn is_like_hash(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let (digits, least) = match text.strip_prefix("sha256") {
        Some(rest) => (rest.trim_start_matches(['-', '_', '=']), LEAST_DIGITS_AFTER_NAME),
        None => (&*text, LEAST_DIGITS),
    };
    digits.len() >= least && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

fn hash(digits: &str, text: &str) -> Result<String, Invalid> {
    if is_hash(digits) {
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
