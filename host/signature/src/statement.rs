//! Signed comment that identifies a plugin.

use std::fmt;

use scorpiox_text::{hex, is_hex};
use semver::Version;
use sha2::{Digest as _, Sha256};

const SHA256_BYTES: usize = 32;
/// Maximum length of a name or version, in bytes.
const MAX_WORD_BYTES: usize = 64;

/// Identification of a plugin file: `name=… version=… sha256=…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Name of the plugin.
    pub name: String,
    /// Version of the plugin.
    pub version: Version,
    /// SHA-256 of the file, in lower-case hexadecimal.
    pub sha256: String,
}

/// Error for a comment that is not a statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "its signed comment {0:?} is not `name=NAME version=VERSION sha256=HASH`; sign the file with \
     `scorpiox-code plugin sign`, or with that comment (`minisign -t`)"
)]
pub struct StatementError(String);

impl Statement {
    /// Parses a comment: exactly these three words in this order, separated by single spaces.
    pub fn parse(comment: &str) -> Result<Self, StatementError> {
        let read = || {
            let mut words = comment.split(' ');
            let mut value = |key: &str| words.next()?.strip_prefix(key)?.strip_prefix('=');
            let (name, version, sha256) = (value("name")?, value("version")?, value("sha256")?);
            let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let fits = words.next().is_none()
                && (1..=MAX_WORD_BYTES).contains(&name.len())
                && name.chars().all(is_name)
                && version.len() <= MAX_WORD_BYTES
                && is_hex(sha256, SHA256_BYTES);
            let version = Version::parse(version).ok().filter(|_| fits)?;
            Some(Self { name: name.to_owned(), version, sha256: sha256.to_owned() })
        };
        read().ok_or_else(|| StatementError(comment.chars().take(2 * MAX_WORD_BYTES).collect()))
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "name={} version={} sha256={}", self.name, self.version, self.sha256)
    }
}

/// Returns the SHA-256 of a file in the form used in statements.
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
