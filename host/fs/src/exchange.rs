//! Checks for other users that can change where a path leads.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::Trail;

/// Way in which users other than this process's user and the administrator can put something else in the place of a
/// file or folder on a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exchange {
    /// Others can write a folder with this mode.
    Writable {
        /// Folder.
        folder: PathBuf,
        /// Permission bits.
        mode: u32,
    },
    /// A folder, or something in a sticky folder that others can write, belongs to another user.
    Foreign {
        /// Path.
        path: PathBuf,
        /// Owner.
        owner: u32,
    },
    /// Others can change a folder for another reason, which is a clause.
    Changeable {
        /// Folder.
        folder: PathBuf,
        /// Reason.
        why: String,
    },
}

impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Writable { folder, mode } => {
                write!(f, "the folder {} can be written by others (mode {mode:04o})", folder.display())
            }
            Self::Foreign { path, owner } => {
                write!(f, "{} belongs to user {owner}, not to you or root", path.display())
            }
            Self::Changeable { folder, why } => {
                write!(f, "the folder {} can be changed by others: {why}", folder.display())
            }
        }
    }
}

impl Exchange {
    /// Returns the first way on a trail: in the folders of each link, of the folders that the path leaves again, and of
    /// its end. Something that does not exist counts as if it were there.
    pub fn on(trail: &Trail) -> io::Result<Option<Self>> {
        for path in trail.links.iter().chain(&trail.left).chain([&trail.end]) {
            for step in path.ancestors() {
                let Some(folder) = step.parent() else { break };
                if let Some(exchange) = in_folder(folder, step)? {
                    return Ok(Some(exchange));
                }
            }
        }
        Ok(None)
    }

    /// Returns the way in the folder of a path. Something that does not exist counts as if it were there.
    pub fn in_folder_of(path: &Path) -> io::Result<Option<Self>> {
        path.parent().map_or(Ok(None), |folder| in_folder(folder, path))
    }
}

/// Returns how others can exchange an entry of a folder.
#[cfg(unix)]
fn in_folder(folder: &Path, entry: &Path) -> io::Result<Option<Exchange>> {
    use std::os::unix::fs::MetadataExt as _;

    const STICKY: u32 = 0o1000;
    let about = match folder.symlink_metadata() {
        Ok(about) => about,
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    if !is_own(about.uid()) {
        return Ok(Some(Exchange::Foreign { path: folder.to_owned(), owner: about.uid() }));
    }
    let mode = about.mode() & 0o7777;
    // By convention, a user's private group has the same ID as the user.
    let user = rustix::process::geteuid().as_raw();
    let others_write = mode & 0o002 != 0 || mode & 0o020 != 0 && ![0, user].contains(&about.gid());
    if !others_write {
        return Ok(None);
    }
    if mode & STICKY == 0 {
        return Ok(Some(Exchange::Writable { folder: folder.to_owned(), mode }));
    }
    // In a sticky folder, only the owner of an entry exchanges it.
    match entry.symlink_metadata() {
        Ok(found) if is_own(found.uid()) => Ok(None),
        Ok(found) => Ok(Some(Exchange::Foreign { path: entry.to_owned(), owner: found.uid() })),
        // Whatever others create belongs to them.
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns how others can exchange an entry of a folder.
#[cfg(windows)]
fn in_folder(folder: &Path, entry: &Path) -> io::Result<Option<Exchange>> {
    // All users may create folders at the root of a drive, which exchanges nothing: only the folders of files and links
    // are examined.
    let is_folder = entry.symlink_metadata().is_ok_and(|about| about.is_dir());
    if is_folder || folder.symlink_metadata().is_err() {
        return Ok(None);
    }
    let why = crate::others_can_change_at(folder)?;
    Ok(why.map(|why| Exchange::Changeable { folder: folder.to_owned(), why }))
}

#[cfg(unix)]
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns `true` for this process's user and root.
#[cfg(unix)]
fn is_own(owner: u32) -> bool {
    owner == 0 || owner == rustix::process::geteuid().as_raw() || is_unmapped_root(owner)
}

/// Returns `true` if root of the machine may appear as this user: it has no ID of its own in this user namespace, as in
/// a container that maps a single user.
#[cfg(unix)]
fn is_unmapped_root(owner: u32) -> bool {
    const OVERFLOW: u32 = 65534;
    let is_root = |line: &str| line.split_whitespace().next() == Some("0");
    owner == OVERFLOW
        && std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !map.lines().any(is_root))
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, lchown, symlink};

    use super::*;

    fn found(path: &Path) -> Option<Exchange> {
        Exchange::on(&Trail::follow(path).expect("a trail")).expect("an answer")
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    }

    #[test]
    fn folders_of_links_and_of_the_end_are_examined() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("a path");
        for folder in ["home", "links", "end/inner", "left"] {
            fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        fs::write(root.join("end/inner/file"), "").expect("a file");
        symlink("../links/next", root.join("home/file")).expect("a link");
        symlink("../left/../end/inner/file", root.join("links/next")).expect("a link");
        let path = root.join("home/file");
        assert_eq!(found(&path), None);
        for folder in ["home", "links", "end", "end/inner", ""] {
            let folder = root.join(folder);
            set(&folder, 0o757);
            let expected = Exchange::Writable { folder: folder.canonicalize().expect("a path"), mode: 0o757 };
            assert_eq!(found(&path), Some(expected));
            set(&folder, 0o1777);
            assert_eq!(found(&path), None, "a sticky folder with own files");
            set(&folder, 0o755);
        }
        assert_eq!(found(&path), None);
        set(&root.join("home"), 0o757);
        assert!(found(&root.join("home/none/file")).is_some(), "others can create it");
        set(&root.join("home"), 0o1757);
        assert_eq!(found(&root.join("home/none/file")), None, "it would be theirs");
    }

    #[test]
    fn folders_and_links_of_others_are_found() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("a path");
        fs::create_dir_all(root.join("sticky")).expect("a folder");
        fs::write(root.join("file"), "").expect("a file");
        let link = root.join("sticky/file");
        symlink("../file", &link).expect("a link");
        set(&root.join("sticky"), 0o1777);
        assert_eq!(found(&link), None);
        // Only root can change the owner.
        if lchown(&link, Some(12345), None).is_ok() {
            assert_eq!(found(&link), Some(Exchange::Foreign { path: link.clone(), owner: 12345 }));
            set(&root.join("sticky"), 0o755);
            assert_eq!(found(&link), None, "its owner cannot exchange it");
            lchown(root.join("sticky"), Some(12345), None).expect("an owner");
            let expected = Exchange::Foreign { path: root.join("sticky"), owner: 12345 };
            assert_eq!(found(&link), Some(expected));
        }
    }
}
