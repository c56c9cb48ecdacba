//! The way through all folders, which bounds what one command can leave for the next to look at.

use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use scorpiox_paths::shortage;
use scorpiox_policy::{DenySet, PACKAGES};

use super::folder::{Folder, Manner};
use super::{SurveyError, Unseen};

/// Deepest folder. What is deeper is closed.
const MAX_DEPTH: usize = 200;
/// The reason to close a folder whose mode lets nobody look.
pub(super) const UNREADABLE: &str = "cannot be read";
/// Longest path of a folder, in bytes: what lies in it has still a path that the kernel takes.
const MAX_PATH_BYTES: usize = 3_500;

pub(super) struct Walk<'a> {
    deny: &'a DenySet,
    most_folders: usize,
    old: HashMap<PathBuf, Folder>,
    folders: HashMap<PathBuf, Folder>,
    /// Those of them that lie in no closed branch.
    count: usize,
    /// Whether something is not as it was.
    changed: bool,
    ahead: Vec<Ahead>,
    branches: Vec<Branch>,
    /// Branches by what is in them, once there is too much in all of them: also as they were before.
    largest: Option<BinaryHeap<(usize, usize)>>,
    unseen: Vec<Unseen>,
    /// Folders that were not there any more when it was their turn.
    gone: Vec<PathBuf>,
}

/// A folder that is yet to be looked at.
struct Ahead {
    path: PathBuf,
    depth: usize,
    /// Which branch it lies in; a root lies in none.
    branch: Option<usize>,
    manner: Manner,
}

/// A folder right below a root, with everything in it.
struct Branch {
    path: PathBuf,
    folders: usize,
    closed: bool,
}

/// What came of a walk.
pub(super) struct Walked {
    pub folders: HashMap<PathBuf, Folder>,
    pub unseen: Vec<Unseen>,
    /// Whether a folder is not as it was at the last walk.
    pub changed: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(deny: &'a DenySet, most_folders: usize, old: HashMap<PathBuf, Folder>) -> Self {
        Self {
            deny,
            most_folders,
            old,
            folders: HashMap::new(),
            count: 0,
            changed: false,
            ahead: Vec::new(),
            branches: Vec::new(),
            largest: None,
            unseen: Vec::new(),
            gone: Vec::new(),
        }
    }

    pub(super) fn through(&mut self, roots: &[PathBuf]) -> Result<(), SurveyError> {
        self.folders.reserve(self.old.len());
        // What is named as a file has nothing in it.
        let folders = roots.iter().filter(|root| !root.is_file());
        self.ahead = folders
            .map(|root| Ahead { path: root.clone(), depth: 0, branch: None, manner: Manner::Open })
            .collect();
        while let Some(next) = self.ahead.pop() {
            let branch = next.branch.and_then(|at| self.branches.get(at));
            if branch.is_some_and(|branch| branch.closed) || self.folders.contains_key(&next.path) {
                continue;
            }
            self.look_at(next)?;
            if self.count > self.most_folders {
                self.close_largest_branch(roots)?;
            }
        }
        Ok(())
    }

    /// What was found, and what was not seen.
    pub(super) fn end(mut self) -> Walked {
        self.forget_closed();
        // Who takes a folder away while it is looked for, and puts it back, hides nothing.
        let back = self.gone.into_iter().filter(|path| path.symlink_metadata().is_ok());
        self.unseen.extend(back.map(|path| Unseen { path, why: "was moved while it was looked at" }));
        self.unseen.sort_unstable();
        // What is left of the last walk is not there any more.
        let changed = self.changed || !self.old.is_empty();
        Walked { folders: self.folders, unseen: self.unseen, changed }
    }

    /// Reports whether a folder went away before its turn: it may be where this walk has been already.
    pub(super) fn missed_some(&self) -> bool {
        !self.gone.is_empty()
    }

    /// What is known by now, for the next walk, when this one cannot go on.
    pub(super) fn give_up(mut self) -> HashMap<PathBuf, Folder> {
        self.folders.extend(self.old);
        self.folders
    }

