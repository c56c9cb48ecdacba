//! Removes sockets that have a name that must stay absent.
//!
//! A socket has to be bound by its owner. By a race the owner can bind it to another name than the one that
//! was judged, in any writable directory. If a command may have bound a socket, all sockets are therefore
//! checked when it has ended.

use std::ffi::{CStr, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat, unlinkat};
use scorpiox_sys::linux::reach;

/// Maximum number of directories to search, equal to that of the host's scan before a command.
const MAX_FOLDERS: usize = 200_000;
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Removes the sockets below a directory that `must_go` selects: they hold no data. Skips directories that
/// cannot be read or changed.
pub(super) fn remove_below(root: &Path, must_go: impl Fn(&OwnedFd, &[u8]) -> bool) {
    let mut ahead = vec![root.to_owned()];
    let mut left = MAX_FOLDERS;
    while let Some(path) = ahead.pop() {
        let opened = reach::open(&path).and_then(|fd| Ok(openat(&fd, ".", FOLDER, Mode::empty())?));
        let Ok(folder) = opened else { continue };
        let Ok(entries) = Dir::read_from(&folder) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            match kind_of(&folder, name, entry.file_type()) {
                FileType::Directory if left > 0 && !matches!(name.to_bytes(), b"." | b"..") => {
                    left -= 1;
                    ahead.push(path.join(OsStr::from_bytes(name.to_bytes())));
                }
                FileType::Socket if must_go(&folder, name.to_bytes()) => {
                    let _ = unlinkat(&folder, name, AtFlags::empty());
                }
                _ => {}
            }
        }
    }
}

/// Returns the kind of an entry: some file systems do not report it with the name.
fn kind_of(folder: &OwnedFd, name: &CStr, told: FileType) -> FileType {
    if told != FileType::Unknown {
        return told;
    }
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    found.map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.st_mode))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_sockets_of_these_names_go_at_any_depth_and_through_no_link() {
        let [inside, outside] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        std::fs::create_dir_all(inside.path().join("a/b")).expect("a folder");
        std::os::unix::fs::symlink(outside.path(), inside.path().join("a/link")).expect("a link");
        for path in [inside.path().join("a/b/.x"), inside.path().join("y"), outside.path().join(".x")] {
            UnixListener::bind(path).expect("a socket");
        }
        std::fs::write(inside.path().join("a/.x"), "a file").expect("a file");
        remove_below(&inside.path().canonicalize().expect("a path"), |_, name| name == b".x");
        let is_there = |path: std::path::PathBuf| path.symlink_metadata().is_ok();
        assert!(!is_there(inside.path().join("a/b/.x")));
        assert!(is_there(inside.path().join("y")) && is_there(inside.path().join("a/.x")));
        assert!(is_there(outside.path().join(".x")));
    }
}
