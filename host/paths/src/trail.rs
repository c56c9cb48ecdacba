//! Where a path leads, link by link.
//!
//! The one place that walks links. Whether a link may be followed is for the caller to say.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::normalized;

/// Links that are followed one after the other, as the kernel does.
const MAX_LINKS: usize = 40;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trail {
    /// The links on the way, in their order, each at a path that passes through no link.
    pub links: Vec<PathBuf>,
    /// Folders that the path entered and left again by `..`, which may not exist: another folder in such a place would lead the
    /// path elsewhere.
    pub left: Vec<PathBuf>,
    /// The names by which the path has the end: as it was given, and with each link replaced by what that leads to but for the last.
    /// Each is without `..`, as far as its own folders are no links.
    pub forms: Vec<PathBuf>,
    /// The end, at a path that passes through no link as far as it exists.
    pub end: PathBuf,
    /// Whether the end exists.
    pub exists: bool,
    /// What keeps the end from existing: no folder, in the place of one on the way.
    pub blocked: Option<PathBuf>,
}

/// Why nobody can say where a path leads.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// A link that the caller does not follow.
    #[error("{} is a symbolic link that is not followed", .0.display())]
    Link(PathBuf),
    /// More links than the system would follow.
    #[error("{} leads into a loop of symbolic links", .0.display())]
    TooManyLinks(PathBuf),
    /// The system refused a look.
    #[error("{}: {error}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl From<Lost> for io::Error {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Io { error, .. } => error,
            other => Self::other(other.to_string()),
        }
    }
}

impl Trail {
    /// Follows an absolute path through all its links.
    pub fn follow(path: &Path) -> Result<Self, Lost> {
        Self::follow_where(path, |_| true)
    }

    /// Follows an absolute path through links that `follows` accepts, each by its path.
    pub fn follow_where(path: &Path, follows: impl Fn(&Path) -> bool) -> Result<Self, Lost> {
        Self::follow_knowing(path, follows, &mut HashSet::new())
    }

    /// The same, without a look at what is known to be a folder; adds to that.
    pub(crate) fn follow_knowing(
        path: &Path,
        follows: impl Fn(&Path) -> bool,
        folders: &mut HashSet<PathBuf>,
    ) -> Result<Self, Lost> {
        let mut trail = Self {
            links: Vec::new(),
            left: Vec::new(),
            forms: vec![normalized(path)],
            end: root(path),
            exists: true,
            blocked: None,
        };
        let mut ahead = parts(path);
        // Parts of the end that do not exist.
        let mut missing = 0_usize;
        while let Some(name) = ahead.pop() {
            if name == ".." {
                // It may be left again once it is there.
                missing = missing.saturating_sub(1);
                trail.left.push(trail.end.clone());
                trail.end.pop();
                continue;
            }
            let next = trail.end.join(&name);
            if missing > 0 {
                missing += 1;
                trail.end = next;
                continue;
            }
            if folders.contains(&next) {
                trail.end = next;
                continue;
            }
            match next.symlink_metadata() {
                Ok(found) if found.is_symlink() => {
                    if !follows(&next) {
                        return Err(Lost::Link(next));
                    }
                    if trail.links.len() == MAX_LINKS {
                        return Err(Lost::TooManyLinks(path.to_owned()));
                    }
                    let target = next.read_link().map_err(|error| Lost::Io { path: next.clone(), error })?;
                    if !trail.links.is_empty() {
                        let rest: PathBuf = ahead.iter().rev().collect();
                        trail.forms.push(normalized(&next.join(rest)));
                    }
                    trail.links.push(next);
                    if target.is_absolute() {
                        trail.end = root(&target);
                    } else if target.has_root() {
                        // On the same drive, where there are drives.
                        trail.end = root(&trail.end);
                    }
                    ahead.extend(parts(&target));
                }
                Ok(found) => {
                    if found.is_dir() {
                        folders.insert(next.clone());
                    }
                    trail.end = next;
                }
                Err(error) if is_absence(&error) => {
                    missing = 1;
                    trail.blocked = (error.kind() == io::ErrorKind::NotADirectory).then(|| trail.end.clone());
                    trail.end = next;
                }
                Err(error) => return Err(Lost::Io { path: next, error }),
            }
        }
        trail.exists = missing == 0;
        Ok(trail)
    }
}

/// Whether an error says that there is nothing.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Where an absolute path begins.
pub(crate) fn root(path: &Path) -> PathBuf {
    let is_root = |part: &Component<'_>| matches!(part, Component::Prefix(_) | Component::RootDir);
    path.components().take_while(is_root).collect()
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    };
    path.components().rev().filter_map(part).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_of_a_chain_is_named_and_what_is_missing_at_its_end() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real/deep")).unwrap();
        symlink("b", root.join("a")).unwrap();
        symlink(root.join("c/deep/../x"), root.join("b")).unwrap();
        symlink("real", root.join("c")).unwrap();
        let trail = Trail::follow(&root.join("a")).unwrap();
        assert_eq!(trail.links, [root.join("a"), root.join("b"), root.join("c")]);
        assert_eq!((trail.end, trail.exists), (root.join("real/x"), false));
        assert_eq!(trail.forms, [root.join("a"), root.join("b"), root.join("c/x")]);
        let trail = Trail::follow(&root.join("c/deep")).unwrap();
        assert_eq!((trail.end, trail.exists), (root.join("real/deep"), true));
        fs::write(root.join("real/file"), "").unwrap();
        let trail = Trail::follow(&root.join("c/file/x/y")).unwrap();
        assert_eq!((trail.end, trail.exists), (root.join("real/file/x/y"), false));
        assert_eq!(trail.blocked, Some(root.join("real/file")));
        let trail = Trail::follow(&root.join("none/../c/x")).unwrap();
        assert_eq!(trail.end, root.join("real/x"), "a folder that may come is left again");
        symlink("loop", root.join("loop")).unwrap();
        assert!(Trail::follow(&root.join("loop/x")).is_err());
    }
}
