//! One workspace of a database.

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_executor::{Cancel, threads};
use scorpiox_store::implementing::{Turn, Writers, retry_while_locked};
use scorpiox_store::{Changes, Mode, Store, StoreError, Tell, Transaction};

use crate::begin::{Begin, Tables};
use crate::changes::PostgresChanges;
use crate::connection::SHORT_TIME;
use crate::database::Database;
use crate::format;
use crate::mark;
use crate::pool::Lease;
use crate::transaction::PostgresTransaction;

/// How long a database is waited for that cannot be reached: it may be starting again, or another one takes over.
const AWAY_TIME: Duration = Duration::from_secs(10);
/// Between two tries to reach it.
const AWAY_PAUSE: Duration = Duration::from_millis(200);

/// The state of one workspace, in a database. Making the value connects to nothing.
#[derive(Debug)]
pub struct PostgresStore {
    pub(crate) inner: Arc<Inner>,
}

/// The mark that each commit leaves that changed something: a count alone may come again after a failover.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Version {
    count: i64,
    mark: Option<Vec<u8>>,
}

/// What its transactions share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) database: Arc<Database>,
    pub(crate) name: String,
    /// By which its rows are found, once that is known. It is random: a standby that takes over without having heard of it
    /// gives it to no other workspace.
    /// With the number of the connection that it was looked up over: a newer one may lead to another database.
    id: Mutex<Option<(i64, u64)>>,
    /// Who of this process writes.
    writers: Writers,
}

impl PostgresStore {
    pub(crate) fn new(database: Arc<Database>, name: &str) -> Self {
        let (id, writers) = (Mutex::default(), Writers::default());
        Self { inner: Arc::new(Inner { database, name: name.to_owned(), id, writers }) }
    }
}

impl Inner {
    /// The number of the workspace, which gets one where it was never used.
    fn id(&self, lease: &mut Lease) -> Result<i64, StoreError> {
        match *self.id.lock() {
            Some((id, number)) if lease.number <= number => return Ok(id),
            _ => {}
        }
        self.database.ready(lease)?;
        let id = match self.looked_up_id(lease) {
            Err(_) if lease.lacks_tables() && self.database.forget_tables() => {
                self.database.ready(lease)?;
                self.looked_up_id(lease)?
            }
            looked => looked?,
        };
        *self.id.lock() = Some((id, lease.number));
        Ok(id)
    }

    /// The number as the database has it, or gets it now.
    fn looked_up_id(&self, lease: &mut Lease) -> Result<i64, StoreError> {
        if let Some(id) = self.known_id(lease)? {
            Ok(id)
        } else {
            let number = mark::number()?;
            lease.write(Begin::Write, Tables::Names, |connection| {
                connection.change(
                    "INSERT INTO scorpiox_code.workspace (id, name) OVERRIDING SYSTEM VALUE VALUES ($1, $2)
                     ON CONFLICT DO NOTHING",
                    &[&number, &self.name],
                )
            })?;
            let made = self.known_id(lease)?;
            made.ok_or_else(|| StoreError::Other(format!("the workspace {} was taken away", self.name)))
        }
    }

    /// Has the number looked up anew.
    pub(crate) fn forget_id(&self) {
        *self.id.lock() = None;
    }

    fn known_id(&self, lease: &mut Lease) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT id FROM scorpiox_code.workspace WHERE name = $1";
        let row = lease.look(|connection| connection.row(sql, &[&self.name]))?;
        Ok(row.map(|row| row.get(0)))
    }

    /// The row that each change of the workspace changes; none where it was never used. Creates nothing.
    pub(crate) fn version(&self) -> Result<Option<Version>, StoreError> {
        let lease = &mut self.database.pool.lease_within(SHORT_TIME, &Cancel::default(), &mut || ())?;
        if !self.database.is_there(lease)? {
            return Ok(None);
        }
        // No mark of this program's is longer, whoever wrote it.
        let sql = "SELECT f.format, w.version, substring(w.mark FROM 1 FOR 17)
             FROM (SELECT max(format) AS format FROM scorpiox_code.format) AS f, scorpiox_code.workspace AS w
             WHERE w.name = $1";
        let row = match lease.look(|connection| connection.row(sql, &[&self.name])) {
            // Another database took over, and has none.
            Err(_) if lease.lacks_tables() && self.database.forget_tables() => None,
            looked => looked?,
        };
        let version = row.map(|row| {
            format::check(row.get(0), lease.location())?;
            Ok(Version { count: row.get(1), mark: row.get(2) })
        });
        version.transpose()
    }

    /// Looks into each table that calls use: somebody may have locked one.
    pub(crate) fn reads_all_tables(&self) -> Result<(), StoreError> {
        let lease = &mut self.database.pool.lease_within(SHORT_TIME, &Cancel::default(), &mut || ())?;
        if !self.database.is_there(lease)? {
            return Ok(());
        }
        let sql = "SELECT EXISTS (SELECT FROM scorpiox_code.entry), EXISTS (SELECT FROM scorpiox_code.usage),
             EXISTS (SELECT FROM scorpiox_code.timer), EXISTS (SELECT FROM scorpiox_code.message),
             EXISTS (SELECT FROM scorpiox_code.commit_mark), EXISTS (SELECT FROM scorpiox_code.ended)";
        match lease.look(|connection| connection.row(sql, &[])) {
            Err(_) if lease.lacks_tables() && self.database.forget_tables() => Ok(()),
            looked => looked.map(drop),
        }
    }

    /// A connection, with the number of the workspace.
    fn open(&self, lease: Lease) -> Result<(Lease, i64), StoreError> {
        let mut lease = lease;
        let id = self.id(&mut lease)?;
        Ok((lease, id))
    }
}

