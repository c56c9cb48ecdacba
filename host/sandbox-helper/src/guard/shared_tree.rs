//! Rules of T2 on the directories of the machine, in which nothing is mounted.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, openat};
use scorpiox_sandbox::{Access, CellSpec, CommandSpec, Cover, Fault};
use scorpiox_sys::linux::reach::{Identity, Walk};

use super::identity_of;
use super::places::{Ruling, writable_roots};

/// Rules that mounts enforce in other tiers, for T2, which has no mounts.
#[derive(Debug, Default)]
pub(super) struct SharedTree {
    /// Directories that commands may write to.
    roots: BTreeSet<Identity>,
    /// Files and directories that must not change, including everything below them.
    special: BTreeSet<Identity>,
    /// Directories above `special`, which must not be moved.
    held: BTreeSet<Identity>,
    /// Directories that Landlock grants completely: removal needs no mediation there.
    granted: Vec<PathBuf>,
    /// Temporary directory, which no survey searches.
    scratch: PathBuf,
}

impl SharedTree {
    pub(super) fn new(cell: &CellSpec, order: &CommandSpec) -> Result<Self, Fault> {
        let mut tree = Self::default();
        let mut walk = Walk::default();
        let mut identity = |path: &Path| {
            let found = walk.open(path).and_then(|fd| identity_of(&fd));
            found.map_err(|error| Fault::of_path("guarding", path, error))
        };
        let roots = writable_roots(cell, order);
        for root in &roots {
            let found = identity(root)?;
            tree.roots.insert(found);
            tree.held.insert(found);
        }
        let read_only = order.areas.iter().chain(&cell.exposed).filter(|area| !area.write);
        let read_only = read_only.map(|area| area.path.as_path());
        let inside = |path: &&Path| roots.iter().any(|root| *path != root && path.starts_with(root));
        let mut special: Vec<_> = read_only.filter(inside).collect();
        let covers = order.covers.iter();
        special.extend(
            covers
                .clone()
                .filter(|cover| !matches!(cover, Cover::Absent(_) | Cover::Pin(_)))
                .map(Cover::path),
        );
        for path in &special {
            tree.special.insert(identity(path)?);
        }
        let above =
            covers.map(Cover::path).chain(special.iter().copied()).flat_map(|path| path.ancestors().skip(1));
        let above: BTreeSet<_> = above.filter(|path| inside(path)).collect();
        // A file above an absent name may be replaced by another file.
        let is_file = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_file());
        for folder in above.into_iter().filter(|path| !is_file(path)) {
            match identity(folder) {
                Ok(found) => drop(tree.held.insert(found)),
                // Directories above an absent name may be absent, too.
                Err(_) if folder.symlink_metadata().is_err() => {}
                Err(fault) => return Err(fault),
            }
        }
        for cover in &order.covers {
            if let Cover::Pin(path) = cover {
                tree.held.insert(identity(path.as_path())?);
            }
        }
        let granted = order.granted.iter().filter(|granted| granted.access == Access::Write);
        tree.granted = granted.map(|granted| granted.path.as_path().to_owned()).collect();
        tree.granted.push(cell.scratch.as_path().to_owned());
        cell.scratch.as_path().clone_into(&mut tree.scratch);
        Ok(tree)
    }

    /// Returns `true` if one of two paths lies in the temporary directory, and the other does not.
    pub(super) fn are_apart(&self, one: &Path, other: &Path) -> bool {
        one.starts_with(&self.scratch) != other.starts_with(&self.scratch)
    }

    /// Returns `true` if this is the top of a writable directory.
    pub(super) fn is_root(&self, folder: Identity) -> bool {
        self.roots.contains(&folder)
    }

    /// Returns `true` if this must not change.
    pub(super) fn is_special(&self, thing: Identity) -> bool {
        self.special.contains(&thing)
    }

    /// Returns `true` if this must stay where it is.
    pub(super) fn stays(&self, thing: Identity) -> bool {
        self.special.contains(&thing) || self.held.contains(&thing)
    }

    /// Returns `true` if Landlock grants everything below this path.
    pub(super) fn grants(&self, path: &Path) -> bool {
        self.granted.iter().any(|granted| path.starts_with(granted))
    }

    /// Walks up from a directory to the writable directory that contains it.
    pub(super) fn judge_folder(&self, folder: &OwnedFd) -> io::Result<Ruling> {
        let mut above: Option<OwnedFd> = None;
        let mut last = None;
        loop {
            let folder = above.as_ref().unwrap_or(folder);
            let found = identity_of(folder)?;
            if self.special.contains(&found) {
                return Ok(Ruling::Closed);
            }
            if self.roots.contains(&found) {
                return Ok(Ruling::Free);
            }
            // The root is its own parent.
            if last.replace(found) == Some(found) {
                return Ok(Ruling::Elsewhere);
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            above = Some(openat(folder, "..", flags, Mode::empty())?);
        }
    }
}
