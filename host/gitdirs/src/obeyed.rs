//! From the folders of repositories to all that git obeys in them and because of them.
//!
//! A command chooses what there is to follow, and how much of it: so all of it is bounded, and what
//! lies beyond a bound is named for the caller to close.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use scorpiox_paths::{Lost, Trail};

use crate::config::{Budget, Named};
use crate::names::{Names, Obeyed, Trees};
use crate::parse::before_zero;
use crate::user::User;
use crate::{OBEYED, read};

/// Folders and pointers of git's that are followed. Each leads to a few more.
pub const MAX_REPOSITORIES: usize = 4_000;
const MAX_MET: usize = 4 * MAX_REPOSITORIES;
/// Bytes that are read of a file whose text is a path. What is longer is padded.
const MAX_PATH_BYTES: u64 = 64 << 10;
/// Folders in which paths mean something else to each process.
const OF_PROCESS: [&str; 2] = ["/proc", "/dev"];
/// Folders that lead to a common one, which leads to another; git follows one.
const MAX_COMMON: usize = 4;

/// Where to begin. All paths are absolute.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Folders of git's, under any name. Those that come first are followed first.
    pub folders: &'a [PathBuf],
    /// What is called `.git` and is not a folder: files and links.
    pub pointers: &'a [PathBuf],
    /// The user who starts git.
    pub user: &'a User,
}

/// Follows git, as far as the bounds go.
pub fn obeyed(seen: Seen<'_>) -> Obeyed {
    let mut walk = Walk::through(seen);
    walk.share_trees();
    walk.end()
}

/// All that git is led to.
pub(crate) struct Walk<'a> {
    user: &'a User,
    /// The variables of the user's environment.
    given: Named,
    obeyed: Obeyed,
    open: VecDeque<PathBuf>,
    budget: Budget,
    pub(crate) met: BTreeMap<PathBuf, Met>,
    /// A pointer leads to what is no repository now, or where other content can come without being made, or on a way that can
    /// be led elsewhere: through a link, or into a folder and out of it again.
    pub(crate) is_astray: bool,
}

/// A folder of git's.
#[derive(Default)]
pub(crate) struct Met {
    trees: Trees,
    /// The folder that it shares with other work trees.
    common: Option<PathBuf>,
    pub(crate) named: Vec<Named>,
}

pub(crate) fn is_dot_git(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"))
}

impl<'a> Walk<'a> {
    /// Goes wherever git may go.
    pub(crate) fn through(seen: Seen<'a>) -> Self {
        let (mut budget, user) = (Budget::default(), seen.user);
        let given = Named::given(user, &mut budget);
        let (obeyed, open, met) = Default::default();
        let mut walk = Self { user, given, obeyed, open, budget, met, is_astray: false };
        for folder in seen.folders {
            let tree = is_dot_git(folder).then(|| folder.parent()).flatten();
            walk.meet(folder, tree);
        }
        for pointer in seen.pointers {
            walk.pointer(pointer);
        }
        walk.of_environment(seen);
        while let Some(folder) = walk.open.pop_front() {
            walk.folder(&folder);
        }
        walk
    }

    /// Reports whether something was not followed.
    pub(crate) fn is_cut(&self) -> bool {
        !self.obeyed.left_out.is_empty()
    }

    /// Repositories that the environment names.
    fn of_environment(&mut self, seen: Seen<'_>) {
        for named in &seen.user.repositories {
            let met = seen.folders.iter().chain(seen.pointers).filter_map(|path| path.parent());
            let bases = if named.is_absolute() { vec![Path::new("/")] } else { met.collect() };
            for base in bases {
                let path = base.join(named);
                if path.is_dir() {
                    self.meet(&path, None);
                } else if path.symlink_metadata().is_ok() {
                    self.pointer(&path);
                }
            }
        }
    }

