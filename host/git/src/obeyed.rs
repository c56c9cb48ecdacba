//! Follows git from repositories to all files that it obeys in them and because of them.
//!
//! A command controls how much there is to follow. All work is therefore bounded, and paths beyond a limit
//! are reported for the caller to protect.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use scorpiox_fs::{Lost, Trail};

use crate::config::{Budget, Named};
use crate::names::{Names, Obeyed, Trees, weight};
use crate::parse::before_zero;
use crate::user::User;
use crate::{OBEYED, read};

/// Maximum number of git directories and pointers to follow, each counted by its [`weight`]. Each leads to a
/// few more.
pub const MAX_REPOSITORIES: usize = 4_000;
const MAX_MET: usize = 4 * MAX_REPOSITORIES;
/// Maximum number of bytes read from a file that contains a path. Longer files are padded.
const MAX_PATH_BYTES: u64 = 64 << 10;
/// Folders in which paths have a different meaning for each process.
const OF_PROCESS: [&str; 2] = ["/proc", "/dev"];
/// Maximum length of a chain of `commondir` files; git follows one.
const MAX_COMMON: usize = 4;

/// Starting points. All paths are absolute.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Git directories under any name. They are followed in order.
    pub folders: &'a [PathBuf],
    /// Files and links named `.git`.
    pub pointers: &'a [PathBuf],
    /// User that starts git.
    pub user: &'a User,
}

/// Follows git within the limits.
pub fn obeyed(seen: Seen<'_>) -> Obeyed {
    let mut walk = Walk::through(seen);
    walk.share_trees();
    walk.end()
}

/// Traversal of everything that git is led to.
pub(crate) struct Walk<'a> {
    user: &'a User,
    /// Configuration from the user's environment.
    given: Named,
    obeyed: Obeyed,
    open: VecDeque<PathBuf>,
    budget: Budget,
    pub(crate) met: BTreeMap<PathBuf, Met>,
    /// Sum of the weights of `met`.
    weight: usize,
    /// `true` if a pointer cannot be trusted to stay as it is. It leads to no repository, to a location where
    /// other content can appear, or along a path that can be redirected: through a link, or into a folder and
    /// out of it again.
    pub(crate) is_astray: bool,
}

/// A git directory.
#[derive(Default)]
pub(crate) struct Met {
    trees: Trees,
    /// Common directory that it shares with other work trees.
    common: Option<PathBuf>,
    pub(crate) named: Vec<Named>,
}

pub(crate) fn is_dot_git(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"))
}

impl<'a> Walk<'a> {
    /// Follows every path that git may take.
    pub(crate) fn through(seen: Seen<'a>) -> Self {
        let (mut budget, user) = (Budget::default(), seen.user);
        let given = Named::given(user, &mut budget);
        let (obeyed, open, met) = Default::default();
        let mut walk = Self { user, given, obeyed, open, budget, met, weight: 0, is_astray: false };
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

    /// Returns `true` if something was not followed.
    pub(crate) fn is_cut(&self) -> bool {
        !self.obeyed.left_out.is_empty()
    }

    /// Adds the repositories that the environment names.
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

    /// Adds a git directory, and a work tree in which git starts.
    fn meet(&mut self, folder: &Path, tree: Option<&Path>) {
        if !self.met.contains_key(folder) {
            if self.weight >= MAX_MET {
                self.obeyed.left_out.insert(folder.to_owned());
                self.obeyed.left_out.extend(tree.map(Path::to_owned));
                self.obeyed.begun.extend(tree.map(Path::to_owned));
                return;
            }
            self.weight += weight(folder);
            self.met.insert(folder.to_owned(), Met::default());
            self.open.push_back(folder.to_owned());
        }
        if let Some(met) = self.met.get_mut(folder) {
            met.trees.begun.extend(tree.map(Path::to_owned));
        }
    }

    /// Follows a `.git` that leads elsewhere: by a link, by its text, or by both.
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
        let text = read::text(&trail.end, MAX_PATH_BYTES);
        if let Some(tree) = tree.filter(|_| text.as_ref().is_some_and(read::Text::is_unknown)) {
            self.leave_out(tree);
        }
        let named = text.map(|text| gitdir(&text.bytes)).unwrap_or_default();
        // Git resolves the text relative to the link.
        let bases: Vec<&Path> = tree.into_iter().chain(trail.end.parent()).collect();
        let folders = named.iter().flat_map(|named| bases.iter().map(move |base| base.join(named)));
        for folder in folders.collect::<BTreeSet<_>>() {
            if let Some(end) = self.led(&folder, pointer) {
                self.meet(&end, tree);
            }
        }
    }

    /// Records a folder from which git is led to unexamined files.
    fn leave_out(&mut self, folder: &Path) {
        self.obeyed.left_out.insert(folder.to_owned());
        self.obeyed.begun.insert(folder.to_owned());
    }

    /// Follows a path found in `from` to its end.
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

    /// Returns the paths that the content of a small file in a folder may denote.
    fn lines(&mut self, folder: &Path, name: &str) -> Vec<PathBuf> {
        let text = read::text(&folder.join(name), MAX_PATH_BYTES);
        if text.as_ref().is_some_and(read::Text::is_unknown) {
            self.leave_out(folder);
        }
        text.map(|text| paths(&text.bytes)).unwrap_or_default()
    }

    fn folder(&mut self, folder: &Path) {
        self.obeyed.files.extend(OBEYED.map(|name| folder.join(name)));
        let attributes = folder.join("info/attributes");
        if attributes.symlink_metadata().is_ok() {
            self.obeyed.files.insert(attributes);
        }
        let mut claimed = BTreeSet::from([folder.to_owned()]);
        // The git directory of a linked work tree names this tree, and the common directory.
        for back in self.lines(folder, "gitdir") {
            claimed.extend(folder.join(back).parent().map(Path::to_owned));
        }
        let mut common = None;
        for named in self.lines(folder, "commondir") {
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

    /// Applies the configuration of common directories to the work trees that share them.
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

    /// Adds all paths that the configurations name, in each work tree.
    fn end(mut self) -> Obeyed {
        self.obeyed.folders = self.met.keys().cloned().collect();
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
        // Shallow paths come first: the user's work trees precede those that a command created deep inside
        // them.
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

/// Returns `true` if it is uncertain what git will find at a pointer's target. The target does not exist,
/// depends on the process that accesses it, or is inside a work tree, where a checkout may replace it.
fn leads_astray(trail: &Trail) -> bool {
    let of_process = |path: &Path| OF_PROCESS.iter().any(|root| path.starts_with(root));
    if !trail.end.is_dir() || of_process(&trail.end) || trail.links.iter().any(|link| of_process(link)) {
        return true;
    }
    for folder in trail.end.ancestors() {
        if is_dot_git(folder) {
            // Git never checks out files here.
            return false;
        }
        if folder != trail.end && folder.join(".git").symlink_metadata().is_ok() {
            return true;
        }
    }
    false
}

/// Returns the paths in a `.git` file.
fn gitdir(text: &[u8]) -> Vec<PathBuf> {
    text.strip_prefix(b"gitdir:")
        .map(|text| paths(text.strip_prefix(b" ").unwrap_or(text)))
        .unwrap_or_default()
}

/// Returns the interpretations of a text as a path. The first is git's: up to a zero byte, without line ends
/// at the end. The second has no surrounding white space, as other programs may read it.
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
