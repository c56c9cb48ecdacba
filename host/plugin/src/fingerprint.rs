//! Fingerprints and stamps, which identify files and detect changes to them.

use std::fmt;
use std::io::{self, Read};

use scorpiox_fs::Stamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// SHA-256 digest in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

/// Size of a SHA-256 digest in bytes.
const BYTES: usize = 32;
/// Size of the buffer for hashing a stream.
const PIECE_BYTES: usize = 64 * 1024;

impl Fingerprint {
    /// Returns the fingerprint of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self::written(&Sha256::digest(bytes))
    }

    /// Returns the fingerprint of a plugin's tool definitions and, if present, of its prompts and resources.
    pub fn of_definitions(tools: &str, offers: Option<&str>) -> Self {
        match offers {
            None => Self::of(tools.as_bytes()),
            Some(offers) => Self::of([tools, offers].join("\n").as_bytes()),
        }
    }

    /// Returns the fingerprint of a stream, which is read in pieces and never held in memory as a whole.
    pub fn of_all(mut bytes: impl Read) -> io::Result<Self> {
        let mut hasher = Sha256::new();
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match bytes.read(&mut piece) {
                Ok(0) => return Ok(Self::written(&hasher.finalize())),
                Ok(length) => hasher.update(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn written(digest: &[u8]) -> Self {
        Self(scorpiox_text::hex(digest))
    }

    /// Parses an existing digest. Returns `None` unless it consists of 64 lowercase hexadecimal digits.
    pub fn from_digest(digits: &str) -> Option<Self> {
        scorpiox_text::is_hex(digits, BYTES).then(|| Self(digits.to_owned()))
    }

    /// Returns the hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Stamps of a plugin's files: manifest, component.
pub type Stamps = (Option<Stamp>, Stamp);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_sha_256() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Fingerprint::of(b"").as_str(), empty);
        let long = b"some bytes".repeat(100_000);
        assert_eq!(Fingerprint::of_all(&*long).expect("read"), Fingerprint::of(&long));
    }
}
