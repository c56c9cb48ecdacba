//! Finds out if a new repository is still where it was when its command ended.

use std::io;
use std::path::Path;

use scorpiox_fs::Identity;

/// Returns the device and inode of a file or folder, or `None` if the path does not exist or cannot be read.
#[cfg(unix)]
pub(super) fn identity_of(path: &Path) -> Option<Identity> {
    Some(scorpiox_fs::Stamp::of(&path.symlink_metadata().ok()?).identity())
}

/// Returns `None`: supervisors report no repositories on this system.
#[cfg(not(unix))]
pub(super) fn identity_of(_: &Path) -> Option<Identity> {
    None
}

/// Returns a note about a repository if something else, or nothing, is now at its path.
pub(super) fn note(path: &Path, identity: Identity) -> Option<String> {
    let is_absent = || path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let is_gone = identity_of(path).map_or_else(is_absent, |found| found != identity);
    is_gone.then(|| {
        format!(
            "the new repository was at {} when the command ended, and is no longer there: if it was moved, \
             its config and hooks came along",
            path.display()
        )
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_what_is_no_longer_there_gets_a_note() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        fs::create_dir(&path).expect("a folder");
        let identity = identity_of(&path).expect("a folder");
        assert_eq!(note(&path, identity), None);
        fs::rename(&path, &other).expect("moves");
        let moved = note(&path, identity).expect("nothing is there");
        assert!(moved.contains(&path.display().to_string()), "{moved}");
        fs::create_dir(&path).expect("a folder");
        assert!(note(&path, identity).is_some(), "something else is there");
        assert_eq!(note(&other, identity), None);
    }
}
