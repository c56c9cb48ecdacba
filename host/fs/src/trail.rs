//! Follows the links of a path.
//!
//! All other code relies on this module for following links. The caller decides which links may be followed.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::normalized;

/// Maximum number of links in a path, as in the kernel.
const MAX_LINKS: usize = 40;
/// Cost of each path component, in tenths of a microsecond. Querying it costs the same again, plus one for
/// each parent directory.
const STEP_WORK: u32 = 8;
/// Maximum cost of one path. A path of twenty components through ten links costs about five thousand.
const MAX_PATH_WORK: u32 = 20_000;
/// Maximum cost of all paths of a survey: about a second, and enough for 30,000 links.
const MAX_WORK: u32 = 5_000_000;

/// Result of following a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trail {
    /// Links on the way, in order, each at a path that passes through no link.
    pub links: Vec<PathBuf>,
    /// Directories that the path entered and left by `..`. They may not exist: a different directory in their
    /// place would redirect the path.
    pub left: Vec<PathBuf>,
    /// Alternative names of the end: the given path, and the path with each link but the last replaced by its
    /// target. They contain no `..`, provided that their own directories are not links.
    pub forms: Vec<PathBuf>,
    /// End of the path. The existing part passes through no link.
    pub end: PathBuf,
    /// `true` if the end exists.
    pub exists: bool,
    /// Path of a non-directory on the way that keeps the end from existing.
    pub blocked: Option<PathBuf>,
}

/// Reason why a path cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// The caller does not permit following this link.
    #[error("{} is a symbolic link that is not followed", .0.display())]
    Link(PathBuf),
    /// The path has more links than the system would follow.
    #[error("{} leads into a loop of symbolic links", .0.display())]
    TooManyLinks(PathBuf),
    /// The path exceeds the cost limit for a path or for a survey.
    #[error("{} leads through more folders than are followed", .0.display())]
    TooLong(PathBuf),
    /// The file system reported an error.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path.
        path: PathBuf,
        /// Error.
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
    /// Follows all links of an absolute path.
    pub fn follow(path: &Path) -> Result<Self, Lost> {
        Self::follow_where(path, |_| true)
    }

    /// Follows the links of an absolute path that `follows` accepts. It is called with the path of each link.
    pub fn follow_where(path: &Path, follows: impl Fn(&Path) -> bool) -> Result<Self, Lost> {
        Walks::default().follow_where(path, follows)
    }

    fn begun(path: &Path) -> Self {
        let (links, left, blocked) = Default::default();
        Self { links, left, forms: vec![normalized(path)], end: root(path), exists: true, blocked }
    }

    /// Records a link and goes back to the start of its target. `ahead` contains the rest of the path.
    fn pass(&mut self, link: PathBuf, target: &Path, ahead: &[OsString]) {
        if !self.links.is_empty() {
            let rest: PathBuf = ahead.iter().rev().collect();
            self.forms.push(normalized(&link.join(rest)));
        }
        self.links.push(link);
        if target.is_absolute() {
            self.end = root(target);
        } else if target.has_root() {
            // Stays on the same drive, on systems with drives.
            self.end = root(&self.end);
        }
    }
}

/// State of a survey that follows several paths, with a cost limit: untrusted paths must not determine the
/// duration.
#[derive(Debug)]
pub struct Walks {
    /// Paths known to be directories. Valid only for a short time, because they may be replaced.
    folders: HashSet<OsString>,
    /// Remaining cost limit.
    left: u32,
}

impl Default for Walks {
    fn default() -> Self {
        Self { folders: HashSet::new(), left: MAX_WORK }
    }
}

impl Walks {
    /// Returns `true` if the cost limit is used up.
    pub fn is_exhausted(&self) -> bool {
        self.left == 0
    }

    /// Follows all links of an absolute path.
    pub fn follow(&mut self, path: &Path) -> Result<Trail, Lost> {
        self.follow_where(path, |_| true)
    }