impl PostgresStore {
    fn begun(
        &self,
        mode: Mode,
        lease: Lease,
        turn: &mut Option<Turn>,
        patience: Patience,
    ) -> Result<Box<dyn Transaction>, StoreError> {
        let (lease, id) = self.inner.open(lease)?;
        let mut transaction = PostgresTransaction::new(Arc::clone(&self.inner), lease, id);
        if mode == Mode::Write {
            transaction.become_writer(patience)?;
            transaction.keep_turn(turn.take());
        }
        Ok(Box::new(transaction))
    }
}

/// Whether a lock that another process holds is waited for, for a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    None,
    Moment,
}

impl Store for PostgresStore {
    fn location(&self) -> String {
        format!("{} (workspace {})", self.inner.database.location(), self.inner.name)
    }

    fn exists(&self) -> bool {
        self.inner.id.lock().is_some() || self.inner.version().is_ok_and(|version| version.is_some())
    }

    fn is_absent(&self) -> Result<bool, StoreError> {
        Ok(self.inner.id.lock().is_none() && self.inner.version()?.is_none())
    }

    fn begin(
        &self,
        mode: Mode,
        cancel: &Cancel,
        on_wait: &mut dyn FnMut(),
    ) -> Result<Box<dyn Transaction>, StoreError> {
        let mut is_told = false;
        let on_wait = &mut || {
            if !mem::replace(&mut is_told, true) {
                on_wait();
            }
        };
        // The turn comes before the connection, so that those who wait for one keep no connection from others.
        let mut turn = match mode {
            Mode::Write => Some(self.inner.writers.turn(cancel, on_wait)?),
            Mode::ReadFirst => None,
        };
        let start = Instant::now();
        loop {
            let begun = match self.inner.database.pool.lease(cancel, on_wait) {
                Ok(lease) => self.begun_patiently(mode, lease, &mut turn, cancel, on_wait),
                Err(error) => Err(error),
            };
            match begun {
                Err(StoreError::Unreachable(_)) if start.elapsed() < AWAY_TIME => {
                    self.inner.database.pool.close_idle();
                    on_wait();
                    threads::wait(|| cancel.wait(AWAY_PAUSE));
                    if cancel.is_set() {
                        return Err(StoreError::Cancelled);
                    }
                }
                done => return done,
            }
        }
    }

    fn try_begin(&self, mode: Mode) -> Result<Box<dyn Transaction>, StoreError> {
        let mut turn = match mode {
            Mode::Write => Some(self.inner.writers.try_turn().ok_or(StoreError::Conflict)?),
            Mode::ReadFirst => None,
        };
        let lease = self.inner.database.pool.try_lease()?;
        self.begun(mode, lease, &mut turn, Patience::None)
    }

    fn hear(&self, tell: Tell) -> Result<(), StoreError> {
        let heard = self.inner.database.hear(&self.inner.name, tell);
        heard.map_err(|error| StoreError::Other(format!("there is no thread for messages: {error}")))
    }

    fn hears(&self) -> Result<(), StoreError> {
        self.inner.database.notices.hears()
    }

    fn clock_ahead(&self) -> i64 {
        self.inner.database.pool.clock.ahead()
    }

    fn changes(&self) -> Result<Box<dyn Changes>, StoreError> {
        Ok(Box::new(PostgresChanges::new(Arc::clone(&self.inner))?))
    }
}

impl PostgresStore {
    /// Begins on a connection, and waits while another process writes.
    fn begun_patiently(
        &self,
        mode: Mode,
        lease: Lease,
        turn: &mut Option<Turn>,
        cancel: &Cancel,
        on_wait: &mut dyn FnMut(),
    ) -> Result<Box<dyn Transaction>, StoreError> {
        let mut lease = Some(lease);
        retry_while_locked(cancel, on_wait, || {
            let lease = match lease.take() {
                Some(lease) => lease,
                None => self.inner.database.pool.lease(cancel, &mut || ())?,
            };
            self.begun(mode, lease, turn, Patience::Moment)
        })
    }
}
