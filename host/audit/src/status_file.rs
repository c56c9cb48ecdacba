//! Publishes the figures of running servers to other processes: one file for each server, in `run/`.
//!
//! A server locks a second file for its lifetime, and the lock ends with the process in any case. A file
//! whose lock is free was left by a dead server, and the next survey removes it.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::figures::{PrincipalFigures, ToolFigures};
use crate::files::{make_folder, open_private};
use crate::system::{Share, try_lock};

const LOCK: &str = "lock";
const POSTED: &str = "json";
const NEW: &str = "new";
/// Maximum time between creating a file and locking it, with a large margin.
const MAX_NEW_TIME: Duration = Duration::from_mins(1);
/// Maximum size of a file to read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Published state of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Posted {
    /// Description of the server.
    #[serde(flatten)]
    pub server: Server,
    /// Figures of the tools that were called.
    pub tools: Vec<ToolFigures>,
    /// Figures of the principals that called over HTTP.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub principals: Vec<PrincipalFigures>,
}

/// Description of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Server {
    /// Process ID.
    pub pid: u32,
    /// Workspace directory.
    pub workspace: String,
    /// Client that started the server, as it identifies itself.
    pub client: String,
    /// Program version.
    pub version: String,
    /// Start time, in milliseconds since the Unix epoch.
    pub started: u64,
    /// Time of publication, in milliseconds since the Unix epoch.
    pub posted: u64,
    /// Resident memory.
    pub rss_bytes: u64,
}

/// Status file of one server.
#[derive(Debug)]
pub struct StatusFile {
    folder: PathBuf,
    name: String,
    /// Locked file, after the first post.
    held: Option<File>,
}

impl StatusFile {
    /// Creates a status file in this directory. Nothing is written before the first post.
    pub fn new(folder: PathBuf) -> Self {
        // Servers in different containers may share the directory and the process ID.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{}-{:x}", std::process::id(), since.as_nanos());
        Self { folder, name, held: None }
    }

    /// Posts new figures, replacing the previous ones.
    pub fn post(&mut self, posted: &Posted) -> io::Result<()> {
        if self.held.is_none() {
            make_folder(&self.folder)?;
            sweep(&self.folder)?;
            self.held = Some(self.hold()?);
        }
        let new = self.file(NEW);
        let written = write(&new, &serde_json::to_vec(posted)?);
        // The directory may have been removed.
        written.and_then(|()| fs::rename(&new, self.file(POSTED))).inspect_err(|_| self.held = None)
    }

    /// Locks the file before it gets its final name, so that no process sees it unlocked.
    fn hold(&self) -> io::Result<File> {
        let new = self.file(NEW);
        let lock = open_private(&new)?;
        if !try_lock(&lock, Share::Exclusive)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        fs::rename(&new, self.file(LOCK))?;
        Ok(lock)
    }

    /// Removes the posted figures.
    pub fn take_down(&mut self) {
        if let Some(held) = self.held.take() {
            let _ = fs::remove_file(self.file(POSTED));
            let _ = fs::remove_file(self.file(LOCK));
            drop(held);
        }
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name))
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = open_private(path)?;
    file.set_len(0)?;
    file.write_all(bytes)
}

/// Returns the figures of running servers, longest-running first. Removes the files of dead servers.
pub fn posted(folder: &Path) -> io::Result<Vec<Posted>> {
    let mut found: Vec<Posted> = sweep(folder)?.iter().filter_map(|path| read(path)).collect();
    found.sort_by_key(|posted| (posted.server.started, posted.server.pid));
    Ok(found)
}

fn read(path: &Path) -> Option<Posted> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Removes the files of dead servers. Returns the status files of running ones.
fn sweep(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut living = Vec::new();
    for entry in entries {
        let path = entry?.path();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some(LOCK) if is_free(&path) => {
                for extension in [POSTED, NEW, LOCK] {
                    let _ = fs::remove_file(path.with_extension(extension));
                }
            }
            // Left by a server that died before it had its lock. Young files are not tested, because the test
            // would briefly take the lock from a starting server.
            Some(NEW) if is_old(&path) && !path.with_extension(LOCK).exists() && is_free(&path) => {
                let _ = fs::remove_file(&path);
            }
            Some(LOCK) => living.push(path.with_extension(POSTED)),
            _ => {}
        }
    }
    Ok(living)
}

