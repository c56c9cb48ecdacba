//! Programs that only the administrator can have installed.
//!
//! A program started without a sandbox must be the one the user expects, not one from a project's
//! `node_modules/.bin` or one created by a command. `PATH` is therefore ignored.

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

/// Finds a system program by name. Only the administrator can redirect the returned path.
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
