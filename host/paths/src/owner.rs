//! Who can change a file or a folder, or read a file.

use std::fs::File;
use std::io;
use std::path::Path;

/// Whether others than this process's user and the system's owner can change what is open: why, as a clause.
#[cfg(unix)]
pub fn others_can_change(open: &File) -> io::Result<Option<String>> {
    Ok(by_mode(&open.metadata()?))
}

/// The same of what a path leads to.
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
    // By convention a user's own group has the user's number.
    let group_writes = about.mode() & 0o020 != 0 && ![0, user].contains(&about.gid());
    (group_writes || about.mode() & 0o002 != 0).then(|| "others may write it".to_owned())
}

/// Whether others than this process's user and the system's owner can read or change what is open: why, as a clause.
#[cfg(unix)]
pub fn others_can_read(open: &File) -> io::Result<Option<String>> {
    use std::os::unix::fs::MetadataExt as _;
    let (about, user) = (open.metadata()?, rustix::process::geteuid().as_raw());
    // By convention a user's own group has the user's number.
    let group_reads = about.mode() & 0o040 != 0 && ![0, user].contains(&about.gid());
    let reads = (group_reads || about.mode() & 0o004 != 0).then(|| "others may read it".to_owned());
    Ok(by_mode(&about).or(reads))
}

/// Whether others than this process's user and the system's owner can read or change what is open: why, as a clause.
#[cfg(windows)]
pub fn others_can_read(open: &File) -> io::Result<Option<String>> {
    use scorpiox_windows::access;
    use std::os::windows::io::AsHandle as _;
    Ok(access::others_can_change(open.as_handle())?.or(access::others_can_read(open.as_handle())?))
}

/// Whether others than this process's user and the system's owner can change what is open: why, as a clause.
#[cfg(windows)]
pub fn others_can_change(open: &File) -> io::Result<Option<String>> {
    use std::os::windows::io::AsHandle as _;
    scorpiox_windows::access::others_can_change(open.as_handle())
}

/// The same of what a path leads to.
#[cfg(windows)]
pub fn others_can_change_at(path: &Path) -> io::Result<Option<String>> {
    others_can_change(&open(path)?)
}

/// Whether anybody but the system and its administrators can change what is open: why, as a clause.
#[cfg(windows)]
pub fn users_can_change(open: &File) -> io::Result<Option<String>> {
    use std::os::windows::io::AsHandle as _;
    scorpiox_windows::access::users_can_change(open.as_handle())
}

/// Whether anybody but them can put something in the place of what a folder holds.
#[cfg(windows)]
pub fn users_can_exchange_in(folder: &Path) -> io::Result<Option<String>> {
    use std::os::windows::io::AsHandle as _;
    scorpiox_windows::access::users_can_exchange(open(folder)?.as_handle())
}

/// A file or a folder, to ask about it.
#[cfg(windows)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt as _;

    use scorpiox_windows::file::FILE_FLAG_BACKUP_SEMANTICS;
    File::options().read(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
}
