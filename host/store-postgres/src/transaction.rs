//! A transaction on its own connection.

use std::sync::Arc;
use std::time::Instant;

use scorpiox_store::StoreError;
use scorpiox_store::implementing::{Seen, Turn, Usages};
use tokio_postgres::Row;

use crate::begin::{Begin, Tables};
use crate::connection::{Owned, Params};
use crate::doubt::Doubt;
use crate::mark::{Mark, mark};
use crate::pool::Lease;
use crate::store::{Inner, Patience};
use crate::{format, guard, messages};

/// Deletes marks of connections without a recent commit, once per new connection. A commit in doubt is
/// resolved within seconds, so older marks are not needed.
const PRUNE_MARKS: &str = "DELETE FROM scorpiox_code.commit_mark WHERE connection IN (
         SELECT connection FROM scorpiox_code.commit_mark WHERE since < now() - interval '30 days'
         LIMIT 100 FOR UPDATE SKIP LOCKED
     )";

#[derive(Debug)]
pub(crate) struct PostgresTransaction {
    pub(crate) store: Arc<Inner>,
    /// ID of the workspace.
    pub(crate) workspace: i64,
    /// Taken when the transaction ends.
    lease: Option<Lease>,
    stage: Stage,
    /// Usage of namespaces whose size the transaction changed.
    pub(crate) usages: Usages,
    pub(crate) seen: Seen,
    /// Position in the writer queue of this process. Dropped after the connection is returned, so that the
    /// next writer finds the lock free.
    turn: Option<Turn>,
    /// `true` if other processes are to be told.
    has_news: bool,
    /// Error that ended the transaction, if any.
    failed: Option<String>,
}

/// Progress of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The server does not know the transaction yet.
    Outset,
    /// The transaction has a snapshot.
    Reads,
    /// The transaction is the writer. `has_snapshot` is `true` if it began as a reader and keeps that
    /// snapshot.
    Writes { has_changed: bool, has_snapshot: bool },
    /// The transaction has ended, usually after an error.
    Failed,
}

impl PostgresTransaction {
    pub(crate) fn new(store: Arc<Inner>, lease: Lease, workspace: i64) -> Self {
        Self {
            store,
            workspace,
            lease: Some(lease),
            stage: Stage::Outset,
            usages: Usages::default(),
            seen: Seen::default(),
            turn: None,
            has_news: false,
            failed: None,
        }
    }

    /// Retains the position in the writer queue until the transaction ends.
    pub(crate) fn keep_turn(&mut self, turn: Option<Turn>) {
        self.turn = turn;
    }

    /// Wakes the processes that listen for messages once the transaction has committed.
    pub(crate) fn has_news(&mut self) {
        self.has_news = true;
    }

    /// Returns the ID of this process.
    pub(crate) fn sender(&self) -> Mark {
        self.store.database.sender
    }

    /// Runs a read and returns its rows.
    pub(crate) fn rows(&mut self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        self.reading()?;
        self.done(|lease| lease.rows(sql, params))
    }

    /// Runs a read and returns its row, if any.
    pub(crate) fn row(&mut self, sql: &'static str, params: Params<'_>) -> Result<Option<Row>, StoreError> {
        self.reading()?;
        self.done(|lease| lease.row(sql, params))
    }

