//! Names of what must stay as it is, each at its own path.
//!
//! What is there is protected by mounts, or by what Landlock grants of it. But both follow the file and not
//! its name: who replaces it from outside, as editors and git do, puts something there that neither knows.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::absent::folded;

/// All of a command's.
#[derive(Debug, Default)]
pub(super) struct Frozen {
    /// As they are written.
    paths: HashSet<OsString>,
    /// By their folders, the names folded.
    names: HashMap<PathBuf, HashSet<String>>,
}

impl Frozen {
    pub(super) fn new<'a>(paths: impl Iterator<Item = &'a Path>) -> Self {
        let mut frozen = Self::default();
        for path in paths {
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { continue };
            match frozen.names.get_mut(folder) {
                Some(names) => drop(names.insert(folded(name))),
                None => drop(frozen.names.insert(folder.to_owned(), HashSet::from([folded(name)]))),
            }
            frozen.paths.insert(path.as_os_str().to_owned());
        }
        frozen
    }

    /// Whether this is one of them, in whatever spelling, or lies in one.
    pub(super) fn hold(&self, folder: &Path, name: &str) -> bool {
        self.names.get(folder).is_some_and(|names| names.contains(name))
            || folder.ancestors().any(|above| self.paths.contains(above.as_os_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_what_lies_below_them() {
        let frozen = Frozen::new([Path::new("/w/.git/config"), Path::new("/w/.git/hooks")].into_iter());
        let holds = |folder: &str, name: &str| frozen.hold(Path::new(folder), &folded(name.as_ref()));
        assert!(holds("/w/.git", "config") && holds("/w/.git", "Config"));
        assert!(holds("/w/.git/hooks", "pre-commit") && holds("/w/.git/hooks/a", "b"));
        assert!(!holds("/w/.git", "index") && !holds("/w", "config") && !holds("/w", ".git"));
        assert!(!Frozen::default().hold(Path::new("/"), "w"));
    }
}
