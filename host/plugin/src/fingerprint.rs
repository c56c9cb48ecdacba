//! What a file is, and whether it is still that.

use std::fmt::{self, Write as _};
use std::fs::Metadata;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// SHA-256 of some bytes, written in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

/// What is read at once of something long.
const PIECE_BYTES: usize = 64 * 1024;

impl Fingerprint {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::written(&Sha256::digest(bytes))
    }

    /// Of all that is read, which is never in memory at once.
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
        let mut text = String::with_capacity(64);
        for byte in digest {
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

/// Of a plugin's files, in the order manifest, component.
pub type Stamps = (Option<Stamp>, Stamp);

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

/// After this time a file's clock has moved, where it counts parts of seconds: by 10 ms at most on
/// Linux, which leaves room for other systems.
pub(crate) const FINE_STEP: Duration = Duration::from_millis(100);
/// The same where it does not: FAT counts two seconds at a time.
const COARSE_STEP: Duration = Duration::from_secs(2);

impl Stamp {
    /// Whether a change right after `now` would show: the clock of a file system moves in steps.
    pub fn is_settled(&self, now: SystemTime) -> bool {
        let (seconds, nanoseconds) = self.changed.max(self.modified);
        let step = if nanoseconds == 0 { COARSE_STEP } else { FINE_STEP };
        let (Ok(seconds), Ok(nanoseconds)) = (u64::try_from(seconds), u32::try_from(nanoseconds)) else {
            return false;
        };
        let since = UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds) + step);
        since.is_some_and(|since| since <= now)
    }
}

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
        let nanoseconds = u32::try_from(before.ctime_nsec()).expect("below a second");
        let now = UNIX_EPOCH + Duration::new(before.ctime().unsigned_abs(), nanoseconds);
        assert!(Stamp::of(&before) != Stamp::of(&after) || !Stamp::of(&before).is_settled(now));
    }

    #[test]
    fn a_stamp_settles_by_the_step_of_its_clock() {
        let at = |seconds, nanoseconds| Stamp {
            device: 0,
            inode: 0,
            size: 0,
            modified: (0, 0),
            changed: (seconds, nanoseconds),
        };
        let now = UNIX_EPOCH + Duration::from_millis(1_000_200);
        for (seconds, nanoseconds, settled) in [
            (1000, 99_000_000, true),
            (1000, 101_000_000, false),
            (1000, 0, false),
            (998, 0, true),
            (2000, 1, false),
        ] {
            assert_eq!(at(seconds, nanoseconds).is_settled(now), settled, "{seconds} {nanoseconds}");
        }
    }
}