    fn look_at(&mut self, Ahead { path, depth, branch, manner }: Ahead) -> Result<(), SurveyError> {
        if depth > MAX_DEPTH || path.as_os_str().len() > MAX_PATH_BYTES {
            self.leave(path, manner, "lies too deep");
            return Ok(());
        }
        let old = self.old.remove(&path);
        let was_known = old.is_some();
        let folder = match Folder::read(&path, old, manner, self.deny) {
            Ok((folder, is_new)) => {
                self.changed |= is_new;
                folder
            }
            Err(error) if depth == 0 && error.kind() == io::ErrorKind::ResourceBusy => {
                return Err(SurveyError::Restless(path));
            }
            Err(error) if depth == 0 && error.kind() == io::ErrorKind::QuotaExceeded => {
                return Err(SurveyError::TooLarge(path));
            }
            Err(error) if depth == 0 || shortage(&error).is_some() => {
                return Err(SurveyError::Unreadable { path, error });
            }
            Err(error) => {
                self.changed |= was_known;
                match error.kind() {
                    io::ErrorKind::NotFound => self.gone.push(path),
                    io::ErrorKind::PermissionDenied => self.leave(path, manner, UNREADABLE),
                    io::ErrorKind::ResourceBusy => self.leave(path, manner, "changed at each look"),
                    io::ErrorKind::QuotaExceeded => {
                        self.leave(path, manner, "holds too many links and folders");
                    }
                    _ => self.leave(path, manner, "could not be looked at"),
                }
                return Ok(());
            }
        };
        self.count += folder.weight();
        self.note_in_branch(branch, folder.weight());
        for (folder, manner) in folder.below() {
            let branch = branch.unwrap_or_else(|| {
                self.branches.push(Branch { path: folder.to_owned(), folders: 0, closed: false });
                self.branches.len() - 1
            });
            let is_packed = folder.file_name().is_some_and(|name| name == PACKAGES);
            let manner = if is_packed { manner.packed() } else { manner };
            self.ahead.push(Ahead {
                path: folder.to_owned(),
                depth: depth + 1,
                branch: Some(branch),
                manner,
            });
        }
        self.folders.insert(path, folder);
        Ok(())
    }

    /// A folder that is not looked at. What is denied is closed anyway.
    fn leave(&mut self, path: PathBuf, manner: Manner, why: &'static str) {
        if manner != Manner::Denied {
            self.unseen.push(Unseen { path, why });
        }
    }

    fn note_in_branch(&mut self, at: Option<usize>, weight: usize) {
        let Some((at, branch)) = at.and_then(|at| Some((at, self.branches.get_mut(at)?))) else { return };
        branch.folders += weight;
        if let Some(largest) = &mut self.largest {
            largest.push((branch.folders, at));
        }
    }

    /// There are too many: the rest goes on without those that one folder holds.
    fn close_largest_branch(&mut self, roots: &[PathBuf]) -> Result<(), SurveyError> {
        let branches = &mut self.branches;
        let largest = self.largest.get_or_insert_with(|| {
            branches.iter().enumerate().map(|(at, branch)| (branch.folders, at)).collect()
        });
        while let Some((folders, at)) = largest.pop().filter(|(folders, _)| *folders > 1) {
            // What it had before it grew is in there, too.
            let Some(branch) = branches.get_mut(at).filter(|branch| branch.folders == folders) else {
                continue;
            };
            if branch.closed {
                continue;
            }
            branch.closed = true;
            self.count -= folders;
            self.unseen.push(Unseen { path: branch.path.clone(), why: "holds too many folders" });
            // Not for each: that would be as many times all of them.
            if self.folders.len() > 2 * self.most_folders {
                self.forget_closed();
            }
            return Ok(());
        }
        Err(SurveyError::TooLarge(roots.first().cloned().unwrap_or_default()))
    }

    fn forget_closed(&mut self) {
        let closed: HashSet<&Path> =
            self.branches.iter().filter(|branch| branch.closed).map(|branch| branch.path.as_path()).collect();
        if !closed.is_empty() {
            self.changed = true;
            self.folders.retain(|path, _| !path.ancestors().any(|folder| closed.contains(folder)));
        }
    }
}
