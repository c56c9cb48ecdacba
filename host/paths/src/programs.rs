//! Programs that nobody but the system's owner can have put where they are.
//!
//! What is started without a sandbox, for the person, must be what they would get: not what a
//! project has in `node_modules/.bin`, nor what a command made. So `PATH` is not asked.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
pub use unix::{FOLDERS, check, check_own, path_variable};
#[cfg(windows)]
pub use windows::{FOLDERS, check, check_own, path_variable};

use crate::Writable;

/// A program of the system by its name: where it is, by a path that only the system's owner can lead elsewhere.
pub fn find(name: &str, writable: &Writable) -> Option<PathBuf> {
    find_in(&FOLDERS, name, writable)
}

fn find_in(folders: &[&str], name: &str, writable: &Writable) -> Option<PathBuf> {
    let paths = folders.iter().map(|folder| Path::new(folder).join(name));
    paths.into_iter().find(|path| check(path, writable).is_ok())
}

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {why}", path.display()))
}
