//! Checks for other users that can change or read a file or directory.

use std::fs::File;
use std::io;
use std::path::Path;

/// Returns the reason, as a clause, if users other than this process's user and the administrator can change
/// the open file.
#[cfg(unix)]
pub fn others_can_change(open: &File) -> io::Result<Option<String>> {
    Ok(by_mode(&open.metadata()?))
}

/// Like [`others_can_change`], for the target of a path.
#[cfg(unix)]
pub fn others_can_change_at(path: &Path) -> io::Result<Option<String>> {
    Ok(by_mode(&path.metadata()?))
}

#[cfg(unix)]
fn by_mode(about: &std::fs::Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    if ![0, user].contains(&about.uid()) {
        return Some(format!("it belongs to user {}, not to you", about.uid()));
    }
    // By convention, a user's private group has the same ID as the user.
    let group_writes = about.mode() & 0o020 != 0 && ![0, user].contains(&about.gid());
    (group_writes || about.mode() & 0o002 != 0).then(|| "others may write it".to_owned())
}

/// Returns the reason, as a clause, if users other than this process's user and the administrator can read or
/// change the open file.
#[cfg(unix)]
pub fn others_can_read(open: &File) -> io::Result<Option<String>> {
    use std::os::unix::fs::MetadataExt as _;
    let (about, user) = (open.metadata()?, rustix::process::geteuid().as_raw());
    // By convention, a user's private group has the same ID as the user.
    let group_reads = about.mode() & 0o040 != 0 && ![0, user].contains(&about.gid());
    let reads = (group_reads || about.mode() & 0o004 != 0).then(|| "others may read it".to_owned());
    Ok(by_mode(&about).or(reads))
}

/// Returns the reason, as a clause, if users other than this process's user and the administrator can read or
/// change the open file.
#[cfg(windows)]
pub fn others_can_read(open: &File) -> io::Result<Option<String>> {
    use scorpiox_sys::windows::access;
    use std::os::windows::io::AsHandle as _;
    Ok(access::others_can_change(open.as_handle())?.or(access::others_can_read(open.as_handle())?))
}

/// Returns the reason, as a clause, if users other than this process's user and the administrator can change
/// the open file.
#[cfg(windows)]
pub fn others_can_change(open: &File) -> io::Result<Option<String>> {
    use std::os::windows::io::AsHandle as _;
    scorpiox_sys::windows::access::others_can_change(open.as_handle())
}

/// Like [`others_can_change`], for the target of a path.
#[cfg(windows)]
pub fn others_can_change_at(path: &Path) -> io::Result<Option<String>> {
    others_can_change(&open(path)?)
}

/// Returns the reason, as a clause, if anyone but the system and its administrators can change the open file.
#[cfg(windows)]
pub fn users_can_change(open: &File) -> io::Result<Option<String>> {
    use std::os::windows::io::AsHandle as _;
    scorpiox_sys::windows::access::users_can_change(open.as_handle())
}

/// Returns the reason, as a clause, if anyone but the system and its administrators can replace entries of a
/// directory.
#[cfg(windows)]
pub fn users_can_exchange_in(folder: &Path) -> io::Result<Option<String>> {
    use std::os::windows::io::AsHandle as _;
    scorpiox_sys::windows::access::users_can_exchange(open(folder)?.as_handle())
}

/// Opens a file or directory to query its access rights.
#[cfg(windows)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt as _;

    use scorpiox_sys::windows::file::FILE_FLAG_BACKUP_SEMANTICS;
    File::options().read(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
}
