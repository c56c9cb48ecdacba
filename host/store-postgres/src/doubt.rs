//! Determines whether a commit took effect after its answer was lost, or came with a warning.
//!
//! Each commit writes a random mark to the row of its connection, in the same transaction. The mark is
//! present if and only if the transaction committed. Sequence numbers cannot prove that: a crash or a
//! failover may reassign the number of a transaction that never reached the disk.
//!
//! "Absent" is certain only after the transaction has ended. The transaction held the lock on its workspace's
//! row. Once a new connection gets that lock, no backend of this server can commit the transaction any more,
//! and a server that took over never had it. "Present" is certain only if the commit would survive a
//! failover. The check therefore writes, so that its own commit waits for the same standbys as any commit of
//! this database. This also covers a commit whose wait for a standby was cancelled, by this process (see
//! `ending`) or by another role (see `warnings`): it is present and visible, but the standby may never
//! receive it. The write-ahead log is sequential, so a standby that has the check's commit also has the
//! commit in doubt. If the check's own wait is cancelled, it is repeated.

use std::time::{Duration, Instant};

use scorpiox_executor::{Cancel, threads};
use scorpiox_store::StoreError;

use crate::begin::{Begin, Tables};
use crate::connection::Connection;
use crate::database::Database;
use crate::mark::Mark;
use crate::pool::Lease;

/// Maximum time to determine the outcome of an unanswered commit.
const DOUBT_TIME: Duration = Duration::from_secs(10);
const DOUBT_PAUSE: Duration = Duration::from_millis(100);

/// A commit whose answer was lost, or came with a warning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Doubt {
    /// ID of the workspace.
    pub(crate) workspace: i64,
    /// ID of the connection that sent the commit and is not used any more.
    pub(crate) connection: Mark,
    /// Mark that the commit writes.
    pub(crate) mark: Mark,
}

impl Doubt {
    /// Determines the outcome over a new connection. `error` is the reason why it is unknown.
    pub(crate) fn settle(self, database: &Database, error: StoreError) -> Result<(), StoreError> {
        let start = Instant::now();
        while start.elapsed() < DOUBT_TIME {
            // Idle connections may lead to a server that has been replaced.
            database.pool.close_idle();
            // The check may have to wait for the same standby as the commit.
            let left = DOUBT_TIME.saturating_sub(start.elapsed()).max(DOUBT_PAUSE);
            let lease = database.pool.lease_within(left, &Cancel::default(), &mut || ());
            match lease.and_then(|mut lease| self.was_kept(&mut lease)) {
                Ok(true) => return Ok(()),
                Ok(false) => {
                    return Err(match error {
                        StoreError::Unreachable(why) | StoreError::InDoubt(why) => {
                            StoreError::Unreachable(format!("{why}; nothing was kept"))
                        }
                        error => error,
                    });
                }
                // The transaction may still be ending, or the server may still be starting.
                Err(why) => tracing::debug!("a commit is still in doubt: {why}"),
            }
            threads::wait(|| std::thread::sleep(DOUBT_PAUSE));
        }
        Err(StoreError::InDoubt(match error {
            StoreError::Unreachable(why) | StoreError::InDoubt(why) => why,
            error => error.to_string(),
        }))
    }

    fn was_kept(self, lease: &mut Lease) -> Result<bool, StoreError> {
        lease.write(Begin::Settle, Tables::Marks, |connection| self.look(connection))
    }

    fn look(self, lease: &mut Connection) -> Result<bool, StoreError> {
        lease.row("SELECT 1 FROM scorpiox_code.workspace WHERE id = $1 FOR UPDATE", &[&self.workspace])?;
        // A separate statement, so that it sees everything committed before the lock became free.
        let found = lease.change(
            "UPDATE scorpiox_code.commit_mark SET since = now() WHERE connection = $1 AND mark = $2",
            &[&self.connection.as_slice(), &self.mark.as_slice()],
        )?;
        Ok(found == 1)
    }
}
