//! Resolves paths whose links only the user can have created.

use std::io;
use std::path::{Path, PathBuf};

use crate::trail::{Lost, Walks};

/// Directories that commands can write, including everything below them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Writable(Vec<PathBuf>);

impl Writable {
    /// Creates a list from these directories, by the given paths and by their current targets.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let both = folders.into_iter().flat_map(|folder| [dunce::canonicalize(&folder).ok(), Some(folder)]);
        let mut all: Vec<PathBuf> = both.flatten().collect();
        all.sort_unstable();
        all.dedup();
        Self(all)
    }

    /// Returns `true` if commands can write at an absolute path.
    pub fn covers(&self, path: &Path) -> bool {
        self.0.iter().any(|folder| path.starts_with(folder))
    }
}

/// Reason why a path cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub enum Unresolved {
    /// A command may have created this link, or may replace it.
    #[error(
        "{} is a symbolic link in a folder that commands can write; name what it leads to instead",
        .0.display()
    )]
    Link(PathBuf),
    /// The path has more links than the system would follow.
    #[error("{} leads into a loop of symbolic links", .0.display())]
    TooManyLinks(PathBuf),
    /// The path is not absolute.
    #[error("{} is not absolute", .0.display())]
    Relative(PathBuf),
    /// The file system reported an error.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path.
        path: PathBuf,
        /// Error.
        error: io::Error,
    },
}

/// Resolves the links of an absolute path. The result is to be opened by [`crate::Folder::open`]. Components
/// that do not exist are retained. Links in directories that commands can write are refused.
pub fn resolve(path: &Path, writable: &Writable) -> Result<PathBuf, Unresolved> {
    Resolver::new(writable).resolve(path)
}

/// Resolves several paths at the same time, examining common parts only once.
#[derive(Debug)]
pub struct Resolver<'a> {
    writable: &'a Writable,
    walks: Walks,
}

impl<'a> Resolver<'a> {
    /// Creates a resolver for immediate use. Do not retain it, because it caches the file system's state.
    pub fn new(writable: &'a Writable) -> Self {
        Self { writable, walks: Walks::default() }
    }

    /// Like [`resolve`].
    pub fn resolve(&mut self, path: &Path) -> Result<PathBuf, Unresolved> {
        if !path.is_absolute() {
            return Err(Unresolved::Relative(path.to_owned()));
        }
        let writable = self.writable;
        let is_theirs = |link: &Path| !link.parent().is_some_and(|folder| writable.covers(folder));
        let trail = self.walks.follow_where(path, is_theirs);
        trail.map(|trail| trail.end).map_err(|lost| match lost {
            Lost::Link(link) => Unresolved::Link(link),
            Lost::TooManyLinks(path) | Lost::TooLong(path) => Unresolved::TooManyLinks(path),
            Lost::Io { path, error } => Unresolved::Io { path, error },
        })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use scorpiox_test_support::bed::Bed;

    use super::*;

    fn bed() -> Bed {
        Bed::with(&["work/data", "home/notes", "disk/notes"])
    }

    fn resolved(bed: &Bed, path: &str) -> Result<String, String> {
        let writable = Writable::new([bed.at("work")]);
        let shown = |path: &Path| path.strip_prefix(bed.root()).unwrap_or(path).display().to_string();
        match resolve(&bed.at(path), &writable) {
            Ok(path) => Ok(shown(&path)),
            Err(Unresolved::Link(link)) => Err(shown(&link)),
            Err(other) => Err(other.to_string()),
        }
    }

    #[test]
    fn links_of_the_person_are_followed() {
        let bed = bed();
        bed.link("../disk/notes", "home/linked");
        bed.link(bed.at("home"), "me");
        assert_eq!(resolved(&bed, "home/linked/a/b"), Ok("disk/notes/a/b".to_owned()));
        assert_eq!(resolved(&bed, "me/linked"), Ok("disk/notes".to_owned()));
        assert_eq!(resolved(&bed, "home/../home/./notes"), Ok("home/notes".to_owned()));
        assert_eq!(resolved(&bed, "home/none/of/this"), Ok("home/none/of/this".to_owned()));
        // The target of the user's link is writable by commands, but is not itself a link.
        bed.link(bed.at("work/data"), "home/data");
        assert_eq!(resolved(&bed, "home/data"), Ok("work/data".to_owned()));
        assert_eq!(resolved(&bed, "work/data/new"), Ok("work/data/new".to_owned()));
    }

    #[test]
    fn links_that_commands_may_have_made_are_refused() {
        let bed = bed();
        bed.link("/etc", "work/etc");
        bed.link("data", "work/same");
        bed.link("work/etc", "indirect");
        assert_eq!(resolved(&bed, "work/etc"), Err("work/etc".to_owned()));
        assert_eq!(resolved(&bed, "work/etc/ssl"), Err("work/etc".to_owned()));
        assert_eq!(resolved(&bed, "work/same"), Err("work/same".to_owned()));
        assert_eq!(resolved(&bed, "indirect/x"), Err("work/etc".to_owned()));
        bed.link("round", "round");
        assert!(resolved(&bed, "round").unwrap_err().contains("a loop of symbolic links"));
    }

    #[test]
    fn folders_of_commands_are_known_by_each_name() {
        let bed = bed();
        bed.link("work", "other");
        let writable = Writable::new([bed.at("other")]);
        assert!(writable.covers(&bed.at("work/x")) && writable.covers(&bed.at("other/x")));
        assert!(!writable.covers(&bed.at("workshop")));
    }
}
