//! Names in the workspace that are protected although nothing has them.
//!
//! Mounts need something to be put on. So while commands run, an empty folder stands at each
//! such name; it goes when none has run for a moment and no other server's commands need it.
//!
//! In a cell with a tree of its own the folder is covered there, for all commands at once: each
//! has a copy of that tree.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, openat, statat, unlinkat,
};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, UnmountFlags, move_mount, open_tree, unmount};
use rustix::process::{chdir, fchdir};

use super::reach::{self, Identity, Walk};
use super::root::EMPTY_FOLDER;
use crate::wire::{CellSpec, Cover, Fault, Tier};

/// How long the folders stay after the last command, so that one that follows finds them.
const LINGER_TIME: Duration = Duration::from_secs(2);
/// What marks an empty folder as one of these.
const MODE: u32 = 0o555;

pub(super) struct Reserved {
    workspace: PathBuf,
    /// Shared by the cells of all servers that hold names in this workspace.
    lock: Option<OwnedFd>,
    /// The folders that hold names.
    held: BTreeMap<PathBuf, Identity>,
    /// What covers them, where the cell does.
    cover: Option<Identity>,
    release_at: Option<Instant>,
}

impl Reserved {
    pub(super) fn new(spec: &CellSpec, lock: Option<OwnedFd>) -> Result<Self, Fault> {
        let workspace = spec.workspace.as_path().to_owned();
        let cover = match spec.tier {
            Tier::T1 => {
                let found = reach::identity_at(Path::new(EMPTY_FOLDER));
                Some(found.map_err(|error| reach::fault("finding", Path::new(EMPTY_FOLDER), error))?)
            }
            Tier::T1b | Tier::T2 | Tier::None => None,
        };
        Ok(Self { workspace, lock, held: BTreeMap::new(), cover, release_at: None })
    }

    /// Sees to it that every name that a call reserves is there.
    pub(super) fn hold(&mut self, covers: &[Cover]) -> Result<(), Fault> {
        self.release_at = None;
        let mut walk = Walk::default();
        for cover in covers {
            let Cover::Reserve(path) = cover else { continue };
            self.hold_one(path.as_path(), &mut walk)?;
        }
        Ok(())
    }

    fn hold_one(&mut self, path: &Path, walk: &mut Walk) -> Result<(), Fault> {
        let (folder, name) = walk.parent(path).map_err(|error| reach::fault("reserving", path, error))?;
        let there = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|found| reach::identity(&found));
        // A cover shows itself. It goes with the folder when somebody takes that away.
        if there.is_some() && self.held.get(path).is_some_and(|known| there == self.cover.or(Some(*known))) {
            return Ok(());
        }
        let fault = |error: std::io::Error| Fault::new(format!("reserving {}", path.display()), error);
        if !path.starts_with(&self.workspace) {
            return Err(fault(std::io::ErrorKind::InvalidInput.into()));
        }
        if let (Some(lock), true) = (&self.lock, self.held.is_empty()) {
            flock(lock, FlockOperation::LockShared).map_err(|error| fault(error.into()))?;
        }
        match mkdirat(folder, name, Mode::from_raw_mode(MODE)) {
            Ok(()) => {}
            // One of another server, or left behind when one was killed. Anything else is new
            // since the host looked.
            Err(_) if placeholder(folder, name).is_some() => {}
            Err(error) => {
                let changed = error == rustix::io::Errno::EXIST;
                return Err(Fault { changed, ..fault(error.into()) });
            }
        }
        let identity = placeholder(folder, name)
            .ok_or_else(|| Fault { changed: true, ..fault(std::io::ErrorKind::NotFound.into()) })?;
        self.held.insert(path.to_owned(), identity);
        if self.cover.is_some() {
            put_cover(folder, name, identity).map_err(|error| reach::fault("reserving", path, error))?;
        }
        Ok(())
    }

    /// How long until the folders are to go, if they are.
    pub(super) fn release_in(&self) -> Option<Duration> {
        self.release_at.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Lets the folders go when it is time; `running` commands are there.
    pub(super) fn tick(&mut self, running: u32) {
        if running > 0 || self.held.is_empty() {
            self.release_at = None;
            return;
        }
        let now = Instant::now();
        if *self.release_at.get_or_insert(now + LINGER_TIME) <= now {
            self.release();
        }
    }

    /// Removes the folders, unless another server's commands need them: the last one does it.
    pub(super) fn release(&mut self) {
        self.release_at = None;
        if self.held.is_empty() {
            return;
        }
        let is_last = self
            .lock
            .as_ref()
            .is_none_or(|lock| flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok());
        let mut walk = Walk::default();
        for (path, identity) in std::mem::take(&mut self.held) {
            let Ok((folder, name)) = walk.parent(&path) else { continue };
            if self.cover.is_some() {
                take_cover(folder, name, self.cover);
            }
            if is_last && placeholder(folder, name) == Some(identity) {
                // Fails where something is in it, which then is not ours.
                let _ = unlinkat(folder, name, AtFlags::REMOVEDIR);
            }
        }
        if let Some(lock) = &self.lock {
            let _ = flock(lock, FlockOperation::Unlock);
        }
    }
}

/// The folder that holds this name, if that is what there is.
fn placeholder(folder: &OwnedFd, name: &OsStr) -> Option<Identity> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let is_ours = FileType::from_raw_mode(found.st_mode).is_dir() && found.st_mode & 0o777 == MODE;
    is_ours.then(|| reach::identity(&found))
}

/// Covers a folder that holds a name.
fn put_cover(folder: &OwnedFd, name: &OsStr, identity: Identity) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::DIRECTORY;
    let spot = openat(folder, name, flags, Mode::empty())?;
    if reach::identity(&fstat(&spot)?) != identity {
        return Err(io::ErrorKind::NotFound.into());
    }
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let cover = open_tree(CWD, EMPTY_FOLDER, flags)?;
    let onto = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(cover.as_fd(), "", spot.as_fd(), "", onto)?)
}

/// Takes the cover away, if it is there. A mount is named by its path alone: so from the folder.
fn take_cover(folder: &OwnedFd, name: &OsStr, cover: Option<Identity>) {
    let there = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|found| reach::identity(&found));
    if there == cover && fchdir(folder).is_ok() {
        let _ = unmount(name, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
        let _ = chdir("/");
    }
}
