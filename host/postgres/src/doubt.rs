//! Finds out whether a commit was kept after its answer got lost.
//!
//! Each commit leaves a random mark in the row of its connection, in the transaction itself: the mark is there if and only if the
//! transaction was kept. No number of the database says that, since one of a transaction that was never on disk is given
//! out again after a crash or a failover.
//!
//! "Not there" is certain only when the transaction has ended. It held the lock of its workspace's row, so whoever gets
//! that lock over a new connection knows that no backend of this server can commit it any more; a server that took
//! over never had it. "There" is certain only when it would survive a failover, so the look itself writes, and
//! its own commit waits for whatever a commit of this database waits for. That holds for a commit, too, whose wait for a standby
//! was cancelled as it was given up (see `ending`): it is there, others see it, and a standby may never have it.

use std::time::{Duration, Instant};

use scorpiox_executor::{Cancel, threads};
use scorpiox_store::StoreError;

use crate::begin::{Begin, Tables};
use crate::connection::Connection;
use crate::database::Database;
use crate::mark::Mark;
use crate::pool::Lease;

/// The time for which a commit that nobody answered is looked for.
const DOUBT_TIME: Duration = Duration::from_secs(10);
const DOUBT_PAUSE: Duration = Duration::from_millis(100);

/// A commit whose answer got lost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Doubt {
    /// The number of the workspace.
    pub(crate) workspace: i64,
    /// The connection that it was sent over, which nobody uses any more.
    pub(crate) connection: Mark,
    /// The mark that it leaves.
    pub(crate) mark: Mark,
}

impl Doubt {
    /// Finds out what became of it, over a new connection. `error` is why nobody knows.
    pub(crate) fn settle(self, database: &Database, error: StoreError) -> Result<(), StoreError> {
        let start = Instant::now();
        while start.elapsed() < DOUBT_TIME {
            // A connection from before may lead to a server that is none any more.
            database.pool.close_idle();
            // It may wait for the same that the commit waited for.
            let left = DOUBT_TIME.saturating_sub(start.elapsed()).max(DOUBT_PAUSE);
            let lease = database.pool.lease_within(left, &Cancel::default(), &mut || ());
            match lease.and_then(|mut lease| self.was_kept(&mut lease)) {
                Ok(true) => return Ok(()),
                Ok(false) => {
                    return Err(match error {
                        StoreError::Unreachable(why) => {
                            StoreError::Unreachable(format!("{why}; nothing was kept"))
                        }
                        error => error,
                    });
                }
                // It may still be ending, or the server may still be starting.
                Err(why) => tracing::debug!("a commit is still in doubt: {why}"),
            }
            threads::wait(|| std::thread::sleep(DOUBT_PAUSE));
        }
        Err(StoreError::InDoubt(match error {
            StoreError::Unreachable(why) => why,
            error => error.to_string(),
        }))
    }

    fn was_kept(self, lease: &mut Lease) -> Result<bool, StoreError> {
        lease.write(Begin::Settle, Tables::Marks, |connection| self.look(connection))
    }

    fn look(self, lease: &mut Connection) -> Result<bool, StoreError> {
        lease.row("SELECT 1 FROM scorpiox_code.workspace WHERE id = $1 FOR UPDATE", &[&self.workspace])?;
        // A statement of its own, which sees what was committed before the lock was free.
        let found = lease.change(
            "UPDATE scorpiox_code.commit_mark SET since = now() WHERE connection = $1 AND mark = $2",
            &[&self.connection.as_slice(), &self.mark.as_slice()],
        )?;
        Ok(found == 1)
    }
}
