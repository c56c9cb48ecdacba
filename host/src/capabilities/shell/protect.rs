//! From what was found to the covers and grants of one command.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use scorpiox_cell::{Access, Cover, Granted};
use scorpiox_policy::PROTECTED;

use super::survey::Found;

/// Deepest folder below `.git/modules` that is looked at.
const MAX_MODULE_DEPTH: usize = 8;

/// A tree that commands see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Area {
    pub path: PathBuf,
    /// Whether they may change it.
    pub write: bool,
}

/// All that commands see of this machine's own files, but for programs.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub areas: &'a [Area],
    pub workspace: &'a Path,
    /// The program's own folder, which may lie inside.
    pub own_home: &'a Path,
}

/// Paths with a rule of their own, each once.
#[derive(Debug, Default)]
struct Special {
    hide: BTreeSet<PathBuf>,
    freeze: BTreeSet<PathBuf>,
    reserve: BTreeSet<PathBuf>,
    forbid: BTreeSet<PathBuf>,
}

impl View<'_> {
    /// For tiers with mounts of their own. A folder comes before what lies in it.
    pub(super) fn covers(&self, found: &Found) -> io::Result<Vec<Cover>> {
        let special = self.special(found)?;
        let hidden = |path: &PathBuf| path.ancestors().skip(1).any(|folder| special.hide.contains(folder));
        let mut covers: Vec<Cover> = Vec::new();
        covers.extend(special.hide.iter().map(|path| Cover::Hide(path.as_path().into())));
        covers.extend(special.freeze.iter().map(|path| Cover::Freeze(path.as_path().into())));
        covers.extend(special.forbid.iter().map(|path| Cover::Forbid(path.as_path().into())));
        covers.extend(special.reserve.iter().map(|path| Cover::Reserve(path.as_path().into())));
        covers.retain(|cover| !hidden(&cover.path().to_owned()));
        covers.sort_by(|a, b| a.path().cmp(b.path()));
        // What is hidden needs nothing else.
        covers.dedup_by(|later, earlier| later.path() == earlier.path());
        Ok(covers)
    }

    /// For tiers with Landlock alone, which can grant a folder only with all that is in it: so
    /// a folder with something special inside is granted piece by piece.
    pub(super) fn granted(&self, found: &Found) -> io::Result<Vec<Granted>> {
        let special = self.special(found)?;
        let mut granted = Vec::new();
        let mut open: Vec<_> = self.areas.iter().map(|area| (area.path.clone(), area.write)).collect();
        while let Some((path, write)) = open.pop() {
            if special.hide.contains(&path) {
                continue;
            }
            let frozen = special.freeze.contains(&path);
            let access = if write && !frozen { Access::Write } else { Access::Read };
            let splits = special.hide.iter().chain(special.freeze.iter().filter(|_| !frozen));
            let splits = splits.chain(special.reserve.iter().filter(|_| !frozen));
            let is_split = splits.into_iter().any(|inside| inside != &path && inside.starts_with(&path));
            if !is_split {
                granted.push(Granted { path: path.into(), access });
                continue;
            }
            granted.push(Granted { path: path.as_path().into(), access: Access::List });
            for entry in fs::read_dir(&path)? {
                let entry = entry?;
                // A link grants nothing; what it leads to is granted by its own name.
                if !entry.file_type()?.is_symlink() {
                    open.push((entry.path(), write && !frozen));
                }
            }
        }
        Ok(granted)
    }

    fn special(&self, found: &Found) -> io::Result<Special> {
        let mut special = Special::default();
        for path in found.denied.iter().chain(&found.sockets) {
            special.hide.insert(path.clone());
            // A link that is denied denies what it leads to.
            if let Some(target) = self.target(path) {
                special.hide.insert(target);
            }
        }
        if self.area(self.own_home).is_some_and(|area| area.path != self.own_home) && self.own_home.exists() {
            special.hide.insert(self.own_home.to_owned());
        }
        let writes = |path: &Path| self.area(path).is_some_and(|area| area.write);
        for repository in found.repositories.iter().filter(|path| writes(path)) {
            special.repository(repository)?;
        }
        if writes(self.workspace) {
            for name in PROTECTED.iter().filter(|name| !name.starts_with(".git/")) {
                self.name(&self.workspace.join(name), &mut special);
            }
        }
        Ok(special)
    }

    /// The innermost area that a path lies in.
    fn area(&self, path: &Path) -> Option<&Area> {
        let around = self.areas.iter().filter(|area| path.starts_with(&area.path));
        around.max_by_key(|area| area.path.as_os_str().len())
    }

    /// A protected name in the workspace's root.
    fn name(&self, path: &Path, special: &mut Special) {
        match path.symlink_metadata() {
            Err(_) => {
                special.reserve.insert(path.to_owned());
            }
            Ok(found) if is_reservation(&found) => {
                special.reserve.insert(path.to_owned());
            }
            Ok(_) => {
                special.freeze.insert(path.to_owned());
                if let Some(target) = self.target(path) {
                    special.freeze.insert(target);
                }
            }
        }
    }

    /// What a link leads to, when commands see that.
    fn target(&self, path: &Path) -> Option<PathBuf> {
        path.symlink_metadata().ok().filter(fs::Metadata::is_symlink)?;
        let target = path.canonicalize().ok()?;
        self.area(&target).is_some_and(|area| area.path != target).then_some(target)
    }
}

/// Whether a folder is one that stands for a reserved name: another server's, or left behind.
fn is_reservation(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    found.is_dir() && found.permissions().mode() & 0o777 == 0o555
}

impl Special {
    /// A `.git`: what makes git start programs cannot be changed. Nor can a folder above that be
    /// exchanged, which the cell sees to for every path with a rule.
    fn repository(&mut self, git: &Path) -> io::Result<()> {
        if !git.symlink_metadata()?.is_dir() {
            // Of a worktree or a submodule, which names another folder; or a link.
            self.freeze.insert(git.to_owned());
            return Ok(());
        }
        self.git_folder(git);
        self.modules(&git.join("modules"), 0);
        if let Ok(entries) = fs::read_dir(git.join("worktrees")) {
            for entry in entries.flatten() {
                self.if_there(entry.path().join("commondir"));
                self.if_there(entry.path().join("config.worktree"));
            }
        }
        Ok(())
    }

    fn git_folder(&mut self, git: &Path) {
        for name in ["hooks", "config"] {
            let path = git.join(name);
            if path.symlink_metadata().is_ok_and(|found| !is_reservation(&found)) {
                self.freeze.insert(path);
            } else {
                self.reserve.insert(path);
            }
        }
        self.if_there(git.join("info/attributes"));
        // Each names or is another configuration. Git dies when a folder has such a name, so an
        // empty one cannot hold it.
        for name in ["config.worktree", "commondir"] {
            let path = git.join(name);
            let set = if path.symlink_metadata().is_ok() { &mut self.freeze } else { &mut self.forbid };
            set.insert(path);
        }
    }

    /// The folders of submodules, whose names may have slashes.
    fn modules(&mut self, folder: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        for path in folders.map(|entry| entry.path()) {
            if path.join("HEAD").exists() {
                self.git_folder(&path);
                self.modules(&path.join("modules"), depth + 1);
            } else if depth < MAX_MODULE_DEPTH {
                self.modules(&path, depth + 1);
            }
        }
    }

    fn if_there(&mut self, path: PathBuf) {
        if path.symlink_metadata().is_ok() {
            self.freeze.insert(path);
        }
    }
}
