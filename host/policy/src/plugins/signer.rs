//! `[plugins.signers.NAME]`: whose signatures count, and for which plugins.

use std::fmt;

use scorpiox_minisign::{PublicKey, Signature, SignatureError, Unverified};
use scorpiox_rules::{Invalid, NamePattern, shorten};

use super::Candidate;

/// A key, and what its holder may sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// What rules call it.
    pub name: String,
    key: PublicKey,
    /// Names of plugins.
    pub names: Vec<NamePattern>,
    /// Who approves new versions of what it signed before.
    pub updates: Updates,
}

/// Who approves a new version of a plugin that its signer signed, as the approved one was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Updates {
    /// A person.
    Person,
    /// The signature, if it asks for no more than the approved one.
    Signed,
}

impl Updates {
    /// Its words in the file.
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
    #[error("{0}")]
    Statement(String),
    #[error("it was signed as {0}, and has another name here")]
    Renamed(String),
    #[error("`names` of the signer does not cover it")]
    Name,
}

impl Signer {
    /// Reads a public key as minisign prints it: 56 characters that begin with `RW`.
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

    /// The key as it is written.
    pub fn key(&self) -> &str {
        self.key.as_str()
    }

    /// The key, to verify with.
    pub fn public_key(&self) -> &PublicKey {
        &self.key
    }

    /// Whether it may sign plugins of this name.
    pub fn may_sign(&self, name: &str) -> bool {
        self.names.iter().any(|names| names.covers(name))
    }

    /// Whether both have the same key for the same plugins, whatever they are called.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        self.key == other.key && self.names == other.names
    }

    /// Whether the holder of the key signed a plugin: what `plugin hash` prints of it, or the file that it came in.
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

    /// The comment is signed, and says which file it was. Whose hash that is was found out when the file was read.
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

/// What vouches for a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed<'a> {
    /// Nothing does.
    Not,
    /// This text, as minisign writes it, for its hash.
    With(&'a str),
    /// A signature of the file that it came in.
    File(SignedFile<'a>),
    /// The signer of this name would: for questions about plugins that are not there.
    Supposedly(&'a str),
}

/// The file that a plugin came in, as it was when it was read, and its signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedFile<'a> {
    /// The text of its `.minisig`.
    pub signature: &'a str,
    /// The plugin's own name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
    /// The SHA-256 of the file, in small letters.
    pub sha256: &'a str,
}