    /// Runs a write and returns its row, if any.
    pub(crate) fn write_row(
        &mut self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Option<Row>, StoreError> {
        self.writing()?;
        self.note_change(true);
        self.done(|lease| lease.row(sql, params))
    }

    /// Runs a write and returns the number of changed rows. With zero rows the workspace counts as unchanged.
    pub(crate) fn write(&mut self, sql: &'static str, params: Params<'_>) -> Result<u64, StoreError> {
        self.writing()?;
        let changed = self.done(|lease| lease.change(sql, params))?;
        self.note_change(changed > 0);
        Ok(changed)
    }

    /// Sends a write that changes something, without waiting for the answer.
    pub(crate) fn send(&mut self, sql: &'static str, params: Vec<Owned>) -> Result<(), StoreError> {
        self.writing()?;
        self.note_change(true);
        self.done(|lease| lease.send_change(sql, params))
    }

    fn note_change(&mut self, is_one: bool) {
        if let Stage::Writes { has_changed, .. } = &mut self.stage {
            *has_changed |= is_one;
        }
    }

    /// Becomes the writer of the workspace, or fails with a conflict.
    pub(crate) fn become_writer(&mut self, patience: Patience) -> Result<(), StoreError> {
        /// Also reads the format, whose table is locked first: a migration takes that lock before all others.
        const LOCK: &str =
            "SELECT f.format FROM (SELECT max(format) AS format FROM scorpiox_code.format) AS f,
             scorpiox_code.workspace AS w WHERE w.id = $1 AND w.name = $2 FOR UPDATE OF w";
        const LOCK_NOW: &str =
            "SELECT f.format FROM (SELECT max(format) AS format FROM scorpiox_code.format) AS f,
             scorpiox_code.workspace AS w WHERE w.id = $1 AND w.name = $2 FOR UPDATE OF w NOWAIT";
        let (begin, lock) = match patience {
            Patience::None => (Begin::Write, LOCK_NOW),
            Patience::Moment => (Begin::Wait, LOCK),
        };
        let workspace = self.workspace;
        let is_new = self.stage == Stage::Outset;
        // From here on there is a transaction to roll back.
        self.stage = Stage::Reads;
        let store = Arc::clone(&self.store);
        self.done(|lease| {
            if is_new {
                lease.begin(begin, Tables::Kept)?;
            } else {
                // The table locks were taken before the snapshot, so the snapshot contains every trigger.
                guard::send(lease)?;
            }
            let Some(row) = lease.row(lock, &[&workspace, &store.name])? else {
                // A standby took over that does not know the workspace, or knows it by another ID.
                store.forget_id();
                return Err(StoreError::Conflict);
            };
            format::check(row.get(0), lease.location())
        })?;
        self.stage = Stage::Writes { has_changed: false, has_snapshot: !is_new };
        Ok(())
    }

    fn reading(&mut self) -> Result<(), StoreError> {
        match self.stage {
            Stage::Outset => {
                self.stage = Stage::Reads;
                let (store, workspace) = (Arc::clone(&self.store), self.workspace);
                self.done(|lease| {
                    lease.begin(Begin::Snapshot, Tables::Kept)?;
                    let location = Arc::clone(lease.location());
                    lease.send_check(
                        "SELECT (SELECT max(format) FROM scorpiox_code.format),
                             EXISTS (SELECT 1 FROM scorpiox_code.workspace WHERE id = $1 AND name = $2)",
                        vec![Box::new(workspace), Box::new(store.name.clone())],
                        Box::new(move |row| {
                            format::check(row.and_then(|row| row.get(0)), &location)?;
                            if row.is_some_and(|row| row.get(1)) {
                                return Ok(());
                            }
                            // Another database took over that does not know the workspace, or knows it by
                            // another ID.
                            store.forget_id();
                            Err(StoreError::Conflict)
                        }),
                    )
                })
            }
            Stage::Reads | Stage::Writes { .. } => Ok(()),
            Stage::Failed => Err(self.ended()),
        }
    }

    fn writing(&mut self) -> Result<(), StoreError> {
        match self.stage {
            Stage::Outset | Stage::Reads => self.become_writer(Patience::None),
            Stage::Writes { .. } => Ok(()),
            Stage::Failed => Err(self.ended()),
        }
    }

    /// Runs `work` on the connection. An error ends the transaction, both on the server and here.
    fn done<T>(&mut self, work: impl FnOnce(&mut Lease) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let Some(lease) = self.lease.as_mut() else { return Err(self.ended()) };
        let done = work(lease);
        done.map_err(|error| {
            let error = self.told(error);
            self.store.database.note_refusal(&error);
            self.failed = Some(error.to_string());
            self.roll_back();
            error
        })
    }

    /// Translates an error whose cause is missing tables or a foreign trigger.
    fn told(&mut self, error: StoreError) -> StoreError {
        let Some(lease) = self.lease.as_mut() else { return error };
        if lease.lacks_tables() {
            let _ = lease.roll_back();
            if lease.look(format::found) != Ok(None) {
                return error;
            }
            // Another database took over, and the tables must be created there.
            self.store.database.forget_tables();
            self.store.forget_id();
            return StoreError::Conflict;
        }
        let reported = lease.reported.take();
        if !guard::is_found(reported.as_ref()) {
            return error;
        }
        let _ = lease.roll_back();
        guard::refusal(lease)
    }

    /// Returns the error for a transaction that has already ended.
    fn ended(&self) -> StoreError {
        let what = "an earlier error has ended the transaction";
        StoreError::Other(match &self.failed {
            Some(why) => format!("{what}: {why}"),
            None => what.to_owned(),
        })
    }

    /// Rolls the transaction back.
    fn roll_back(&mut self) {
        let stage = std::mem::replace(&mut self.stage, Stage::Failed);
        let Some(mut lease) = self.lease.take() else { return };
        match stage {
            // The end of a read-only transaction is not awaited.
            Stage::Reads => lease.leave(),
            Stage::Writes { .. } => drop(lease.roll_back()),
            Stage::Outset | Stage::Failed => {}
        }
    }

    /// Commits the transaction if it changed anything.
    pub(crate) fn finish(&mut self) -> Result<(), StoreError> {
        let has_snapshot = match self.stage {
            Stage::Failed => return Err(self.ended()),
            Stage::Writes { has_changed: true, has_snapshot } => has_snapshot,
            Stage::Outset | Stage::Reads | Stage::Writes { .. } => {
                self.roll_back();
                return Ok(());
            }
        };
        let doubt = self.send_finish(has_snapshot)?;
        let Some(mut lease) = self.lease.take() else { return Err(self.ended()) };
        self.stage = Stage::Failed;
        lease.commits.sent = doubt.mark;
        match lease.commit() {
            Ok(()) => {
                lease.commits.kept = Some((doubt.mark, Instant::now()));
                if self.has_news {
                    // The next writer need not wait for the notification.
                    drop(self.turn.take());
                    lease.ring(messages::CHANNEL);
                }
                Ok(())
            }
            Err(StoreError::Conflict) => Err(StoreError::Conflict),
            // A server that fails, even with a full disk, may have committed before the failure.
            Err(error) => {
                self.store.database.note_refusal(&error);
                lease.give_up();
                drop(lease);
                doubt.settle(&self.store.database, error)
            }
        }
    }

    /// Sends the last writes: the usage of namespaces, the new version of the workspace, and the mark that
    /// identifies the commit if its answer is lost.
    fn send_finish(&mut self, has_snapshot: bool) -> Result<Doubt, StoreError> {
        let mark = mark().inspect_err(|_| self.roll_back())?;
        let Some(lease) = self.lease.as_ref() else { return Err(self.ended()) };
        let doubt = Doubt { workspace: self.workspace, connection: lease.id, mark };
        let prunes = lease.commits.kept.is_none() && !has_snapshot;
        let usages = self.usages.changed().inspect_err(|_| self.roll_back())?;
        let workspace = self.workspace;
        for usage in usages {
            let namespace = usage.namespace.into_bytes();
            if usage.now == 0 {
                self.send(
                    "DELETE FROM scorpiox_code.usage WHERE workspace = $1 AND namespace = $2",
                    vec![Box::new(workspace), Box::new(namespace)],
                )?;
            } else {
                self.send(
                    "INSERT INTO scorpiox_code.usage (workspace, namespace, bytes) VALUES ($1, $2, $3)
                     ON CONFLICT (workspace, namespace) DO UPDATE SET bytes = excluded.bytes",
                    vec![Box::new(workspace), Box::new(namespace), Box::new(usage.now)],
                )?;
            }
        }
        if prunes {
            self.send(PRUNE_MARKS, Vec::new())?;
        }
        self.send(
            "WITH marked AS (
                 INSERT INTO scorpiox_code.commit_mark (connection, mark) VALUES ($2, $3)
                 ON CONFLICT (connection) DO UPDATE SET mark = excluded.mark, since = now()
             )
             UPDATE scorpiox_code.workspace SET version = version + 1, mark = $3 WHERE id = $1",
            vec![Box::new(workspace), Box::new(doubt.connection.to_vec()), Box::new(mark.to_vec())],
        )?;
        Ok(doubt)
    }

    /// Returns the stored usage of a namespace, as it is before this transaction.
    pub(crate) fn stored_usage(&mut self, namespace: &str) -> Result<i64, StoreError> {
        let row = self.row(
            "SELECT bytes FROM scorpiox_code.usage WHERE workspace = $1 AND namespace = $2",
            &[&self.workspace.clone(), &namespace.as_bytes()],
        )?;
        Ok(row.map(|row| row.get(0)).unwrap_or_default())
    }
}

impl Drop for PostgresTransaction {
    fn drop(&mut self) {
        self.roll_back();
    }
}
