//! What git obeys: gathered, with what configurations name in each work tree that they hold in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use scorpiox_paths::{Lost, Trail, Walks};

use crate::config::{Budget, Named, NamedWord};
use crate::user::User;

/// Most looks at files, for all of it.
const MAX_LOOKS: usize = 100_000;

/// What git starts in a folder of hooks, from `githooks(5)`.
pub(crate) const HOOKS: [&str; 28] = [
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

/// What git obeys.
#[derive(Debug, Default)]
pub struct Obeyed {
    /// Files and folders that make git start programs; they need not exist, and may be links.
    pub files: BTreeSet<PathBuf>,
    /// Folders of git's, and work trees, of which not everything was followed.
    pub left_out: BTreeSet<PathBuf>,
    /// Those of them in which git begins without being led there: by a `.git` right in it.
    pub begun: BTreeSet<PathBuf>,
    /// Folders through which a path leads and out of which it leads again (`a/../b`): they stay where they are.
    pub passed: BTreeSet<PathBuf>,
}

/// Work trees of a repository.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trees {
    /// Those in which git begins.
    pub begun: BTreeSet<PathBuf>,
    /// Those that the repository names itself.
    pub claimed: BTreeSet<PathBuf>,
}

/// What is known so far.
pub(crate) struct Names {
    obeyed: Obeyed,
    /// Looks that are left.
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

    /// Not everything was followed for these.
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

    /// Takes so many looks, if they are left.
    fn take(&mut self, looks: usize) -> bool {
        let left = self.left.checked_sub(looks);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    /// What a configuration names wherever it holds. Whether that was all.
    pub(crate) fn everywhere(&mut self, named: &Named) -> bool {
        let words: Vec<_> = named.words.iter().filter(|word| word.path.is_absolute()).collect();
        let hooks = named.hooks.iter().filter(|path| path.is_absolute());
        self.take(words.len())
            && words.into_iter().all(|word| self.word(word, Path::new("/")))
            && hooks.into_iter().all(|hooks| self.hooks_path(hooks, None))
    }

    /// What it names in a work tree, in which git begins or not.
    pub(crate) fn in_tree(&mut self, named: &Named, tree: &Path, begins: bool) {
        let words: Vec<_> = named.words.iter().filter(|word| word.path.is_relative()).collect();
        let mut hooks = named.hooks.iter().filter(|path| path.is_relative());
        let is_all = self.take(words.len())
            && words.into_iter().all(|word| self.word(word, tree))
            && hooks.all(|hooks| self.hooks_path(&plain(&tree.join(hooks)), Some(tree)));
        if !is_all {
            self.leave_out_tree(tree, begins);
        }
    }

    /// Paths of the work tree in which git is started that a configuration of the user's names.
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
            // A word that is the name of a folder is not a program.
            Ok(found) => !found.is_dir(),
            Err(_) => word.may_come,
        };
        if counts {
            self.obeyed.files.insert(path);
        }
        true
    }

    /// A folder of hooks that a configuration names.
    fn hooks_path(&mut self, folder: &Path, tree: Option<&Path>) -> bool {
        // One that is generated, as husky does, runs the scripts beside it.
        let beside = folder.parent().filter(|_| folder.ends_with("_"));
        self.obeyed.files.extend(beside.filter(|beside| Some(*beside) != tree).map(Path::to_owned));
        let Trail { links, end, .. } = match self.walks.follow(folder) {
            Ok(trail) => trail,
            Err(lost) => return !matches!(lost, Lost::TooLong(_)),
        };
        let real = tree.and_then(|tree| self.walks.follow(tree).ok()).filter(|tree| tree.exists);
        let real = real.map(|tree| tree.end);
        if real.is_some_and(|real| real.starts_with(&end)) {
            // What is more than hooks cannot stay as it is.
            self.obeyed.files.extend(links);
            self.obeyed.files.extend(HOOKS.map(|name| end.join(name)));
            return self.take(HOOKS.len());
        }
        self.obeyed.files.insert(folder.to_owned());
        self.hooks_in(&end)
    }

    /// Hooks that are links. Whether these were all.
    pub(crate) fn hooks_in(&mut self, folder: &Path) -> bool {
        let Ok(entries) = folder.read_dir() else { return true };
        for entry in entries.flatten() {
            if !self.take(1) {
                return false;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                self.obeyed.files.insert(entry.path());
            }
        }
        true
    }
}

/// A path without `.`; `..` stays, since a link may come before it.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}
