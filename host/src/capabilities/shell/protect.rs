//! From what was found to the rules of one command, or of one plugin.
//!
//! [`View::special`] decides which paths have a rule of their own; it is the one place that does, for
//! all tiers, for plugins and for `policy why`. [`Special`] turns them into what a tier needs.

mod links;
mod special;

use std::io;
use std::path::{Path, PathBuf};

use scorpiox_cell::Exposed;
use scorpiox_gitdirs::{Seen, Trail, obeyed};
use scorpiox_policy::PROTECTED;

use super::survey::Found;
pub(crate) use special::{Special, Why};

/// A tree that commands see.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Area {
    pub path: PathBuf,
    /// Whether they may change it.
    pub write: bool,
}

impl Area {
    /// As the sandbox is told it.
    pub(super) fn exposed(&self) -> Exposed {
        Exposed { path: self.path.as_path().into(), write: self.write }
    }
}

/// All that commands see of this machine's own files, but for programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub areas: &'a [Area],
    /// The program's own folder, which may lie inside.
    pub own_home: &'a Path,
    /// The user's home folder.
    pub home: Option<&'a Path>,
    /// What programs outside start from, which may lie inside: paths that need not exist.
    pub programs: &'a [PathBuf],
}

impl View<'_> {
    /// The paths with a rule of their own.
    pub(crate) fn special(&self, found: &Found) -> io::Result<Special> {
        let mut special = Special::new(self.areas);
        for (paths, why) in [(&found.denied, Why::Denied), (&found.sockets, Why::Socket)] {
            for path in paths {
                self.hide(path, why, &mut special);
            }
        }
        for unseen in &found.unseen {
            special.hide(&unseen.path, Why::Unseen(unseen.why));
        }
        if self.own_home.exists() {
            special.hide(self.own_home, Why::Own);
        }
        if self.areas.iter().any(|area| area.write) {
            self.protect_names(found, &mut special);
            for path in obeyed(self.git(found).seen(self.home)) {
                self.protect(&path, Why::Git, &mut special);
            }
            for path in self.programs {
                self.protect(path, Why::Program, &mut special);
            }
        }
        links::add_other_names(self.areas, &mut special);
        special.bound()?;
        Ok(special)
    }

    fn protect_names(&self, found: &Found, special: &mut Special) {
        for path in &found.names {
            self.protect_here(path, Why::Name, special);
        }
        let roots = self.areas.iter().filter(|area| area.write && area.path.is_dir());
        for root in roots {
            for name in PROTECTED {
                self.protect_here(&root.path.join(name), Why::Name, special);
            }
        }
    }

    /// The same of a path whose folder is reached through no link.
    fn protect_here(&self, path: &Path, why: Why, special: &mut Special) {
        match path.symlink_metadata() {
            Ok(found) if !found.is_symlink() => special.freeze(path, why),
            Err(error) if error.kind() == io::ErrorKind::NotFound => special.keep_absent(path, why),
            _ => self.protect(path, why, special),
        }
    }

    /// Nothing can change what a path leads to, nor lead it elsewhere.
    fn protect(&self, path: &Path, why: Why, special: &mut Special) {
        let Ok(trail) = Trail::follow(path) else {
            // Links in a circle, or what is closed already.
            if path.symlink_metadata().is_ok() {
                special.freeze(path, why);
            }
            return;
        };
        for link in &trail.links {
            special.freeze(link, why);
        }
        if trail.exists {
            special.freeze(&trail.end, why);
        } else {
            special.keep_absent(&trail.end, why);
        }
    }

    /// A link that is hidden hides what it leads to.
    fn hide(&self, path: &Path, why: Why, special: &mut Special) {
        special.hide(path, why);
        let is_link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        if let (true, Ok(target)) = (is_link, path.canonicalize()) {
            special.hide(&target, why);
        }
    }

    /// Where git begins: in what was found, in the folders around the areas, and at the user's.
    fn git(&self, found: &Found) -> Git {
        let mut git = Git {
            folders: found.git_folders.clone(),
            pointers: found.git_pointers.clone(),
            of_user: self.home.map(of_user).unwrap_or_default(),
        };
        let around =
            self.areas.iter().filter(|area| area.write).flat_map(|area| area.path.ancestors().skip(1));
        let mut around: Vec<PathBuf> = around.map(|folder| folder.join(".git")).collect();
        around.sort();
        around.dedup();
        for path in around {
            match path.symlink_metadata() {
                Ok(found) if found.is_dir() => git.folders.push(path),
                Ok(_) => git.pointers.push(path),
                Err(_) => {}
            }
        }
        git
    }
}

struct Git {
    folders: Vec<PathBuf>,
    pointers: Vec<PathBuf>,
    of_user: Vec<PathBuf>,
}

impl Git {
    fn seen<'a>(&'a self, home: Option<&'a Path>) -> Seen<'a> {
        Seen { folders: &self.folders, pointers: &self.pointers, of_user: &self.of_user, home }
    }
}

/// The user's own configurations of git.
fn of_user(home: &Path) -> Vec<PathBuf> {
    let given = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = given.unwrap_or_else(|| home.join(".config"));
    vec![home.join(".gitconfig"), folder.join("git/config")]
}

#[cfg(test)]
mod tests;
