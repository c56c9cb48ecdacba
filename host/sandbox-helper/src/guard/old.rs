//! Directories that are older than a command, on file systems that keep no creation times.

use std::cell::RefCell;
use std::collections::HashSet;
use std::time::Duration;

use super::mounts::{About, Unique};

/// Maximum number of directories remembered, at 56 bytes each. Any further one counts as new once it has changed.
const MAX_REMEMBERED: usize = 1 << 16;

/// Directories without a creation time that had not changed since the command started when it first used them.
#[derive(Debug, Default)]
pub(super) struct Old(RefCell<HashSet<Unique>>);

impl Old {
    /// Returns `true` if a file or directory is not older than the command. `is_new` decides about a time.
    ///
    /// Without a creation time, the last change counts, which commands cannot set.
    pub(super) fn is_new(&self, about: &About, is_new: impl Fn(Duration) -> bool) -> bool {
        if let Some(born) = about.born {
            return is_new(born);
        }
        let mut old = self.0.borrow_mut();
        if old.contains(&about.unique()) {
            return false;
        }
        let is_new = about.changed.is_none_or(&is_new);
        if !is_new && old.len() < MAX_REMEMBERED {
            old.insert(about.unique());
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::super::times::latest;
    use super::*;

    #[test]
    fn a_directory_without_a_creation_time_is_old_if_it_was_so_at_first() {
        let about = |number, born: Option<u64>, changed: Option<u64>| {
            let seconds = |seconds| Duration::new(seconds, 5);
            let folder = std::fs::File::open("/").expect("a folder");
            let mut about = About::folder(&folder.into()).expect("known");
            about.identity = (0, number);
            about.born = born.map(seconds);
            about.changed = changed.map(seconds);
            about
        };
        let old = Old::default();
        let is_new = |about: &About| old.is_new(about, |time| latest(time) >= Duration::from_secs(10));
        assert!(is_new(&about(1, Some(10), Some(20))) && !is_new(&about(1, Some(9), Some(20))));
        assert!(!is_new(&about(2, None, Some(9))));
        assert!(!is_new(&about(2, None, Some(20))), "the command changes it");
        assert!(is_new(&about(3, None, Some(20))) && is_new(&about(4, None, None)));
        let mut again = about(2, None, Some(20));
        again.generation = Some(1);
        assert!(is_new(&again), "another directory with the number of one that was old");
        let mut rounded = about(5, None, Some(9));
        rounded.changed = Some(Duration::from_secs(9));
        assert!(is_new(&rounded), "it may have changed in the same second as the command started");
    }
}