    /// A folder of git's, and a work tree in which git begins.
    fn meet(&mut self, folder: &Path, tree: Option<&Path>) {
        if !self.met.contains_key(folder) {
            if self.met.len() >= MAX_MET {
                self.obeyed.left_out.insert(folder.to_owned());
                self.obeyed.left_out.extend(tree.map(Path::to_owned));
                self.obeyed.begun.extend(tree.map(Path::to_owned));
                return;
            }
            self.met.insert(folder.to_owned(), Met::default());
            self.open.push_back(folder.to_owned());
        }
        if let Some(met) = self.met.get_mut(folder) {
            met.trees.begun.extend(tree.map(Path::to_owned));
        }
    }

    /// A `.git` that leads elsewhere: by a link, by its text, or by both.
    fn pointer(&mut self, pointer: &Path) {
        self.obeyed.files.insert(pointer.to_owned());
        let tree = pointer.parent();
        let trail = match self.budget.walks.follow(pointer) {
            Ok(trail) => trail,
            Err(lost) => {
                if let (Lost::TooLong(_), Some(tree)) = (lost, tree) {
                    self.leave_out(tree);
                }
                return;
            }
        };
        if trail.end.is_dir() {
            self.is_astray |= !trail.links.is_empty();
            self.meet(&trail.end, tree);
            return;
        }
        let named =
            read::text(&trail.end, MAX_PATH_BYTES).map(|text| gitdir(&text.bytes)).unwrap_or_default();
        // Git reads the text as relative to the link.
        let bases: Vec<&Path> = tree.into_iter().chain(trail.end.parent()).collect();
        let folders = named.iter().flat_map(|named| bases.iter().map(move |base| base.join(named)));
        for folder in folders.collect::<BTreeSet<_>>() {
            if let Some(end) = self.led(&folder, pointer) {
                self.meet(&end, tree);
            }
        }
    }

    /// Leaves out a folder in which something leads git where nobody looked.
    fn leave_out(&mut self, folder: &Path) {
        self.obeyed.left_out.insert(folder.to_owned());
        self.obeyed.begun.insert(folder.to_owned());
    }

    /// Follows a path that stands in `from`, to its end.
    fn led(&mut self, path: &Path, from: &Path) -> Option<PathBuf> {
        let trail = match self.budget.walks.follow(path) {
            Ok(trail) => trail,
            Err(lost) => {
                self.is_astray = true;
                if let (Lost::TooLong(_), Some(folder)) = (lost, from.parent()) {
                    self.leave_out(folder);
                }
                return None;
            }
        };
        self.is_astray |= !trail.links.is_empty() || leads_astray(&trail);
        self.obeyed.files.extend(trail.links);
        let passed = trail.left.into_iter().filter(|left| !from.starts_with(left)).collect::<Vec<_>>();
        self.is_astray |= !passed.is_empty();
        self.obeyed.passed.extend(passed);
        Some(trail.end)
    }

    fn folder(&mut self, folder: &Path) {
        self.obeyed.files.extend(OBEYED.map(|name| folder.join(name)));
        let attributes = folder.join("info/attributes");
        if attributes.symlink_metadata().is_ok() {
            self.obeyed.files.insert(attributes);
        }
        let mut claimed = BTreeSet::from([folder.to_owned()]);
        // The folder of a work tree that was added names that tree, and the one that they share.
        for back in lines(&folder.join("gitdir")) {
            claimed.extend(folder.join(back).parent().map(Path::to_owned));
        }
        let mut common = None;
        for named in lines(&folder.join("commondir")) {
            if let Some(end) = self.led(&folder.join(named), folder) {
                self.meet(&end, None);
                common.get_or_insert(end);
            }
        }
        let configs = ["config", "config.worktree"].map(|name| folder.join(name));
        let named = configs.map(|file| Named::read(&file, self.user, &mut self.budget));
        let work_trees = named.iter().chain([&self.given]).flat_map(|named| &named.work_trees);
        claimed.extend(work_trees.map(|tree| folder.join(tree)));
        if let Some(met) = self.met.get_mut(folder) {
            met.trees.claimed = claimed;
            met.common = common;
            met.named = named.into();
        }
    }

