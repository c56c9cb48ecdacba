//! Digests that identify content in registries.

use std::fmt;

use scorpiox_plugin::Fingerprint;

const ALGORITHM: &str = "sha256:";

/// SHA-256 of a content in the registries' format: `sha256:` and 64 lowercase hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest(String);

impl Digest {
    /// Computes the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("{ALGORITHM}{}", Fingerprint::of(bytes)))
    }

    /// Parses a digest. Rejects other algorithms.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(ALGORITHM)?;
        Fingerprint::from_digest(digits).map(|_| Self(text.to_owned()))
    }

    /// Returns the digest with its algorithm.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the tag of the manifest's referrers, for registries without the referrers API (OCI
    /// Distribution 1.1).
    pub(crate) fn referrers_tag(&self) -> String {
        self.0.replace(':', "-")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_sha_256_in_small_letters() {
        let empty = Digest::of(b"");
        assert_eq!(empty.as_str(), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(Digest::parse(empty.as_str()), Some(empty.clone()));
        assert_eq!(empty.referrers_tag().len(), 71);
        for other in ["", "sha256:", "sha512:00", &empty.as_str().to_uppercase(), &format!("{empty}0")] {
            assert_eq!(Digest::parse(other), None, "{other}");
        }
    }
}
