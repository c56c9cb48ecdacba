//! Conversion of SQLite and I/O errors to store errors.

use std::fs::File;
use std::io;
use std::path::Path;

use rusqlite::ErrorCode;
use scorpiox_fs::shortage;

use crate::StoreError;

impl StoreError {
    pub(super) fn from_sqlite(error: &rusqlite::Error, path: &Path) -> Self {
        let shown = || path.display().to_string();
        let rusqlite::Error::SqliteFailure(failure, _) = error else {
            return Self::Other(error.to_string());
        };
        match failure.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Conflict,
            ErrorCode::DiskFull => Self::Full(shown()),
            ErrorCode::CannotOpen if let Some(why) = lacking(path) => Self::Other(why),
            ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
                Self::ReadOnly(shown())
            }
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Self::Damaged(shown()),
            // SQLite reports a full disk as an I/O error for its auxiliary files.
            ErrorCode::SystemIoFailure if is_full(path) => Self::Full(shown()),
            _ => Self::Other(format!("{error}, code {} ({})", failure.extended_code, path.display())),
        }
    }

    pub(super) fn from_io(error: &io::Error, path: &Path) -> Self {
        use io::ErrorKind;
        if let Some(advice) = shortage(error) {
            return Self::Other(format!("{}: {error}; {advice}", path.display()));
        }
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full(path.display().to_string()),
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                Self::ReadOnly(path.display().to_string())
            }
            _ => Self::Other(format!("{}: {error}", path.display())),
        }
    }
}

/// Returns the reason that a database cannot be opened, if the system lacks descriptors for its files. SQLite's error
/// does not include that of the system.
fn lacking(path: &Path) -> Option<String> {
    /// Number of files that SQLite opens: the database, the journal, its index, and the folder.
    const FILES: usize = 4;
    let folder = path.parent().unwrap_or(path);
    let opened: io::Result<Vec<_>> = (0..FILES).map(|_| File::open(folder)).collect();
    let error = opened.err()?;
    let advice = shortage(&error)?;
    Some(format!("{} cannot be opened: {error}; {advice}", path.display()))
}

/// Returns `true` if the disk has less space than a transaction may need.
#[cfg(unix)]
fn is_full(path: &Path) -> bool {
    const NEEDED_BYTES: u64 = 1024 * 1024;
    let folder = path.parent().unwrap_or(path);
    rustix::fs::statvfs(folder).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < NEEDED_BYTES)
}

#[cfg(not(unix))]
fn is_full(_path: &Path) -> bool {
    false
}