/// Returns `true` if the file is so old that no starting server can be using it.
fn is_old(path: &Path) -> bool {
    let written = path.metadata().and_then(|about| about.modified());
    written.is_ok_and(|written| written.elapsed().is_ok_and(|age| age > MAX_NEW_TIME))
}

/// Returns `true` if no process holds the lock.
fn is_free(path: &Path) -> bool {
    let lock = File::options().write(true).open(path);
    lock.and_then(|lock| try_lock(&lock, Share::Exclusive)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::take_away;

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    fn of(pid: u32) -> Posted {
        let tools = vec![ToolFigures { tool: "a".to_owned(), calls: 3, ..ToolFigures::default() }];
        Posted { server: Server { pid, ..Server::default() }, tools, principals: Vec::new() }
    }

    #[test]
    fn what_is_posted_is_seen_until_it_is_taken_down() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("own/run");
        assert!(posted(&folder).unwrap().is_empty() && !folder.exists());
        let mut status_file = StatusFile::new(folder.clone());
        status_file.post(&of(1)).unwrap();
        status_file.post(&of(2)).unwrap();
        assert_eq!(posted(&folder).unwrap(), [of(2)]);
        status_file.take_down();
        assert_eq!((posted(&folder).unwrap(), names(&folder)), (Vec::new(), 0));
    }

    #[test]
    fn what_dead_servers_left_is_removed_by_whoever_looks() {
        let root = tempfile::tempdir().unwrap();
        let (mut dead, mut alive) =
            (StatusFile::new(root.path().to_owned()), StatusFile::new(root.path().to_owned()));
        dead.post(&of(1)).unwrap();
        alive.post(&of(2)).unwrap();
        assert_eq!(posted(root.path()).unwrap().len(), 2);
        // Simulates the death of a process, and a start that failed.
        drop(dead);
        let new = root.path().join("1-x.new");
        fs::write(&new, "").unwrap();
        assert_eq!(posted(root.path()).unwrap(), [of(2)]);
        assert_eq!(names(root.path()), 3, "a server may be at a file that is new");
        let long_ago = SystemTime::now() - 2 * MAX_NEW_TIME;
        File::options().write(true).open(&new).unwrap().set_modified(long_ago).unwrap();
        assert_eq!(posted(root.path()).unwrap(), [of(2)]);
        assert_eq!(names(root.path()), 2);
    }

    #[test]
    fn whoever_looks_is_in_the_way_of_nobody_who_posts() {
        let root = tempfile::tempdir().unwrap();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = posted(root.path());
                }
            });
            let failed = (0..2000)
                .filter(|number| {
                    let mut status_file = StatusFile::new(root.path().to_owned());
                    let is_posted = status_file.post(&of(*number)).is_ok();
                    let is_seen = posted(root.path()).is_ok_and(|found| found.contains(&of(*number)));
                    status_file.take_down();
                    !(is_posted && is_seen)
                })
                .count();
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(failed, 0);
        });
    }

    #[test]
    fn a_folder_that_was_taken_away_is_made_again() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("run");
        let mut status_file = StatusFile::new(folder.clone());
        status_file.post(&of(1)).unwrap();
        take_away(&folder);
        assert!(status_file.post(&of(1)).is_err());
        status_file.post(&of(1)).unwrap();
        assert_eq!(posted(&folder).unwrap(), [of(1)]);
    }

    #[test]
    fn damaged_figures_are_none() {
        let root = tempfile::tempdir().unwrap();
        let mut status_file = StatusFile::new(root.path().to_owned());
        status_file.post(&of(1)).unwrap();
        fs::write(status_file.file(POSTED), "{").unwrap();
        assert!(posted(root.path()).unwrap().is_empty());
    }
}
