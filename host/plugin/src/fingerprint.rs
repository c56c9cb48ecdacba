//! What a file is, and whether it is still that.

use std::fmt::{self, Write as _};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// SHA-256 of some bytes, written in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut text = String::with_capacity(64);
        for byte in Sha256::digest(bytes) {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the system says of a file without its being read. While it is the same, so are the bytes:
/// no program can set the time of a file's last change of state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Of a file.
    pub fn of(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }
}

impl Stamp {
    /// Whether a change right after it was taken would show: the system's clock moves in steps.
    pub fn is_settled(&self, now_seconds: i64) -> bool {
        self.changed.0.max(self.modified.0) + 2 <= now_seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_sha_256() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Fingerprint::of(b"").as_str(), empty);
    }

    #[test]
    fn a_stamp_changes_with_the_file_whatever_its_times_say() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        std::fs::write(&path, "one").expect("writes");
        let before = path.metadata().expect("there");
        std::fs::write(&path, "two").expect("writes");
        let file = std::fs::File::options().write(true).open(&path).expect("opens");
        file.set_modified(before.modified().expect("a time")).expect("sets");
        let after = path.metadata().expect("there");
        // The clock may not have moved between the two; then the stamp is not settled.
        let now = before.ctime();
        assert!(Stamp::of(&before) != Stamp::of(&after) || !Stamp::of(&before).is_settled(now));
    }
}
