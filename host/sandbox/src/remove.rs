//! Removal of files that commands leave behind.

use std::path::Path;

/// Removes an unused directory, even if it contains directories that are closed to their owner.
pub fn remove_folder(folder: &Path) {
    if std::fs::remove_dir_all(folder).is_ok() {
        return;
    }
    let mut ahead = vec![folder.to_owned()];
    while let Some(path) = ahead.pop() {
        open_to_owner(&path);
        let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        ahead.extend(folders.map(|entry| entry.path()));
    }
    let _ = std::fs::remove_dir_all(folder);
}

#[cfg(unix)]
fn open_to_owner(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let _ = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700));
}

/// Does nothing: no directory is closed to its owner on this system.
#[cfg(not(unix))]
fn open_to_owner(_: &Path) {}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_folder_with_closed_ones_in_it_is_removed() {
        let ground = tempfile::tempdir().expect("a folder");
        let (folder, kept) = (ground.path().join("scratch"), ground.path().join("kept"));
        std::fs::create_dir_all(folder.join("a/b")).expect("a folder");
        std::fs::create_dir(&kept).expect("a folder");
        std::os::unix::fs::symlink(&kept, folder.join("a/link")).expect("a link");
        for path in [folder.join("a/b"), folder.join("a"), kept.clone()] {
            std::fs::set_permissions(path, Permissions::from_mode(0o000)).expect("a mode");
        }
        remove_folder(&folder);
        assert!(!folder.exists());
        assert_eq!(
            kept.metadata().expect("a folder").permissions().mode() & 0o777,
            0,
            "what a link leads to"
        );
    }
}
