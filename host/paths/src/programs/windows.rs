//! The same on Windows, by the access-control list of each folder on the way.

use std::io;
use std::path::Path;

use super::refused;
use crate::{Trail, Writable, others_can_change_at};

/// Where Windows has programs that anybody may start.
pub const FOLDERS: [&str; 2] = [r"C:\Windows\System32", r"C:\Windows"];

/// The `PATH` that such programs get: they start others by it.
pub fn path_variable() -> String {
    FOLDERS.join(";")
}

/// Whether a path leads to a program, and everything on the way to it is the system's or this user's to change and
/// nobody else's, and not what commands can write. Links are not followed.
pub fn check(path: &Path, writable: &Writable) -> io::Result<()> {
    check_own(path, writable)
}

/// As [`check`]: what administrators can change, a user who is one can change, too.
pub fn check_own(path: &Path, writable: &Writable) -> io::Result<()> {
    let trail = Trail::follow_where(path, |_| false)?;
    let is_program = trail.end.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("exe"));
    if !path.is_absolute() || !is_program || !trail.end.metadata()?.is_file() {
        return Err(refused(path, "is not a program"));
    }
    for part in trail.end.ancestors() {
        if others_can_change_at(part)?.is_some() {
            return Err(refused(part, "can be changed by others than you and the system"));
        }
    }
    if writable.covers(&trail.end) {
        return Err(refused(path, "can be changed by commands"));
    }
    Ok(())
}
