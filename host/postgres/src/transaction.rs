//! A transaction on a connection of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use scorpiox_executor::{Cancel, threads};
use scorpiox_store::StoreError;
use scorpiox_store::implementing::{Seen, Turn, Usages};
use tokio_postgres::Row;

use crate::connection::{Owned, Params};
use crate::pool::Lease;
use crate::store::{Inner, Patience};

/// The server ends a transaction whose process says nothing for so long: a machine that is gone keeps the lock of no
/// workspace for longer.
macro_rules! begin {
    ($how:literal) => {
        concat!("BEGIN ", $how, "; SET LOCAL idle_in_transaction_session_timeout = '60s'")
    };
}

const BEGIN_READER: &str = begin!("ISOLATION LEVEL REPEATABLE READ");
const BEGIN_WRITER: &str = begin!("ISOLATION LEVEL READ COMMITTED");
/// For who waits a moment for the lock of a workspace, and looks then whether its call was cancelled.
const BEGIN_WAITING: &str =
    concat!(begin!("ISOLATION LEVEL READ COMMITTED"), "; SET LOCAL lock_timeout = '40ms'");

/// How long it is looked whether a commit was kept that nobody answered.
const DOUBT_TIME: Duration = Duration::from_secs(10);
const DOUBT_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct PostgresTransaction {
    store: Arc<Inner>,
    /// The number of its workspace.
    pub(crate) workspace: i64,
    /// Taken when it ends.
    lease: Option<Lease>,
    stage: Stage,
    /// Of namespaces of which it changed the size.
    pub(crate) usages: Usages,
    pub(crate) seen: Seen,
    /// Goes after the connection is given back, so that the next writer finds the lock free.
    turn: Option<Turn>,
    /// What ended it, where an error did.
    failed: Option<String>,
}

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The server knows nothing of it.
    Outset,
    /// It has a snapshot.
    Reads,
    /// It is the writer. The number is what the server knows it by.
    Writes { number: i64, has_changed: bool },
    /// An error has ended it.
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
            failed: None,
        }
    }

    /// Holds the turn of its process until it ends.
    pub(crate) fn keep_turn(&mut self, turn: Option<Turn>) {
        self.turn = turn;
    }

    /// What tells this process from others.
    pub(crate) fn token(&self) -> String {
        self.store.database.token.clone()
    }

    /// The name of its workspace.
    pub(crate) fn workspace_name(&self) -> String {
        self.store.name.clone()
    }

    /// Reads; the rows.
    pub(crate) fn rows(&mut self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        self.reading()?;
        self.done(|lease| lease.rows(sql, params))
    }

    /// Reads; the row, if there is one.
    pub(crate) fn row(&mut self, sql: &'static str, params: Params<'_>) -> Result<Option<Row>, StoreError> {
        self.reading()?;
        self.done(|lease| lease.row(sql, params))
    }

    /// Writes; the row that comes of it, if there is one.
    pub(crate) fn write_row(
        &mut self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Option<Row>, StoreError> {
        self.writing()?;
        self.note_change(true);
        self.done(|lease| lease.row(sql, params))
    }

    /// Writes; how many rows changed. None is no change of the workspace.
    pub(crate) fn write(&mut self, sql: &'static str, params: Params<'_>) -> Result<u64, StoreError> {
        self.writing()?;
        let changed = self.done(|lease| lease.change(sql, params))?;
        self.note_change(changed > 0);
        Ok(changed)
    }

    /// Writes what changes something, and what nobody has to wait for.
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

    /// Becomes the writer of the workspace, or finds a conflict.
    pub(crate) fn become_writer(&mut self, patience: Patience) -> Result<(), StoreError> {
        const LOCK: &str = "SELECT txid_current() FROM scorpiox_code.workspace WHERE id = $1 FOR UPDATE";
        const LOCK_NOW: &str =
            "SELECT txid_current() FROM scorpiox_code.workspace WHERE id = $1 FOR UPDATE NOWAIT";
        let (begin, lock) = match patience {
            Patience::None => (BEGIN_WRITER, LOCK_NOW),
            Patience::Moment => (BEGIN_WAITING, LOCK),
        };
        let workspace = self.workspace;
        let is_new = self.stage == Stage::Outset;
        // From here on there is something to take back.
        self.stage = Stage::Reads;
        let locked = self.done(|lease| {
            if is_new {
                lease.send(begin);
            }
            lease.row(lock, &[&workspace])
        })?;
        let row =
            locked.ok_or_else(|| StoreError::Other(format!("the workspace {} is gone", self.store.name)))?;
        self.stage = Stage::Writes { number: row.get(0), has_changed: false };
        Ok(())
    }

    fn reading(&mut self) -> Result<(), StoreError> {
        match self.stage {
            Stage::Outset => {
                self.stage = Stage::Reads;
                self.done(|lease| {
                    lease.send(BEGIN_READER);
                    Ok(())
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

    /// Does something on the connection. An error ends the transaction, on the server and here.
    fn done<T>(&mut self, work: impl FnOnce(&mut Lease) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let Some(lease) = self.lease.as_mut() else { return Err(self.ended()) };
        let done = work(lease);
        if let Err(error) = &done {
            self.failed = Some(error.to_string());
            self.roll_back();
        }
        done
    }

    /// Why nothing more can be done.
    fn ended(&self) -> StoreError {
        let what = "an earlier error has ended the transaction";
        StoreError::Other(match &self.failed {
            Some(why) => format!("{what}: {why}"),
            None => what.to_owned(),
        })
    }

    /// Ends it; nothing is kept.
    fn roll_back(&mut self) {
        let stage = std::mem::replace(&mut self.stage, Stage::Failed);
        let Some(mut lease) = self.lease.take() else { return };
        match stage {
            // Nobody waits for what only read.
            Stage::Reads => lease.leave("ROLLBACK"),
            Stage::Writes { .. } => drop(lease.run("ROLLBACK")),
            Stage::Outset | Stage::Failed => {}
        }
    }

    /// Keeps what it wrote.
    pub(crate) fn finish(&mut self) -> Result<(), StoreError> {
        let changed = match self.stage {
            Stage::Failed => return Err(self.ended()),
            Stage::Writes { has_changed: true, number } => number,
            Stage::Outset | Stage::Reads | Stage::Writes { .. } => {
                self.roll_back();
                return Ok(());
            }
        };
        self.send_finish()?;
        let Some(mut lease) = self.lease.take() else { return Err(self.ended()) };
        self.stage = Stage::Failed;
        match lease.run("COMMIT") {
            Ok(()) => Ok(()),
            Err(StoreError::Conflict) => Err(StoreError::Conflict),
            // A server that breaks down, of a full disk too, may have kept it before.
            Err(error) => {
                drop(lease);
                self.look_whether_kept(changed, error)
            }
        }
    }

    /// Sends the last writes: what namespaces use now, and that the workspace has changed.
    fn send_finish(&mut self) -> Result<(), StoreError> {
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
        self.send(
            "UPDATE scorpiox_code.workspace SET version = version + 1 WHERE id = $1",
            vec![Box::new(workspace)],
        )
    }

    /// Finds out whether a commit was kept whose answer got lost: the server knows what became of the transaction.
    fn look_whether_kept(&self, number: i64, error: StoreError) -> Result<(), StoreError> {
        let start = Instant::now();
        while start.elapsed() < DOUBT_TIME {
            let asked =
                self.store.database.pool.lease(&Cancel::default(), &mut || ()).and_then(|mut lease| {
                    let row = lease.row("SELECT txid_status($1)", &[&number])?;
                    Ok(row.and_then(|row| row.get::<_, Option<String>>(0)))
                });
            match asked.as_ref().map(Option::as_deref) {
                Ok(Some("committed")) => return Ok(()),
                Ok(Some("aborted")) => {
                    return Err(match error {
                        StoreError::Unreachable(why) => {
                            StoreError::Unreachable(format!("{why}; nothing was kept"))
                        }
                        error => error,
                    });
                }
                // It may still be ending, or the server may still be starting.
                Ok(Some("in progress")) | Err(_) => {}
                Ok(_) => break,
            }
            threads::wait(|| std::thread::sleep(DOUBT_PAUSE));
        }
        Err(StoreError::InDoubt(match error {
            StoreError::Unreachable(why) => why,
            error => error.to_string(),
        }))
    }

    /// What a namespace used before this transaction.
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
