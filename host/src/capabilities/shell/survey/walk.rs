//! The way through all folders, which bounds what one command can leave for the next to look at.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use scorpiox_policy::{DenySet, PACKAGES};

use super::folder::Folder;
use super::{MAX_FOLDERS, SurveyError, Unseen};

/// Deepest folder. What is deeper is closed.
const MAX_DEPTH: usize = 200;
/// Longest path of a folder, in bytes: what lies in it has still a path that the kernel takes.
const MAX_PATH_BYTES: usize = 3_500;

pub(super) struct Walk<'a> {
    deny: &'a DenySet,
    old: HashMap<PathBuf, Folder>,
    folders: HashMap<PathBuf, Folder>,
    ahead: Vec<Ahead>,
    branches: Vec<Branch>,
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
    /// Whether it lies in what a package manager put there.
    is_packed: bool,
}

/// A folder right below a root, with everything in it.
struct Branch {
    path: PathBuf,
    folders: usize,
    closed: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(deny: &'a DenySet, old: HashMap<PathBuf, Folder>) -> Self {
        Self {
            deny,
            old,
            folders: HashMap::new(),
            ahead: Vec::new(),
            branches: Vec::new(),
            unseen: Vec::new(),
            gone: Vec::new(),
        }
    }

    pub(super) fn through(&mut self, roots: &[PathBuf]) -> Result<(), SurveyError> {
        // What is named as a file has nothing in it.
        let folders = roots.iter().filter(|root| !root.is_file());
        self.ahead = folders
            .map(|root| Ahead { path: root.clone(), depth: 0, branch: None, is_packed: false })
            .collect();
        while let Some(next) = self.ahead.pop() {
            let is_closed =
                next.branch.and_then(|at| self.branches.get(at)).is_some_and(|branch| branch.closed);
            if is_closed || self.folders.contains_key(&next.path) {
                continue;
            }
            self.look_at(next)?;
            if self.folders.len() > MAX_FOLDERS {
                self.close_largest_branch(roots)?;
            }
        }
        Ok(())
    }

    /// What was found, and what was not seen.
    pub(super) fn end(mut self) -> (HashMap<PathBuf, Folder>, Vec<Unseen>) {
        // Who takes a folder away while it is looked for, and puts it back, hides nothing.
        let back = self.gone.into_iter().filter(|path| path.symlink_metadata().is_ok());
        self.unseen.extend(back.map(|path| Unseen { path, why: "was moved while it was looked at" }));
        (self.folders, self.unseen)
    }

    fn look_at(&mut self, Ahead { path, depth, branch, is_packed }: Ahead) -> Result<(), SurveyError> {
        if depth > MAX_DEPTH || path.as_os_str().len() > MAX_PATH_BYTES {
            self.unseen.push(Unseen { path, why: "lies too deep" });
            return Ok(());
        }
        let folder = match Folder::read(&path, self.old.remove(&path), is_packed, self.deny) {
            Ok(folder) => folder,
            Err(error) if depth == 0 => return Err(SurveyError::Unreadable { path, error }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.gone.push(path);
                return Ok(());
            }
            Err(error) => {
                let why = match error.kind() {
                    io::ErrorKind::PermissionDenied => "cannot be read",
                    _ => "could not be looked at",
                };
                self.unseen.push(Unseen { path, why });
                return Ok(());
            }
        };
        if let Some(branch) = branch.and_then(|at| self.branches.get_mut(at)) {
            branch.folders += 1;
        }
        for folder in &folder.folders {
            let branch = branch.unwrap_or_else(|| {
                self.branches.push(Branch { path: folder.clone(), folders: 0, closed: false });
                self.branches.len() - 1
            });
            let is_packed = is_packed || folder.file_name().is_some_and(|name| name == PACKAGES);
            self.ahead.push(Ahead {
                path: folder.clone(),
                depth: depth + 1,
                branch: Some(branch),
                is_packed,
            });
        }
        self.folders.insert(path, folder);
        Ok(())
    }

    /// There are too many: the rest goes on without those that one folder holds.
    fn close_largest_branch(&mut self, roots: &[PathBuf]) -> Result<(), SurveyError> {
        let open = self.branches.iter_mut().filter(|branch| !branch.closed);
        let largest = open.max_by_key(|branch| branch.folders).filter(|branch| branch.folders > 1);
        let Some(largest) = largest else {
            return Err(SurveyError::TooLarge(roots.first().cloned().unwrap_or_default()));
        };
        largest.closed = true;
        let closed: &Path = &largest.path;
        self.folders.retain(|path, _| !path.starts_with(closed));
        self.unseen.push(Unseen { path: closed.to_owned(), why: "holds too many folders" });
        Ok(())
    }
}
