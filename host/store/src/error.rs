//! What can go wrong with the state on disk, as somebody who has to fix it sees it.

use std::path::Path;

use rusqlite::ErrorCode;

/// Why the database did not do it. Nothing of the transaction was kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseError {
    /// Somebody else writes, or wrote after this transaction read; run it again.
    #[error("another server writes at the same time")]
    Conflict,
    /// The call was cancelled while it waited for another writer.
    #[error("cancelled while waiting for another server to finish writing")]
    Cancelled,
    /// Another server kept the write lock for too long.
    #[error("another server has been writing for {0} s; try again")]
    Busy(u64),
    /// No space is left.
    #[error("the disk is full")]
    Full,
    /// The folder or the file may not be written.
    #[error("{0} cannot be written; check its permissions, or set SCORPIOX_HOME to a folder that can")]
    ReadOnly(String),
    /// The file is no intact database.
    #[error("{0} is damaged; move it away to start with an empty one")]
    Damaged(String),
    /// The file was made by a newer version of this program.
    #[error("{path} has format {found}, newer than this program's {known}; update the program")]
    Newer {
        /// The file.
        path: String,
        /// Its format.
        found: i64,
        /// The newest format that this program knows.
        known: i64,
    },
    /// A tool's data would exceed its quota of this many bytes.
    #[error("the quota of {0} bytes is used up")]
    Quota(u64),
    /// A key or a value is over its limit.
    #[error("{0}")]
    TooLarge(String),
    /// Anything else, in SQLite's words.
    #[error("{0}")]
    Other(String),
}

impl DatabaseError {
    pub(super) fn from_sqlite(error: &rusqlite::Error, path: &Path) -> Self {
        let shown = || path.display().to_string();
        let rusqlite::Error::SqliteFailure(failure, _) = error else {
            return Self::Other(error.to_string());
        };
        match failure.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Conflict,
            ErrorCode::DiskFull => Self::Full,
            ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
                Self::ReadOnly(shown())
            }
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Self::Damaged(shown()),
            // SQLite reports a disk that is full as an I/O error for its auxiliary files.
            ErrorCode::SystemIoFailure if is_full(path) => Self::Full,
            _ => Self::Other(format!("{error}, code {} ({})", failure.extended_code, path.display())),
        }
    }

    pub(super) fn from_io(error: &std::io::Error, path: &Path) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                Self::ReadOnly(path.display().to_string())
            }
            _ => Self::Other(format!("{}: {error}", path.display())),
        }
    }
}

/// Whether the disk has less space than a transaction may need.
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
