//! Detects lost acknowledged writes.
//!
//! The database acknowledges a commit, but an asynchronous standby that takes over may not have it. This
//! cannot be prevented here, but it is reported: the first new connection after another one ended checks for
//! the last acknowledged mark.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::connection::{Commits, Connection};
use crate::mark::Mark;

/// Last commit over an ended connection, and the number of times that such a commit was missing.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    last: Mutex<Option<(Mark, Commits)>>,
    count: AtomicU64,
}

impl Losses {
    /// Records that a connection has ended.
    pub(crate) fn note(&self, connection: &Connection) {
        let commits = connection.commits;
        let Some((_, at)) = commits.kept else { return };
        let mut last = self.last.lock();
        let is_newer = last.is_none_or(|(_, known)| known.kept.is_none_or(|(_, known)| known < at));
        if is_newer {
            *last = Some((connection.id, commits));
        }
    }

    /// Checks over a new connection that the last commit is present.
    pub(crate) fn look(&self, connection: &mut Connection) {
        let Some((id, commits)) = self.last.lock().take() else { return };
        let Some((kept, at)) = commits.kept else { return };
        // A commit sent after it may have replaced its mark.
        let marks = [kept.as_slice(), commits.sent.as_slice()];
        let found = connection.look(|connection| {
            connection.row(
                "SELECT EXISTS (
                     SELECT 1 FROM scorpiox_code.commit_mark WHERE connection = $1 AND mark = ANY($2)
                 )",
                &[&id.as_slice(), &marks.as_slice()],
            )
        });
        match found {
            Ok(Some(row)) if !row.get::<_, bool>(0) => {
                self.count.fetch_add(1, Ordering::Relaxed);
                tracing::error!(
                    "acknowledged writes are lost: {} does not have what this server was told to be kept {} s ago; a standby \
                     took over without it, or a backup was restored. See `When something is lost` in docs/operations.md",
                    connection.location(),
                    at.elapsed().as_secs()
                );
            }
            Ok(_) => {}
            // The next connection repeats the check.
            Err(error) => {
                tracing::debug!("it is not known whether the last commit is there: {error}");
                *self.last.lock() = Some((id, commits));
            }
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}
