//! `[plugins.signers.NAME]`: trusted signers, and the plugins they may sign.

use std::fmt;

use crate::rule::{Invalid, NamePattern, shorten};
use scorpiox_signature::{PublicKey, Signature, SignatureError, Unverified};

use super::Candidate;

/// A public key, and the plugins that its holder may sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// Name of the signer in rules.
    pub name: String,
    key: PublicKey,
    /// Names of the plugins that the signer may sign.
    pub names: Vec<NamePattern>,
    /// Approver of new versions of plugins that this signer signed before.
    pub updates: Updates,
}

/// Approver of a new version of a plugin that the signer of the approved version signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Updates {
    /// The user.
    Person,
    /// The signature, if the new version requests no more permissions than the approved one.
    Signed,
}

impl Updates {
    /// Values in the file.
    pub(crate) const WORDS: &'static [&'static str] = &["person", "signed"];
}

impl fmt::Display for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Person => "person",
            Self::Signed => "signed",
        })
    }
}

/// Reason why a signer's signature does not cover a plugin.
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
    #[error("{0}")]
    Statement(String),
    #[error("it was signed as {0}, and has another name here")]
    Renamed(String),
    #[error("`names` of the signer does not cover it")]
    Name,
}

impl Signer {
    /// Parses a public key as printed by minisign: 56 characters that begin with `RW`.
    pub(crate) fn parse(
        name: &str,
        key: &str,
        names: Vec<NamePattern>,
        updates: Updates,
    ) -> Result<Self, Invalid> {
        let key = PublicKey::parse(key).map_err(|_| {
            Invalid::new(
                format!("\"{}\" is not a minisign public key", shorten(key)),
                "write the second line of the `.pub` file, which begins with RW",
            )
        })?;
        Ok(Self { name: name.to_owned(), key, names, updates })
    }

    /// Returns the key as written in the file.
    pub fn key(&self) -> &str {
        self.key.as_str()
    }

    /// Returns the key for verification.
    pub fn public_key(&self) -> &PublicKey {
        &self.key
    }

    /// Returns `true` if the signer may sign plugins of this name.
    pub fn may_sign(&self, name: &str) -> bool {
        self.names.iter().any(|names| names.covers(name))
    }

    /// Returns `true` if both have the same key for the same plugins, regardless of their names.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        self.key == other.key && self.names == other.names
    }

    /// Checks that the holder of the key signed a plugin: either the output of `plugin hash`, or the plugin's
    /// file.
    pub(super) fn signed(&self, plugin: &Candidate<'_>) -> Result<(), NotSigned> {
        if !self.may_sign(plugin.name) {
            return Err(NotSigned::Name);
        }
        match plugin.signature {
            Signed::Not => Err(NotSigned::Unsigned),
            Signed::Supposedly(name) if name == self.name => Ok(()),
            Signed::Supposedly(_) => Err(NotSigned::ByAnother),
            Signed::With(text) => {
                let signature = Signature::parse(text)?;
                self.key.verify(format!("{}\n", plugin.hash).as_bytes(), &signature)?;
                Ok(())
            }
            Signed::File(file) => self.signed_file(plugin.name, &file),
        }
    }

    /// Checks the signature of a plugin's file. The trusted comment is part of the signature and identifies
    /// the file. The hash was computed when the file was read.
    fn signed_file(&self, name: &str, file: &SignedFile<'_>) -> Result<(), NotSigned> {
        let statement = self.key.verify_statement(&Signature::parse(file.signature)?)?;
        if statement.sha256 != file.sha256 || statement.version.to_string() != file.version {
            return Err(NotSigned::Unfit);
        }
        if statement.name != name || statement.name != file.name {
            return Err(NotSigned::Renamed(statement.name));
        }
        Ok(())
    }
}

impl From<SignatureError> for NotSigned {
    fn from(error: SignatureError) -> Self {
        match error {
            SignatureError::Legacy => Self::Legacy,
            SignatureError::Form(_) => Self::Unreadable,
        }
    }
}

impl From<Unverified> for NotSigned {
    fn from(error: Unverified) -> Self {
        match error {
            Unverified::Signature(error) => error.into(),
            Unverified::ByAnother => Self::ByAnother,
            Unverified::Statement(error) => Self::Statement(error.to_string()),
            Unverified::Unfit | Unverified::OtherFile { .. } => Self::Unfit,
        }
    }
}

impl<'a> From<Option<&'a str>> for Signed<'a> {
    fn from(signature: Option<&'a str>) -> Self {
        signature.map_or(Self::Not, Self::With)
    }
}

/// Signature of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed<'a> {
    /// No signature.
    Not,
    /// Minisign signature of the plugin's hash.
    With(&'a str),
    /// Signature of the plugin's file.
    File(SignedFile<'a>),
    /// Assumed signature of the signer with this name, for queries about plugins that are not present.
    Supposedly(&'a str),
}

/// File of a plugin, as it was when it was read, with its signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedFile<'a> {
    /// Content of its `.minisig` file.
    pub signature: &'a str,
    /// Original name of the plugin.
    pub name: &'a str,
    /// Version of the plugin.
    pub version: &'a str,
    /// SHA-256 of the file, in lowercase hexadecimal.
    pub sha256: &'a str,
}
