//! Names in the workspace that are protected although nothing has them.
//!
//! Mounts need something to be put on. So while commands run, an empty folder stands at each
//! such name; it goes when none has run for a moment and no other server's commands need it.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::wire::{CellSpec, Cover, Fault};

/// How long the folders stay after the last command, so that one that follows finds them.
const LINGER_TIME: Duration = Duration::from_secs(2);
/// What marks an empty folder as one of these.
const MODE: u32 = 0o555;

pub(super) struct Reserved {
    workspace: PathBuf,
    /// Shared by the cells of all servers that hold names in this workspace.
    lock: Option<OwnedFd>,
    held: Vec<PathBuf>,
    release_at: Option<Instant>,
}

impl Reserved {
    pub(super) fn new(spec: &CellSpec, lock: Option<OwnedFd>) -> Self {
        let workspace = spec.workspace.as_path().to_owned();
        Self { workspace, lock, held: Vec::new(), release_at: None }
    }

    /// Sees to it that every name that a call reserves is there.
    pub(super) fn hold(&mut self, covers: &[Cover]) -> Result<(), Fault> {
        for cover in covers {
            let Cover::Reserve(path) = cover else { continue };
            self.hold_one(path.as_path())?;
        }
        Ok(())
    }

    fn hold_one(&mut self, path: &Path) -> Result<(), Fault> {
        self.release_at = None;
        let known = self.held.iter().any(|held| held == path);
        if known && path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Ok(());
        }
        let fault = |error| Fault::new(format!("reserving {}", path.display()), error);
        if !path.starts_with(&self.workspace) {
            return Err(fault(std::io::ErrorKind::InvalidInput.into()));
        }
        if let (Some(lock), true) = (&self.lock, self.held.is_empty()) {
            flock(lock, FlockOperation::LockShared).map_err(|error| fault(error.into()))?;
        }
        match fs::DirBuilder::new().mode(MODE).create(path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                // One of another server, or left behind when one was killed. Anything else is
                // new since the host looked.
                let is_ours = path
                    .symlink_metadata()
                    .is_ok_and(|found| found.is_dir() && found.permissions().mode() & 0o777 == MODE);
                if !is_ours {
                    return Err(Fault { changed: true, ..fault(error) });
                }
            }
            Err(error) => return Err(fault(error)),
        }
        if !known {
            self.held.push(path.to_owned());
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
        for path in self.held.drain(..) {
            if is_last {
                // Fails where something is in it, which then is not ours.
                let _ = fs::remove_dir(path);
            }
        }
        if let Some(lock) = &self.lock {
            let _ = flock(lock, FlockOperation::Unlock);
        }
    }
}
