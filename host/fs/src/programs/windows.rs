//! Checks programs by the access-control list of each directory in the path.

use std::io;
use std::path::Path;

use super::refused;
use crate::{Trail, Writable, others_can_change_at};

/// System directories with programs for all users.
pub const FOLDERS: [&str; 2] = [r"C:\Windows\System32", r"C:\Windows"];

/// Returns the `PATH` for these programs, which they use to start others.
pub fn path_variable() -> String {
    FOLDERS.join(";")
}

/// Checks that the path leads to a program. Only the system and this user may be able to change the program
/// and all directories on the way, and none of them may be writable by commands. Links are not followed.
pub fn check(path: &Path, writable: &Writable) -> io::Result<()> {
    check_own(path, writable)
}

/// Like [`check`]: a user who is an administrator can change system programs too.
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
