//! Making the file.
//!
//! Invariant: the file has its name only when it is complete. Servers that start at once
//! on a new workspace would otherwise see each other's half-made files.
//!
//! Nothing here opens a file that exists, except through SQLite: closing it again would
//! drop every lock that this process's connections hold on it (POSIX locks belong to the
//! process; <https://www.sqlite.org/howtocorrupt.html>, section 2.2).

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::{Connection, OpenFlags};
use scorpiox_home::{instance, private};

use crate::StoreError;

/// The format that this program writes, kept in `user_version`.
pub(super) const FORMAT: i64 = 1;

const SCHEMA: &str = "
    CREATE TABLE kv (
        namespace TEXT NOT NULL,
        key       TEXT NOT NULL,
        value     BLOB NOT NULL,
        PRIMARY KEY (namespace, key)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE usage (
        namespace TEXT PRIMARY KEY,
        bytes     INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE timer (
        namespace TEXT NOT NULL,
        id        INTEGER NOT NULL,
        due       INTEGER NOT NULL,
        PRIMARY KEY (namespace, id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE message (
        sequence  INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace TEXT NOT NULL,
        timer     INTEGER NOT NULL,
        fired_at  INTEGER NOT NULL,
        text      TEXT NOT NULL
    ) STRICT;
";

/// The format of a file; 0 when it is empty.
pub(super) fn format(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Makes the tables, unless another server did so in the meantime.
pub(super) fn tables(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    if format(connection)? == 0 {
        connection.execute_batch(SCHEMA)?;
        connection.pragma_update(None, "user_version", FORMAT)?;
    }
    connection.execute_batch("COMMIT")?;
    // Last, so that all of it is in the file itself and nothing in a write-ahead log yet.
    connection.pragma_update(None, "journal_mode", "WAL")
}

/// Makes the file `path`, unless another server did so in the meantime.
pub(super) fn file(path: &Path) -> Result<(), StoreError> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    if let Some(folder) = path.parent() {
        private::folder(folder).map_err(|e| StoreError::from_io(&e, folder))?;
    }
    let count = MADE.fetch_add(1, Ordering::Relaxed);
    let draft = Draft(path.with_extension(format!("new-{}-{count}", instance::name())));
    private::options()
        .write(true)
        .create_new(true)
        .open(&draft.0)
        .map(drop)
        .map_err(|e| StoreError::from_io(&e, path))?;
    let made = || -> rusqlite::Result<()> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&draft.0, flags)?;
        tables(&connection)?;
        connection.close().map_err(|(_, error)| error)
    };
    made().map_err(|e| StoreError::from_sqlite(&e, path))?;
    if draft.has_log() {
        return Err(StoreError::Full(path.display().to_string()));
    }
    match private::name_new(&draft.0, path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(StoreError::from_io(&error, path)),
        _ => Ok(()),
    }
}

/// A file that is being made. Dropped, it is gone with what SQLite puts beside it.
struct Draft(PathBuf);

impl Draft {
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut file = self.0.clone().into_os_string();
        file.push(suffix);
        file.into()
    }

    /// Whether a write-ahead log is left, with what did not get into the file.
    fn has_log(&self) -> bool {
        fs::metadata(self.beside("-wal")).is_ok_and(|log| log.len() > 0)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let _ = fs::remove_file(self.beside(suffix));
        }
    }
}
