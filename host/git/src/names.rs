//! Collects the files that git obeys, including those that configurations name in each work tree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use scorpiox_fs::{Lost, Trail, Walks};

use crate::config::{Budget, Named, NamedWord};
use crate::user::User;

/// Maximum number of file system checks in total.
const MAX_LOOKS: usize = 100_000;
/// Number of bytes of a path that count as one more check or folder. Commands can create paths of thousands
/// of bytes, and each is stored several times.
const WEIGHT_BYTES: usize = 256;

/// Returns the number of checks or folders that a path counts as.
pub fn weight(path: &Path) -> usize {
    1 + path.as_os_str().len() / WEIGHT_BYTES
}

/// Names of hooks, from `githooks(5)`.
pub const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Names at the top of a git directory that git writes to, and that are rare elsewhere. Git follows a link there.
pub const WRITTEN: [&str; 37] = [
    "ADD_EDIT.patch",
    "AUTO_MERGE",
    "BISECT_ANCESTORS_OK",
    "BISECT_EXPECTED_REV",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_RUN",
    "BISECT_START",
    "BISECT_TERMS",
    "CHERRY_PICK_HEAD",
    "COMMIT_EDITMSG",
    "EDIT_DESCRIPTION",
    "FETCH_HEAD",
    "MERGE_AUTOSTASH",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "NOTES_EDITMSG",
    "NOTES_MERGE_PARTIAL",
    "NOTES_MERGE_REF",
    "NOTES_MERGE_WORKTREE",
    "ORIG_HEAD",
    "REBASE_HEAD",
    "REVERT_HEAD",
    "SQUASH_MSG",
    "TAG_EDITMSG",
    "addp-hunk-edit.diff",
    "config.worktree",
    "gc.log",
    "gc.pid",
    "packed-refs",
    "rebase-apply",
    "rebase-merge",
    "reftable",
    "rr-cache",
    "sequencer",
];

/// Names like those in [`WRITTEN`] that are usual elsewhere, too.
pub const WRITTEN_AND_USUAL: [&str; 9] =
    ["HEAD", "config", "description", "index", "info", "logs", "objects", "refs", "shallow"];

/// Files and folders that git obeys.
#[derive(Debug, Default)]
pub struct Obeyed {
    /// Files and folders that make git start programs; they need not exist, and may be links.
    pub files: BTreeSet<PathBuf>,
    /// Git directories and work trees that were not followed completely.
    pub left_out: BTreeSet<PathBuf>,
    /// Those in `left_out` where git starts without being led there, by a `.git` directly in them.
    pub begun: BTreeSet<PathBuf>,
    /// Folders that a path enters and leaves again (`a/../b`); they must not be moved.
    pub passed: BTreeSet<PathBuf>,
    /// Git directories that were followed.
    pub folders: BTreeSet<PathBuf>,
}

/// Work trees of a repository.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trees {
    /// Work trees in which git starts.
    pub begun: BTreeSet<PathBuf>,
    /// Work trees that the repository itself names.
    pub claimed: BTreeSet<PathBuf>,
}

/// Files and folders collected so far.
pub(crate) struct Names {
    obeyed: Obeyed,
    /// Remaining checks.
    left: usize,
    walks: Walks,
}

impl Names {
    pub(crate) fn new(obeyed: Obeyed) -> Self {
        Self { obeyed, left: MAX_LOOKS, walks: Walks::default() }
    }

    pub(crate) fn end(self) -> Obeyed {
        self.obeyed
    }

    pub(crate) fn add_files(&mut self, files: impl IntoIterator<Item = PathBuf>) {
        self.obeyed.files.extend(files);
    }

    /// Records that these were not followed completely.
    pub(crate) fn leave_out(&mut self, folder: Option<&Path>, trees: &Trees) {
        let Trees { begun, claimed } = trees;
        self.obeyed.left_out.extend(begun.iter().chain(claimed).cloned());
        self.obeyed.left_out.extend(folder.map(Path::to_owned));
        self.obeyed.begun.extend(begun.iter().cloned());
    }

    fn leave_out_tree(&mut self, tree: &Path, begins: bool) {
        self.obeyed.left_out.insert(tree.to_owned());
        if begins {
            self.obeyed.begun.insert(tree.to_owned());
        }
    }