    /// What a common folder says holds in the work trees of those that share it.
    fn share_trees(&mut self) {
        let shared = self.met.values().filter_map(|met| Some((met.common.clone()?, met.trees.clone())));
        for (first, trees) in shared.collect::<Vec<_>>() {
            let mut common = Some(first);
            for _ in 0..MAX_COMMON {
                let Some(met) = common.take().and_then(|common| self.met.get_mut(&common)) else { break };
                met.trees.begun.extend(trees.begun.iter().cloned());
                met.trees.claimed.extend(trees.claimed.iter().cloned());
                common.clone_from(&met.common);
            }
        }
    }

    /// All that the configurations name, in each work tree.
    fn end(self) -> Obeyed {
        let mut names = Names::new(self.obeyed);
        let mut budget = Budget::default();
        let (everywhere, in_each): (Vec<&PathBuf>, Vec<_>) =
            self.user.configs.iter().partition(|file| file.is_absolute());
        let mut users: Vec<Named> =
            everywhere.iter().map(|file| Named::read(file, self.user, &mut budget)).collect();
        users.push(self.given);
        names.add_files(everywhere.into_iter().cloned());
        let users_are_all = users.iter().all(|named| !named.is_cut && names.everywhere(named));
        let mut in_trees = Vec::new();
        for (folder, met) in &self.met {
            let is_all = met.named.iter().all(|named| !named.is_cut && names.everywhere(named));
            let hooks_are_all = names.hooks_in(&folder.join("hooks"));
            if !is_all || !hooks_are_all || !users_are_all {
                names.leave_out((!is_all).then_some(folder), &met.trees);
            }
            let begun = met.trees.begun.iter().map(|tree| (true, tree));
            let claimed = met.trees.claimed.difference(&met.trees.begun).map(|tree| (false, tree));
            let trees = begun.chain(claimed);
            in_trees.extend(trees.map(|(begins, tree)| (tree.components().count(), !begins, tree, met)));
        }
        // The person's own come before what a command put deep into them.
        in_trees.sort_by_key(|(depth, claimed, tree, _)| (*depth, *claimed, *tree));
        for (_, claimed, tree, met) in in_trees {
            for named in users.iter().chain(&met.named) {
                names.in_tree(named, tree, !claimed);
            }
            for config in &in_each {
                names.config_in_tree(tree, config, self.user, &mut budget, !claimed);
            }
        }
        for named in users.iter().chain(self.met.values().flat_map(|met| &met.named)) {
            names.add_files(named.includes.iter().cloned());
        }
        names.end()
    }
}

/// Reports whether a pointer leads where nobody can say what git will find: to nothing, to what depends on the process
/// that looks, or into a work tree, which a checkout fills with other files.
fn leads_astray(trail: &Trail) -> bool {
    let of_process = |path: &Path| OF_PROCESS.iter().any(|root| path.starts_with(root));
    if !trail.end.is_dir() || of_process(&trail.end) || trail.links.iter().any(|link| of_process(link)) {
        return true;
    }
    for folder in trail.end.ancestors() {
        if is_dot_git(folder) {
            // Git checks nothing out there.
            return false;
        }
        if folder != trail.end && folder.join(".git").symlink_metadata().is_ok() {
            return true;
        }
    }
    false
}

/// The paths in a `.git` file.
fn gitdir(text: &[u8]) -> Vec<PathBuf> {
    text.strip_prefix(b"gitdir:")
        .map(|text| paths(text.strip_prefix(b" ").unwrap_or(text)))
        .unwrap_or_default()
}

/// The paths that may be all of a small file.
fn lines(file: &Path) -> Vec<PathBuf> {
    read::text(file, MAX_PATH_BYTES).map(|text| paths(&text.bytes)).unwrap_or_default()
}

/// The texts that git takes a text for. First: without the ends of lines at its end, up to a byte of zero. Then the same without
/// blanks, as other programs may read it.
fn paths(text: &[u8]) -> Vec<PathBuf> {
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let end = text.iter().rposition(|byte| !is_end(byte)).map_or(0, |last| last + 1);
    let of_git = before_zero(&text[..end]);
    let others = before_zero(text).trim_ascii();
    let mut texts = vec![of_git];
    texts.extend(Some(others).filter(|others| *others != of_git));
    texts.into_iter().filter(|text| !text.is_empty()).filter_map(read::path).collect()
}

#[cfg(test)]
mod tests;
