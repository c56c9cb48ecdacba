//! Names that must not change, each at its own path.
//!
//! Mounts or Landlock grants protect the existing files. Both follow the file or directory, not its name: an
//! external program that replaces the file, as editors and git do, puts one there that neither protects.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use scorpiox_sys::linux::reach::{Identity, Walk};

use super::absent::{folded, what_becomes};
use super::identity_of;

/// Folded names by the paths of their directories.
#[derive(Debug, Default)]
struct Names(HashMap<OsString, HashSet<String>>);

impl Names {
    /// Inserts a path; returns `true` if it is new.
    fn insert(&mut self, path: &Path) -> bool {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        match self.0.get_mut(folder.as_os_str()) {
            Some(names) => names.insert(folded(name)),
            None => self.0.insert(folder.into(), HashSet::from([folded(name)])).is_none(),
        }
    }

    fn contains(&self, folder: &Path, name: &str) -> bool {
        self.0.get(folder.as_os_str()).is_some_and(|names| names.contains(name))
    }
}

/// All frozen paths of a command.
#[derive(Debug, Default)]
pub(super) struct Frozen {
    /// Frozen paths in their original spelling.
    paths: HashSet<OsString>,
    names: Names,
    /// Frozen names by the identities of their directories, which may be moved.
    places: HashMap<Identity, HashSet<String>>,
    /// Directories above the frozen and the absent paths.
    above: Names,
}

impl Frozen {
    /// Collects the `frozen` and `absent` paths below the writable directories `roots`.
    pub(super) fn new<'a>(
        roots: &[PathBuf],
        frozen: impl Iterator<Item = &'a Path>,
        absent: impl Iterator<Item = &'a Path>,
    ) -> Self {
        let (mut all, mut walk) = (Self::default(), Walk::default());
        for path in frozen {
            all.names.insert(path);
            all.paths.insert(path.as_os_str().to_owned());
            let folder = walk.parent(path).and_then(|(folder, name)| Ok((identity_of(folder)?, name)));
            // A path that has disappeared since is protected by its name.
            if let Ok((folder, name)) = folder {
                all.places.entry(folder).or_default().insert(folded(name));
            }
            all.hold_above(roots, path);
        }
        let mut held = None;
        for path in absent {
            // Most of them lie in one directory.
            let folder = path.parent().map(Path::as_os_str);
            if folder != held {
                all.hold_above(roots, path);
                held = folder;
            }
        }
        all
    }

    fn hold_above(&mut self, roots: &[PathBuf], path: &Path) {
        let is_inside = |folder: &&Path| roots.iter().any(|root| folder.starts_with(root) && folder != root);
        for folder in path.ancestors().skip(1).take_while(is_inside) {
            if !self.above.insert(folder) {
                break;
            }
        }
    }

    /// Returns `true` if the name is frozen in any spelling, is the lock file of a frozen name, or lies below
    /// one. `folder` is the path and the identity of its directory.
    pub(super) fn hold(&self, folder: (&Path, Identity), name: &str) -> bool {
        let (path, identity) = folder;
        let is_one = |name: &str| {
            self.names.contains(path, name)
                || self.places.get(&identity).is_some_and(|names| names.contains(name))
        };
        is_one(name)
            || what_becomes(name).is_some_and(is_one)
            || path.ancestors().any(|above| self.paths.contains(above.as_os_str()))
    }

    /// Returns `true` if a frozen or absent path lies below this one: a file that is moved here may bring
    /// such a path along.
    pub(super) fn lie_below(&self, folder: &Path, name: &str) -> bool {
        self.above.contains(folder, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_what_lies_below_and_above_them() {
        let nowhere = (0, 0);
        let roots = [PathBuf::from("/w")];
        let paths = ["/w/.git/config", "/w/.git/hooks", "/w/a/b/.env"].map(Path::new);
        let frozen = Frozen::new(&roots, paths.into_iter(), [Path::new("/w/c/.vscode")].into_iter());
        let holds =
            |folder: &str, name: &str| frozen.hold((Path::new(folder), nowhere), &folded(name.as_ref()));
        assert!(holds("/w/.git", "config") && holds("/w/.git", "Config") && holds("/w/.git", "config.lock"));
        assert!(holds("/w/.git/hooks", "pre-commit") && holds("/w/.git/hooks/a", "b"));
        assert!(!holds("/w/.git", "index") && !holds("/w", "config") && !holds("/w", ".git"));
        assert!(!holds("/w/c", ".vscode"), "it is absent");
        let above = |folder: &str, name: &str| frozen.lie_below(Path::new(folder), &folded(name.as_ref()));
        assert!(above("/w", ".git") && above("/w", ".GIT") && above("/w", "a") && above("/w/a", "b"));
        assert!(above("/w", "c") && !above("/", "w") && !above("/w/.git", "config"));
    }
}
