//! Removes folders that untrusted programs filled.
//!
//! Invariant: a removal needs the same stack and the same few descriptors for every depth, uses no path below
//! the folder, follows no link, and ends in bounded time. Whatever it could not remove stays for a later one.

#[cfg(unix)]
mod emptying;

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Maximum time of a removal for which a person waits.
const MAX_TIME: Duration = Duration::from_mins(10);

/// Removes a folder, even if it contains folders that are closed to their owner.
pub fn remove_folder(folder: &Path) -> io::Result<()> {
    remove_folder_until(folder, Instant::now() + MAX_TIME)
}

/// Removes a folder like [`remove_folder`]. Fails with [`io::ErrorKind::TimedOut`] if entries are left
/// `until` then, and with the first other error if entries cannot be removed.
#[cfg(unix)]
pub fn remove_folder_until(folder: &Path, until: Instant) -> io::Result<()> {
    emptying::remove(folder, until)
}

/// Removes a folder. On this system no command fills one, and the standard library recurses in none.
#[cfg(not(unix))]
#[allow(clippy::disallowed_methods, reason = "it is iterative on this system")]
pub fn remove_folder_until(folder: &Path, _: Instant) -> io::Result<()> {
    std::fs::remove_dir_all(folder)
}
