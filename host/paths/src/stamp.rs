//! Whether a file is still what it was, without reading it.

use std::fs::Metadata;
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
#[cfg(windows)]
use std::os::windows::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

#[cfg(unix)]
use crate::Identity;

/// After this time a file's clock has moved, where it counts parts of seconds: by 10 ms at most on
/// Linux, which leaves room for other systems.
pub const FINE_STEP: Duration = Duration::from_millis(100);
/// The same where it does not: FAT counts two seconds at a time.
const COARSE_STEP: Duration = Duration::from_secs(2);

/// What the system says of a file or folder without its being read. While it is the same, so is what is
/// in it: no program can set the time of a file's last change of state. On Windows any program can, so that no
/// stamp is ever settled there, and whoever needs to know reads the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Of a file or folder.
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

    /// Of a file or folder.
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

    /// What tells it from any other.
    #[cfg(unix)]
    pub fn identity(&self) -> Identity {
        (self.device, self.inode)
    }

    /// Whether a change right after `now` would show: the clock of a file system moves in steps.
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
        // The same bytes, of the same length, under the same time: until the clock has moved.
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
