//! Names that must stay absent, each at its own path.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, statat};
use scorpiox_sandbox::Fault;
use scorpiox_sys::linux::reach::{Identity, Walk};

use super::caller::Spot;
use super::identity_of;

/// Kind of file that is created at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// Regular file: nothing lies below it.
    File,
    /// Empty directory.
    Folder,
    /// Anything else: a link, or a directory that is moved with its contents.
    Other,
}

impl Made {
    pub(super) fn of(kind: FileType) -> Self {
        if kind.is_file() { Self::File } else { Self::Other }
    }
}

/// Entry to guard so that nothing appears at a path: its first missing component, or a file in place of a
/// directory above it.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    folder: Identity,
    name: String,
    is_file: bool,
}

/// All absent paths of a command. There may be many, and each name that a command creates is looked up.
#[derive(Debug, Default)]
pub(super) struct Absent {
    paths: HashSet<OsString>,
    names: BTreeSet<String>,
    places: BTreeMap<(Identity, String), Place>,
    /// The entries of `places` by the paths of their directories, since another directory may replace one.
    by_path: HashMap<OsString, BTreeMap<String, Place>>,
}

/// Guarded entry.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub path: Arc<Path>,
    /// `true` if the entry is a file, which another file may replace.
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
            // Most names lie in one directory, so its path is copied only once.
            let names = match self.by_path.get_mut(folder.as_os_str()) {
                Some(names) => names,
                None => self.by_path.entry(folder.into()).or_default(),
            };
            names.insert(name, place.clone());
        }
    }

    /// Returns the absent path that equals `folder` or contains it.
    pub(super) fn around<'a>(&self, folder: &'a Path) -> Option<&'a Path> {
        let mut above = folder.ancestors();
        above.find(|path| !self.paths.is_empty() && self.paths.contains(path.as_os_str()))
    }

    /// Returns the guarded entry at a location; `folder` is the path of its directory.
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

    /// Returns `true` if this is the lock file of an absent name.
    pub(super) fn is_lock(&self, folder: &Path, name: &str) -> bool {
        let names = self.by_path.get(folder.as_os_str());
        what_becomes(name).is_some_and(|name| names.is_some_and(|names| names.contains_key(name)))
    }

    /// Returns `true` if this is a guarded entry, whatever its spelling.
    pub(super) fn holds(&self, folder: Identity, name: &str) -> bool {
        self.names.contains(name) && self.places.contains_key(&(folder, name.to_owned()))
    }
}

/// Finds the entry to guard for a path; returns `None` if the path exists.
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
                    // Neither a directory nor a file, so it cannot be guarded.
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

/// Returns `true` if a directory above is missing or not a directory.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the final name of a lock file, which git writes first and then renames.
pub(super) fn what_becomes(name: &str) -> Option<&str> {
    name.strip_suffix(".lock")
}

/// Folds a name as the least strict of file systems compares it, so that all spellings that could be equal
/// are denied. Bytes that are not UTF-8 stay different from valid text.
pub(super) fn folded(name: &OsStr) -> String {
    scorpiox_text::folded(&String::from_utf8_lossy(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use scorpiox_sys::linux::reach;

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
