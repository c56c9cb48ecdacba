//! Names that must stay absent, each at its own path.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, statat};
use scorpiox_cell::Fault;
use scorpiox_kernel::reach::{Identity, Walk};

use super::caller::Spot;
use super::identity_of;

/// What is made at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// A regular file: nothing lies below it.
    File,
    /// An empty folder.
    Folder,
    /// Anything else: a link, or a folder that is moved with what is in it.
    Other,
}

impl Made {
    pub(super) fn of(kind: FileType) -> Self {
        if kind.is_file() { Self::File } else { Self::Other }
    }
}

/// What has to be watched so that nothing comes to be at a path: the first part of it that is missing,
/// or a file where it would need a folder.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    folder: Identity,
    name: String,
    is_file: bool,
}

/// All of a command's. There may be many, and each name that a command makes is looked up.
#[derive(Debug, Default)]
pub(super) struct Absent {
    paths: HashSet<OsString>,
    names: BTreeSet<String>,
    places: BTreeMap<(Identity, String), Place>,
    /// The same by the folders' paths: another folder may come in the place of one.
    by_path: HashMap<OsString, BTreeMap<String, Place>>,
}

/// A place that is watched.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub path: Arc<Path>,
    /// A file lies there, and may be replaced by another one.
    takes_files: bool,
}

impl Place {
    pub(super) fn refuses(&self, made: Made) -> bool {
        made != Made::File || !self.takes_files
    }
}

impl Absent {
    pub(super) fn new<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<Self, Fault> {
        let mut absent = Self::default();
        let mut walk = Walk::default();
        for path in paths {
            let found = find(path, &mut walk).map_err(|error| Fault::of_path("guarding", path, error))?;
            let watched = found.ok_or_else(|| {
                let step = format!("guarding {}", path.display());
                Fault { changed: true, ..Fault::new(step, "it is there now") }
            })?;
            absent.watch(watched);
        }
        Ok(absent)
    }

    fn watch(&mut self, Watched { path, folder, name, is_file }: Watched) {
        self.paths.insert(path.as_os_str().to_owned());
        if !self.names.contains(&name) {
            self.names.insert(name.clone());
        }
        let place = self.places.entry((folder, name.clone()));
        let place = place.or_insert_with(|| Place { path: path.into(), takes_files: true });
        place.takes_files &= is_file;
        if let Some(folder) = place.path.parent() {
            // Most names lie in one folder: its path is copied once.
            let names = match self.by_path.get_mut(folder.as_os_str()) {
                Some(names) => names,
                None => self.by_path.entry(folder.into()).or_default(),
            };
            names.insert(name, place.clone());
        }
    }

    /// The one that a folder is, or lies in.
    pub(super) fn around<'a>(&self, folder: &'a Path) -> Option<&'a Path> {
        let mut above = folder.ancestors();
        above.find(|path| !self.paths.is_empty() && self.paths.contains(path.as_os_str()))
    }

    /// What is watched at a place, in the folder at this path.
    pub(super) fn at(&self, spot: &Spot, folder: &Path, name: &str) -> io::Result<Option<&Place>> {
        if !self.names.contains(name) {
            return Ok(None);
        }
        let by_path = self.by_path.get(folder.as_os_str()).and_then(|names| names.get(name));
        Ok(match by_path {
            Some(place) => Some(place),
            None => self.places.get(&(identity_of(&spot.folder)?, name.to_owned())),
        })
    }

    /// Whether it becomes one of them.
    pub(super) fn is_lock(&self, folder: &Path, name: &str) -> bool {
        let names = self.by_path.get(folder.as_os_str());
        what_becomes(name).is_some_and(|name| names.is_some_and(|names| names.contains_key(name)))
    }

    /// Whether this is one of them, in whatever spelling.
    pub(super) fn holds(&self, folder: Identity, name: &str) -> bool {
        self.names.contains(name) && self.places.contains_key(&(folder, name.to_owned()))
    }
}

/// `None` if something is there.
fn find(path: &Path, walk: &mut Walk) -> io::Result<Option<Watched>> {
    let mut path = path;
    let mut is_wanted = true;
    loop {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        match walk.parent(path) {
            Ok((folder, _)) => {
                let is_file = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Err(rustix::io::Errno::NOENT) => false,
                    Ok(found) if !is_wanted && FileType::from_raw_mode(found.st_mode).is_file() => true,
                    Ok(_) if is_wanted => return Ok(None),
                    // Not a way that can be watched.
                    Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
                    Err(error) => return Err(error.into()),
                };
                let folder = walk.folder()?;
                return Ok(Some(Watched { path: path.to_owned(), folder, name: folded(name), is_file }));
            }
            Err(error) if is_missing(&error) => (path, is_wanted) = (above, false),
            Err(error) => return Err(error),
        }
    }
}

/// Whether a folder above is missing, or no folder.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What gets the name of a file that git writes first and moves then, if this is such a one's.
pub(super) fn what_becomes(name: &str) -> Option<&str> {
    name.strip_suffix(".lock")
}

/// A name as the least particular of file systems compares it, so that names are refused that would be
/// the same on one. Bytes that are no text stay different from any that are.
pub(super) fn folded(name: &OsStr) -> String {
    scorpiox_text::folded(&String::from_utf8_lossy(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use scorpiox_kernel::reach;

    use super::*;

    #[test]
    fn bytes_that_are_no_text_make_another_name() {
        assert_eq!(folded(OsStr::new(".MCP.json.")), ".mcp.json");
        assert_ne!(folded(OsStr::from_bytes(b".mcp.json\xff")), ".mcp.json");
    }

    #[test]
    fn the_first_missing_part_is_watched() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let found = |path: &Path| find(path, &mut Walk::default()).expect("a folder above it");
        let absent = found(&root.join("a/b/c")).expect("nothing there");
        assert_eq!((absent.path, absent.name.as_str()), (root.join("a"), "a"));
        std::fs::create_dir(root.join("a")).expect("a folder");
        let absent = found(&root.join("a/b/c")).expect("nothing there");
        assert_eq!(absent.path, root.join("a/b"));
        assert_eq!(absent.folder, reach::identity_at(&root.join("a")).expect("a folder"));
        assert!(found(&root.join("a")).is_none());
    }

    #[test]
    fn a_file_on_the_way_is_watched_and_may_be_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        std::fs::write(root.join("a"), "").expect("a file");
        let absent = find(&root.join("a/b/c"), &mut Walk::default()).expect("known").expect("nothing there");
        assert_eq!((absent.path, absent.is_file), (root.join("a"), true));
    }

    #[test]
    fn a_link_on_the_way_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        std::os::unix::fs::symlink("/", root.join("a")).expect("a link");
        assert!(find(&root.join("a/b"), &mut Walk::default()).is_err());
    }
}