    /// Takes `looks` checks from the budget. Returns `false` if too few remain.
    fn take(&mut self, looks: usize) -> bool {
        let left = self.left.checked_sub(looks);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    /// Adds the absolute paths that a configuration names. Returns `false` if the budget is exhausted.
    pub(crate) fn everywhere(&mut self, named: &Named) -> bool {
        let words: Vec<_> = named.words.iter().filter(|word| word.path.is_absolute()).collect();
        let hooks = named.hooks.iter().filter(|path| path.is_absolute());
        self.take(words.iter().map(|word| weight(&word.path)).sum())
            && words.into_iter().all(|word| self.word(word, Path::new("/")))
            && hooks.into_iter().all(|hooks| self.hooks_path(hooks, None))
    }

    /// Adds the relative paths that a configuration names in a work tree; `begins` is `true` if git starts
    /// there.
    pub(crate) fn in_tree(&mut self, named: &Named, tree: &Path, begins: bool) {
        let words: Vec<_> = named.words.iter().filter(|word| word.path.is_relative()).collect();
        let mut hooks = named.hooks.iter().filter(|path| path.is_relative());
        let weights = words.iter().map(|word| weight(tree) + weight(&word.path) - 1);
        let is_all = self.take(weights.sum())
            && words.into_iter().all(|word| self.word(word, tree))
            && hooks.all(|hooks| self.hooks_path(&plain(&tree.join(hooks)), Some(tree)));
        if !is_all {
            self.leave_out_tree(tree, begins);
        }
    }

    /// Adds a user configuration that is relative to the work tree in which git is started, and the paths it
    /// names.
    pub(crate) fn config_in_tree(
        &mut self,
        tree: &Path,
        config: &Path,
        user: &User,
        budget: &mut Budget,
        begins: bool,
    ) {
        let file = tree.join(config);
        let named = Named::read(&file, user, budget);
        self.add_files(named.includes.iter().cloned());
        self.add_files([file]);
        if !named.is_cut && self.everywhere(&named) {
            self.in_tree(&named, tree, begins);
        } else {
            self.leave_out_tree(tree, begins);
        }
    }

    fn word(&mut self, word: &NamedWord, tree: &Path) -> bool {
        let path = plain(&tree.join(&word.path));
        let counts = match path.symlink_metadata() {
            // A word that names a folder is not a program.
            Ok(found) => !found.is_dir(),
            Err(_) => word.may_come,
        };
        if counts {
            self.obeyed.files.insert(path);
        }
        true
    }

    /// Adds a hook folder that a configuration names.
    fn hooks_path(&mut self, folder: &Path, tree: Option<&Path>) -> bool {
        // A generated folder, as created by husky, runs the scripts in its parent folder.
        let beside = folder.parent().filter(|_| folder.ends_with("_"));
        self.obeyed.files.extend(beside.filter(|beside| Some(*beside) != tree).map(Path::to_owned));
        let Trail { links, end, .. } = match self.walks.follow(folder) {
            Ok(trail) => trail,
            Err(lost) => return !matches!(lost, Lost::TooLong(_)),
        };
        let real = tree.and_then(|tree| self.walks.follow(tree).ok()).filter(|tree| tree.exists);
        let real = real.map(|tree| tree.end);
        if real.is_some_and(|real| real.starts_with(&end)) {
            // A folder that contains more than hooks cannot be locked, so only the hooks in it are added.
            self.obeyed.files.extend(links);
            self.obeyed.files.extend(HOOKS.map(|name| end.join(name)));
            return self.take(HOOKS.len() * weight(&end));
        }
        self.obeyed.files.insert(folder.to_owned());
        self.hooks_in(&end)
    }

    /// Adds hooks that are links. Returns `false` if the budget is exhausted.
    pub(crate) fn hooks_in(&mut self, folder: &Path) -> bool {
        let Ok(entries) = folder.read_dir() else { return true };
        for entry in entries.flatten() {
            if !self.take(weight(folder)) {
                return false;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                self.obeyed.files.insert(entry.path());
            }
        }
        true
    }
}

/// Removes `.` from a path; `..` stays, because a link may precede it.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}
