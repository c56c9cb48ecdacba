//! Names of what must stay as it is, each at its own path.
//!
//! What is there is protected by mounts, or by what Landlock grants of it. But both follow the file or folder and
//! not its name: who replaces it from outside, as editors and git do, puts something there that neither knows.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use scorpiox_kernel::reach::{Identity, Walk};

use super::absent::{folded, what_becomes};
use super::identity_of;

/// Names by the paths of their folders, in whatever spelling.
#[derive(Debug, Default)]
struct Names(HashMap<OsString, HashSet<String>>);

impl Names {
    /// Whether it was not there yet.
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

/// All of a command's.
#[derive(Debug, Default)]
pub(super) struct Frozen {
    /// As they are written.
    paths: HashSet<OsString>,
    names: Names,
    /// The same by the folders that were there, wherever they are moved to.
    places: HashMap<Identity, HashSet<String>>,
    /// Folders above them, and above what must stay absent.
    above: Names,
}

impl Frozen {
    /// What is `frozen`, and what is `absent`, below folders that commands may write to.
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
            // What went away since is protected by its path.
            if let Ok((folder, name)) = folder {
                all.places.entry(folder).or_default().insert(folded(name));
            }
            all.hold_above(roots, path);
        }
        let mut held = None;
        for path in absent {
            // Most of them lie in one folder.
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

    /// Whether this is one of them, in whatever spelling, or becomes one, or lies in one. The folder is this one, at
    /// this path.
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

    /// Whether one of them, or what must stay absent, lies below this: what comes here may bring one along.
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
