//! Creates the database file.
//!
//! Invariant: the file gets its name only when it is complete. Otherwise, servers that start concurrently on
//! a new workspace would see each other's incomplete files.
//!
//! This module opens existing files only through SQLite. Closing another descriptor would release all POSIX
//! locks that this process holds on the file (<https://www.sqlite.org/howtocorrupt.html>, section 2.2).

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::{Connection, OpenFlags};
use scorpiox_fs::home::{instance, private};

use crate::StoreError;

/// Format written by this program, stored in `user_version`.
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

/// Reads the format of a file; 0 if it is empty.
pub(super) fn format(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Creates the tables, unless another server has done so.
pub(super) fn tables(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    if format(connection)? == 0 {
        connection.execute_batch(SCHEMA)?;
        connection.pragma_update(None, "user_version", FORMAT)?;
    }
    connection.execute_batch("COMMIT")?;
    // Last, so that everything is in the main file and the write-ahead log is empty.
    connection.pragma_update(None, "journal_mode", "WAL")
}

/// Creates the file `path`, unless another server has done so.
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

/// File under construction. Dropping it removes the file and SQLite's auxiliary files.
struct Draft(PathBuf);

impl Draft {
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut file = self.0.clone().into_os_string();
        file.push(suffix);
        file.into()
    }

    /// Returns `true` if a write-ahead log remains, with data missing from the main file.
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
