//! Changes of the user's identity, which commands get from the user's configuration of git.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use scorpiox_fs::Stamp;
use scorpiox_git::OwnIdentity;

/// The identity that a cell was built with.
#[derive(Debug)]
pub(super) struct Known {
    files: Vec<(String, Vec<u8>)>,
    /// Files that define it, as they were when they were last read. An absent file has no stamp.
    sources: Mutex<Vec<(PathBuf, Option<Stamp>)>>,
}

impl Known {
    /// Notes an identity. What changes from now on is noticed.
    pub(super) fn of(OwnIdentity { files, sources }: OwnIdentity) -> Self {
        Self { files, sources: Mutex::new(stamped(sources)) }
    }

    /// Returns `true` if the identity is the same. `read` reads it again, if one of the files changed.
    pub(super) fn is_current(&self, read: impl FnOnce() -> OwnIdentity) -> bool {
        let before = self.sources.lock().clone();
        // Noted before they are read, so that no change is missed.
        let now = stamped(before.iter().map(|(path, _)| path.clone()));
        if now == before {
            return true;
        }
        let OwnIdentity { files, sources } = read();
        let is_new = |path: &PathBuf| !now.iter().any(|(known, _)| known == path);
        let new = stamped(sources.iter().filter(|path| is_new(path)).cloned());
        let still = now.into_iter().filter(|(path, _)| sources.contains(path));
        *self.sources.lock() = still.chain(new).collect();
        files == self.files
    }
}

fn stamped(sources: impl IntoIterator<Item = PathBuf>) -> Vec<(PathBuf, Option<Stamp>)> {
    sources.into_iter().map(|path| (path.clone(), stamp(&path))).collect()
}

fn stamp(path: &Path) -> Option<Stamp> {
    path.metadata().ok().map(|about| Stamp::of(&about))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_again_only_if_they_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, absent) = (folder.path().join("file"), folder.path().join("absent"));
        std::fs::write(&file, "one").expect("written");
        let identity = |name: &str| OwnIdentity {
            files: vec![(name.to_owned(), Vec::new())],
            sources: vec![file.clone(), absent.clone()],
        };
        let known = Known::of(identity("ann"));
        assert!(known.is_current(|| panic!("nothing changed")));
        std::fs::write(&file, "other words").expect("written");
        assert!(known.is_current(|| identity("ann")) && known.is_current(|| panic!("it was read")));
        std::fs::write(&absent, "now it is there").expect("written");
        assert!(!known.is_current(|| identity("bob")));
    }
}
