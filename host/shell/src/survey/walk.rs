//! Walks all folders, and bounds how much one command can leave for the next survey.

use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use scorpiox_fs::shortage;
use scorpiox_policy::{DenySet, PACKAGES};

use super::folder::{Folder, Manner};
use super::{SurveyError, Unseen};

/// Maximum depth of a folder. Deeper folders are closed.
const MAX_DEPTH: usize = 200;
/// Reason for closing a folder whose permissions deny reading.
pub(super) const UNREADABLE: &str = "cannot be read";
/// Maximum length of a folder's path in bytes, so that paths inside stay below the kernel's limit.
const MAX_PATH_BYTES: usize = 3_500;

pub(super) struct Walk<'a> {
    deny: &'a DenySet,
    most_folders: usize,
    old: HashMap<PathBuf, Folder>,
    folders: HashMap<PathBuf, Folder>,
    /// Weight of the folders outside closed branches.
    count: usize,
    /// `true` if a folder differs from the last walk.
    changed: bool,
    ahead: Vec<Ahead>,
    branches: Vec<Branch>,
    /// Heap of branches by weight, used once the total is too large. It also contains outdated weights.
    largest: Option<BinaryHeap<(usize, usize)>>,
    unseen: Vec<Unseen>,
    /// Folders that disappeared before they were visited.
    gone: Vec<PathBuf>,
}

/// A folder to visit.
struct Ahead {
    path: PathBuf,
    depth: usize,
    /// Index of its branch. A root has none.
    branch: Option<usize>,
    manner: Manner,
}

/// A folder directly below a root, with its complete content.
struct Branch {
    path: PathBuf,
    folders: usize,
    closed: bool,
}

/// Result of a walk.
pub(super) struct Walked {
    pub folders: HashMap<PathBuf, Folder>,
    pub unseen: Vec<Unseen>,
    /// `true` if a folder differs from the last walk.
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
        // A root that is a file has no content.
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

    /// Returns the folders and the unseen paths.
    pub(super) fn end(mut self) -> Walked {
        self.forget_closed();
        // A program that moves a folder away during the walk and back must not hide it.
        let back = self.gone.into_iter().filter(|path| path.symlink_metadata().is_ok());
        self.unseen.extend(back.map(|path| Unseen { path, why: "was moved while it was looked at" }));
        self.unseen.sort_unstable();
        // Folders left in `old` do not exist anymore.
        let changed = self.changed || !self.old.is_empty();
        Walked { folders: self.folders, unseen: self.unseen, changed }
    }

    /// Returns `true` if a folder disappeared before it was visited. It may have moved to a part already
    /// walked.
    pub(super) fn missed_some(&self) -> bool {
        !self.gone.is_empty()
    }

    /// Returns everything known so far, for the next walk.
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

    /// Skips a folder and reports it as unseen. A denied folder is closed anyway.
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

    /// Closes the largest branch, so that the walk can continue without it.
    fn close_largest_branch(&mut self, roots: &[PathBuf]) -> Result<(), SurveyError> {
        let branches = &mut self.branches;
        let largest = self.largest.get_or_insert_with(|| {
            branches.iter().enumerate().map(|(at, branch)| (branch.folders, at)).collect()
        });
        while let Some((folders, at)) = largest.pop().filter(|(folders, _)| *folders > 1) {
            // The heap also contains outdated weights of a branch.
            let Some(branch) = branches.get_mut(at).filter(|branch| branch.folders == folders) else {
                continue;
            };
            if branch.closed {
                continue;
            }
            branch.closed = true;
            self.count -= folders;
            self.unseen.push(Unseen { path: branch.path.clone(), why: "holds too many folders" });
            // Not after every branch, because each pass visits all folders.
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
