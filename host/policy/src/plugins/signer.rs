//! `[plugins.signers.NAME]`: whose signatures count, and for which plugins.

use minisign_verify::{Error, PublicKey, Signature};

use scorpiox_rules::{Invalid, NamePattern, shorten};

use super::Candidate;

/// A key, and what its holder may sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// What rules call it.
    pub name: String,
    key: PublicKey,
    /// The key as it is written.
    written: String,
    /// Names of plugins.
    pub names: Vec<NamePattern>,
}

/// Why a plugin is not one that a signer signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotSigned {
    #[error("it has no signature")]
    Unsigned,
    #[error("its signature is another signer's")]
    ByAnother,
    #[error("its signature cannot be read; a minisign signature has four lines")]
    Unreadable,
    #[error("its signature is of the old kind; sign it again with minisign 0.10 or newer")]
    Legacy,
    #[error(
        "its signature does not match its hash; it was made for another plugin, or the plugin was changed since"
    )]
    Unfit,
    #[error("`names` of the signer does not cover it")]
    Name,
}

impl Signer {
    /// Reads a public key as minisign prints it: 56 characters that begin with `RW`.
    pub(crate) fn parse(name: &str, key: &str, names: Vec<NamePattern>) -> Result<Self, Invalid> {
        let read = PublicKey::from_base64(key).map_err(|_| {
            Invalid::new(
                format!("\"{}\" is not a minisign public key", shorten(key)),
                "write the second line of the `.pub` file, which begins with RW",
            )
        })?;
        Ok(Self { name: name.to_owned(), key: read, written: key.to_owned(), names })
    }

    /// The key as it is written.
    pub fn key(&self) -> &str {
        &self.written
    }

    /// Whether both have the same key for the same plugins, whatever they are called.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        self.key == other.key && self.names == other.names
    }

    /// Whether the holder of the key signed what `plugin hash` prints of a plugin.
    pub(super) fn signed(&self, plugin: &Candidate<'_>) -> Result<(), NotSigned> {
        if !self.names.iter().any(|names| names.covers(plugin.name)) {
            return Err(NotSigned::Name);
        }
        let text = match plugin.signature {
            Signed::Not => return Err(NotSigned::Unsigned),
            Signed::Supposedly(name) if name == self.name => return Ok(()),
            Signed::Supposedly(_) => return Err(NotSigned::ByAnother),
            Signed::With(text) => text,
        };
        let signature = Signature::decode(text).map_err(|_| NotSigned::Unreadable)?;
        let hash = format!("{}\n", plugin.hash);
        self.key.verify(hash.as_bytes(), &signature, false).map_err(|error| match error {
            Error::UnexpectedKeyId => NotSigned::ByAnother,
            Error::UnexpectedAlgorithm => NotSigned::Legacy,
            _ => NotSigned::Unfit,
        })
    }
}

impl<'a> From<Option<&'a str>> for Signed<'a> {
    fn from(signature: Option<&'a str>) -> Self {
        signature.map_or(Self::Not, Self::With)
    }
}

/// What vouches for a plugin's hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed<'a> {
    /// Nothing does.
    Not,
    /// This text, as minisign writes it.
    With(&'a str),
    /// The signer of this name would: for questions about plugins that are not there.
    Supposedly(&'a str),
}
