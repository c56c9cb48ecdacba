//! Accesses the state file of a workspace directly, like a second server would.

use std::path::PathBuf;

use rusqlite::Connection;

use crate::program::Program;

/// Returns the only state file of the program's user.
pub fn state_file(program: &Program) -> PathBuf {
    let folder = program.home().join(".scorpiox/state");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let files: Vec<_> = paths.filter(|path| path.extension().is_some_and(|e| e == "db")).collect();
    assert_eq!(files.len(), 1, "state files: {files:?}");
    files.into_iter().next().expect("one file")
}

/// Executes SQL on the state while no call uses it.
pub fn change(program: &Program, sql: &str) {
    let connection = Connection::open(state_file(program)).expect("the state file");
    connection.execute_batch(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

/// Write lock of a workspace's state. While a test holds it, every call that writes is blocked, as by another
/// server with a long transaction. Released when dropped.
pub struct WriteLock(Connection);

impl WriteLock {
    /// Acquires the lock. A previous call must have created the file.
    pub fn hold(program: &Program) -> Self {
        let connection = Connection::open(state_file(program)).expect("the state file");
        connection.busy_timeout(std::time::Duration::from_secs(10)).expect("a timeout");
        connection.execute_batch("BEGIN IMMEDIATE").expect("the write lock");
        Self(connection)
    }

    /// Releases the lock.
    pub fn release(self) {
        self.0.execute_batch("ROLLBACK").expect("the lock was held");
    }
}
