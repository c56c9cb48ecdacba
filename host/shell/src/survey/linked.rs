//! Finds names that are protected or denied because of a link to their folder: `hooks` behind a link named
//! `.github`, or `deny = ["conf/*.key"]` behind a link named `conf`.
//!
//! Links are followed in each survey, because their targets can change. Targets outside of the trees are
//! invisible to commands.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use scorpiox_fs::{Lost, Walks};
use scorpiox_policy::{Begun, DeniedBelow, DenySet};

use super::folder::Folder;
use super::{SurveyError, Unseen};

/// Maximum number of directory entries inspected behind links, which takes about a second. Each entry is
/// inspected once for the same globs, so only as many entries can reach the limit.
pub(super) const MAX_ENTRIES: usize = 200_000;

/// Links whose targets matter.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Paths through a link that are protected because of the link's name.
    names: Vec<PathBuf>,
    /// Links behind which a glob may deny something.
    denying: Vec<PathBuf>,
}

/// Names found behind the links.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Linked {
    pub names: Vec<PathBuf>,
    /// Links on the way to these names. Replacing one would redirect to other names.
    pub links: Vec<PathBuf>,
    pub denied: Vec<PathBuf>,
    pub unseen: Vec<Unseen>,
}

/// Rules and trees for following links.
pub(super) struct Follow<'a> {
    pub deny: &'a DenySet,
    pub below: &'a DeniedBelow,
    pub roots: &'a [PathBuf],
    /// Maximum number of entries to inspect.
    pub most_entries: usize,
}

impl Links {
    pub(super) fn of<'a>(folders: impl Iterator<Item = &'a Folder>, below: &DeniedBelow) -> Self {
        let mut links = Self::default();
        for folder in folders {
            links.names.extend_from_slice(&folder.linked_names);
            let denying = folder.links.iter().filter(|link| !below.begun(link).is_empty());
            links.denying.extend(denying.cloned());
        }
        // Sorting makes the choice of skipped entries deterministic.
        links.denying.sort_unstable();
        links
    }

    /// Follows all links.
    pub(super) fn follow(&self, follow: &Follow<'_>) -> Result<Linked, SurveyError> {
        let mut walk = Walk {
            follow,
            left: follow.most_entries,
            walks: Walks::default(),
            seen: HashSet::new(),
            found: Linked::default(),
        };
        let (mut names, mut links) = (Vec::new(), Vec::new());
        for (folder, name) in self.names.iter().filter_map(|path| path.parent().zip(path.file_name())) {
            match walk.walks.follow(folder) {
                Ok(trail) => {
                    names.push(trail.end.join(name));
                    links.extend(trail.links);
                }
                Err(Lost::TooLong(path)) => return Err(SurveyError::Long(path)),
                // Programs cannot follow this link either.
                Err(_) => {}
            }
        }
        for link in &self.denying {
            walk.through(link)?;
        }
        let Linked { mut denied, mut unseen, .. } = walk.found;
        names.sort_unstable();
        links.sort_unstable();
        links.dedup();
        denied.sort_unstable();
        unseen.sort_unstable();
        unseen.dedup();
        Ok(Linked { names, links, denied, unseen })
    }
}

/// Walk through the targets of links.
struct Walk<'a> {
    follow: &'a Follow<'a>,
    left: usize,
    walks: Walks,
    /// Visited folders, by the globs that apply in them.
    seen: HashSet<(PathBuf, Vec<Begun>)>,
    found: Linked,
}

impl Walk<'_> {
    /// Searches for paths that are denied through the name of a link.
    fn through(&mut self, link: &Path) -> Result<(), SurveyError> {
        // Each item holds the path through links and the resolved path.
        let mut ahead = vec![(link.to_owned(), None::<PathBuf>)];
        while let Some((path, real)) = ahead.pop() {
            let begun = self.follow.below.begun(&path);
            let Some(real) = real.map_or_else(|| self.folder_at(&path), |real| Ok(Some(real)))? else {
                continue;
            };
            if begun.is_empty() || !self.is_seen(&real) || !self.seen.insert((real.clone(), begun)) {
                continue;
            }
            let entries = match std::fs::read_dir(&real) {
                Ok(entries) => entries,
                Err(error) if is_absence(&error) => continue,
                Err(_) => {
                    self.leave(real, "could not be looked at", link)?;
                    continue;
                }
            };
            for entry in entries {
                let Ok(entry) = entry else {
                    self.leave(real, "could not be looked at", link)?;
                    break;
                };
                if self.left == 0 {
                    self.leave(real, "has more in it that links lead to than is looked at", link)?;
                    break;
                }
                self.left -= 1;
                let (name, kind) = (entry.file_name(), entry.file_type());
                let (path, real) = (path.join(&name), real.join(&name));
                if self.follow.deny.matches(&path).is_some() {
                    self.found.denied.push(real);
                } else if kind.as_ref().is_ok_and(std::fs::FileType::is_symlink) {
                    ahead.push((path, None));
                } else if !kind.is_ok_and(|kind| kind.is_file()) {
                    ahead.push((path, Some(real)));
                }
            }
        }
        Ok(())
    }

    /// Returns the folder that a path leads to.
    fn folder_at(&mut self, path: &Path) -> Result<Option<PathBuf>, SurveyError> {
        match self.walks.follow(path) {
            Ok(trail) => Ok((trail.exists && trail.end.is_dir()).then_some(trail.end)),
            Err(Lost::TooLong(path)) => Err(SurveyError::Long(path)),
            Err(_) => Ok(None),
        }
    }

    /// Returns `true` if the folder lies in one of the trees or contains one.
    fn is_seen(&self, folder: &Path) -> bool {
        self.follow.roots.iter().any(|root| folder.starts_with(root) || root.starts_with(folder))
    }

    /// Closes a folder that was not searched completely. Fails if the folder contains a root.
    fn leave(&mut self, folder: PathBuf, why: &'static str, link: &Path) -> Result<(), SurveyError> {
        if self.follow.roots.iter().any(|root| root.starts_with(&folder)) {
            return Err(SurveyError::Linked { link: link.to_owned(), folder, why });
        }
        self.found.unseen.push(Unseen { path: folder, why });
        Ok(())
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
