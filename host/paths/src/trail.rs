//! Where a path leads, link by link.
//!
//! The one place that walks links. Whether a link may be followed is for the caller to say.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::normalized;

/// Links that are followed one after the other, as the kernel does.
const MAX_LINKS: usize = 40;
/// Work for each name of a path, in tenths of a microsecond. A look at it takes as much again, and one more for each folder above.
const STEP_WORK: u32 = 8;
/// Most work for one path. A path of twenty names through ten links takes some five thousand.
const MAX_PATH_WORK: u32 = 20_000;
/// Most work for all paths of one look through folders, which is about a second, and enough for 30,000 links.
const MAX_WORK: u32 = 5_000_000;

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
    /// More folders on the way than are followed, for this path or for all of a look.
    #[error("{} leads through more folders than are followed", .0.display())]
    TooLong(PathBuf),
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
        Walks::default().follow_where(path, follows)
    }

    fn begun(path: &Path) -> Self {
        let (links, left, blocked) = Default::default();
        Self { links, left, forms: vec![normalized(path)], end: root(path), exists: true, blocked }
    }

    /// Notes a link on the way, and goes back to where its target begins; `ahead` is what the path has behind it.
    fn pass(&mut self, link: PathBuf, target: &Path, ahead: &[OsString]) {
        if !self.links.is_empty() {
            let rest: PathBuf = ahead.iter().rev().collect();
            self.forms.push(normalized(&link.join(rest)));
        }
        self.links.push(link);
        if target.is_absolute() {
            self.end = root(target);
        } else if target.has_root() {
            // On the same drive, where there are drives.
            self.end = root(&self.end);
        }
    }
}

/// The paths that are followed in one look through folders: whoever chooses them does not choose how long that takes.
#[derive(Debug)]
pub struct Walks {
    /// Paths that are known to be folders. Keep them for one moment: they may be something else later.
    folders: HashSet<OsString>,
    /// Work that is left.
    left: u32,
}

impl Default for Walks {
    fn default() -> Self {
        Self { folders: HashSet::new(), left: MAX_WORK }
    }
}

impl Walks {
    /// Reports whether no more paths are followed.
    pub fn is_exhausted(&self) -> bool {
        self.left == 0
    }

    /// Follows an absolute path through all its links.
    pub fn follow(&mut self, path: &Path) -> Result<Trail, Lost> {
        self.follow_where(path, |_| true)
    }

    /// Follows an absolute path through links that `follows` accepts, each by its path.
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
        // Folders above the end, and parts of it that do not exist.
        let (mut depth, mut missing) = (0_u32, 0_usize);
        while let Some(name) = ahead.pop() {
            *work = work.saturating_sub(STEP_WORK);
            if *work == 0 {
                return Err(Lost::TooLong(path.to_owned()));
            }
            if name == ".." {
                // It may be left again once it is there.
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
