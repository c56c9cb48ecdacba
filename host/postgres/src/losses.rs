//! Noticing that acknowledged writes are lost.
//!
//! The database says that something is kept, and an asynchronous standby that takes over may not have it. Nobody can prevent that
//! here, but it does not pass in silence: over the first new connection after one ended, the last mark is looked for that
//! was acknowledged.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::connection::{Commits, Connection};
use crate::mark::Mark;

/// The last commit over a connection that has ended, and how often such a one was missing.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    last: Mutex<Option<(Mark, Commits)>>,
    count: AtomicU64,
}

impl Losses {
    /// Notes that a connection has ended.
    pub(crate) fn note(&self, connection: &Connection) {
        let commits = connection.commits;
        let Some((_, at)) = commits.kept else { return };
        let mut last = self.last.lock();
        let is_newer = last.is_none_or(|(_, known)| known.kept.is_none_or(|(_, known)| known < at));
        if is_newer {
            *last = Some((connection.id, commits));
        }
    }

    /// Looks over a new connection whether the last commit is there.
    pub(crate) fn look(&self, connection: &mut Connection) {
        let Some((id, commits)) = self.last.lock().take() else { return };
        let Some((kept, at)) = commits.kept else { return };
        // One that was sent after it may be there in its place.
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
            // The next connection looks.
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