    /// Follows the links of an absolute path that `follows` accepts. It is called with the path of each link.
    pub fn follow_where(&mut self, path: &Path, follows: impl Fn(&Path) -> bool) -> Result<Trail, Lost> {
        let mut work = MAX_PATH_WORK.min(self.left);
        let before = work;
        let walked = self.walk(path, &follows, &mut work);
        self.left -= before - work;
        walked
    }

    fn walk(&mut self, path: &Path, follows: &dyn Fn(&Path) -> bool, work: &mut u32) -> Result<Trail, Lost> {
        let mut trail = Trail::begun(path);
        let mut ahead = parts(path);
        // Number of directories above the end, and of trailing components that do not exist.
        let (mut depth, mut missing) = (0_u32, 0_usize);
        while let Some(name) = ahead.pop() {
            *work = work.saturating_sub(STEP_WORK);
            if *work == 0 {
                return Err(Lost::TooLong(path.to_owned()));
            }
            if name == ".." {
                // The directory left here must be recorded, because it may come into existence.
                missing = missing.saturating_sub(1);
                depth = depth.saturating_sub(1);
                if trail.left.last() != Some(&trail.end) {
                    trail.left.push(trail.end.clone());
                }
                trail.end.pop();
                continue;
            }
            trail.end.push(&name);
            depth += 1;
            if missing > 0 {
                missing += 1;
                continue;
            }
            if self.folders.contains::<OsStr>(trail.end.as_os_str()) {
                continue;
            }
            *work = work.saturating_sub(STEP_WORK + depth);
            match trail.end.symlink_metadata() {
                Ok(found) if found.is_symlink() => {
                    let link = trail.end.clone();
                    if !follows(&link) {
                        return Err(Lost::Link(link));
                    }
                    if trail.links.len() == MAX_LINKS {
                        return Err(Lost::TooManyLinks(path.to_owned()));
                    }
                    let target = link.read_link().map_err(|error| Lost::Io { path: link.clone(), error })?;
                    trail.end.pop();
                    trail.pass(link, &target, &ahead);
                    depth = if target.has_root() { 0 } else { depth - 1 };
                    ahead.extend(parts(&target));
                }
                Ok(found) => {
                    if found.is_dir() {
                        self.folders.insert(trail.end.clone().into_os_string());
                    }
                }
                Err(error) if is_absence(&error) => {
                    missing = 1;
                    let blocks = error.kind() == io::ErrorKind::NotADirectory;
                    trail.blocked = trail.end.parent().filter(|_| blocks).map(Path::to_owned);
                }
                Err(error) => return Err(Lost::Io { path: trail.end, error }),
            }
        }
        trail.exists = missing == 0;
        Ok(trail)
    }
}

/// Returns `true` if the error means that the path does not exist.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the root of an absolute path.
pub(crate) fn root(path: &Path) -> PathBuf {
    let is_root = |part: &Component<'_>| matches!(part, Component::Prefix(_) | Component::RootDir);
    path.components().take_while(is_root).collect()
}

/// Returns the components of a path in reverse order.
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
    fn a_path_that_leads_through_too_many_folders_is_not_followed_however_often_it_is_asked_for() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let deep: PathBuf = std::iter::repeat_n("a", 150).collect();
        fs::create_dir_all(root.join(&deep)).unwrap();
        let round = format!("{0}{1}", "a/".repeat(150), "../".repeat(150));
        for number in 1..30 {
            let target = format!("{}{}", round.repeat(4), number + 1);
            symlink(target, root.join(number.to_string())).unwrap();
        }
        fs::write(root.join("30"), "").unwrap();
        fs::read(root.join("1")).expect("the system follows it");
        let begun = std::time::Instant::now();
        let mut walks = Walks::default();
        let mut asked = 0;
        while !walks.is_exhausted() {
            assert!(matches!(walks.follow(&root.join("1")), Err(Lost::TooLong(_))));
            asked += 1;
        }
        assert!(asked >= 250 && begun.elapsed().as_secs() < 20, "{asked} in {:?}", begun.elapsed());
        assert!(matches!(walks.follow(&root.join("30")), Err(Lost::TooLong(_))), "nothing is left");
        assert_eq!(Trail::follow(&root.join("30")).unwrap().end, root.join("30"));
    }

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
