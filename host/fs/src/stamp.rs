//! Detects changes of a file without reading it.

use std::fs::Metadata;
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
#[cfg(windows)]
use std::os::windows::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

#[cfg(unix)]
use crate::Identity;

/// Time after which the timestamp clock has advanced on file systems with subsecond timestamps. The maximum
/// is 10 ms on Linux; the rest is a margin for other systems.
pub const FINE_STEP: Duration = Duration::from_millis(100);
/// Time after which the timestamp clock has advanced on other file systems; FAT has a resolution of two
/// seconds.
const COARSE_STEP: Duration = Duration::from_secs(2);

/// File or directory metadata for change detection. Equal stamps mean equal contents, because no program can
/// set the time of the last status change (ctime). On Windows every program can, so stamps never count as
/// settled there, and callers have to read the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Creates a stamp from metadata of a file or directory.
    #[cfg(unix)]
    pub fn of(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    /// Creates a stamp from metadata of a file or directory.
    #[cfg(windows)]
    pub fn of(about: &Metadata) -> Self {
        let time = |time: u64| (i64::try_from(time).unwrap_or(i64::MAX), 0);
        Self {
            device: 0,
            inode: about.creation_time(),
            size: about.file_size(),
            modified: time(about.last_write_time()),
            changed: time(u64::MAX),
        }
    }

    /// Returns the identity of the file or directory.
    #[cfg(unix)]
    pub fn identity(&self) -> Identity {
        (self.device, self.inode)
    }

    /// Returns `true` if a change right after `now` would alter the stamp: timestamps advance in steps.
    pub fn is_settled(&self, now: SystemTime) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let step = if nanoseconds == 0 { COARSE_STEP } else { FINE_STEP };
        let (Ok(seconds), Ok(nanoseconds)) = (u64::try_from(seconds), u32::try_from(nanoseconds)) else {
            return false;
        };
        let since = UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds) + step);
        since.is_some_and(|since| since <= now)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_stamp_changes_with_the_file_whatever_its_times_say() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one").unwrap();
        let before = path.metadata().unwrap();
        let until = Instant::now() + COARSE_STEP * 2;
        // Writes different bytes of the same length with the same modification time, until the clock has
        // advanced.
        loop {
            fs::write(&path, "two").unwrap();
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(before.modified().unwrap()).unwrap();
            let after = path.metadata().unwrap();
            assert_eq!((after.mtime_nsec(), after.size()), (before.mtime_nsec(), before.size()));
            if (after.ctime(), after.ctime_nsec()) != (before.ctime(), before.ctime_nsec()) {
                assert_ne!(Stamp::of(&after), Stamp::of(&before));
                break;
            }
            assert!(Instant::now() < until, "the clock stands still");
        }
    }

    #[test]
    fn a_stamp_settles_by_the_step_of_its_clock() {
        let at = |seconds, nanoseconds| Stamp {
            device: 0,
            inode: 0,
            size: 0,
            modified: (i64::MAX, 0),
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
