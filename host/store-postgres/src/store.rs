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

/// Time to retry while the database is unreachable, which may be restarting or failing over.
const AWAY_TIME: Duration = Duration::from_secs(10);
/// Pause between two attempts to reach the database.
const AWAY_PAUSE: Duration = Duration::from_millis(200);

/// State of one workspace in a database. Creating the value opens no connection.
#[derive(Debug)]
pub struct PostgresStore {
    pub(crate) inner: Arc<Inner>,
}

/// Version of a workspace, which each commit with changes replaces. The random mark is needed because the
/// count can repeat after a failover.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Version {
    count: i64,
    mark: Option<Vec<u8>>,
}

/// State shared by the transactions of a workspace.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) database: Arc<Database>,
    pub(crate) name: String,
    /// Random ID that identifies the rows of the workspace, once known. A standby that takes over without
    /// knowing the workspace gives the ID to no other workspace. The second number is that of the connection
    /// used for the lookup: a newer one may lead to another database.
    id: Mutex<Option<(i64, u64)>>,
    /// Queue of the writers in this process.
    writers: Writers,
}

impl PostgresStore {
    pub(crate) fn new(database: Arc<Database>, name: &str) -> Self {
        let (id, writers) = (Mutex::default(), Writers::default());
        Self { inner: Arc::new(Inner { database, name: name.to_owned(), id, writers }) }
    }
}

impl Inner {
    /// Returns the ID of the workspace, creating the workspace if necessary.
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

    /// Reads the ID from the database, or inserts a new one.
    fn looked_up_id(&self, lease: &mut Lease) -> Result<i64, StoreError> {
        if let Some(id) = self.known_id(lease)? {
            Ok(id)
        } else {
            let number = mark::number()?;
            let written = lease.write(Begin::Write, Tables::Names, |connection| {
                connection.change(
                    "INSERT INTO scorpiox_code.workspace (id, name) OVERRIDING SYSTEM VALUE VALUES ($1, $2)
                     ON CONFLICT DO NOTHING",
                    &[&number, &self.name],
                )
            });
            match written {
                // The name is as lasting as the first commit of the workspace, which comes later.
                Ok(_) | Err(StoreError::InDoubt(_)) => {}
                Err(error) => return Err(error),
            }
            let made = self.known_id(lease)?;
            made.ok_or_else(|| StoreError::Other(format!("the workspace {} was taken away", self.name)))
        }
    }

    /// Discards the cached ID.
    pub(crate) fn forget_id(&self) {
        *self.id.lock() = None;
    }

    fn known_id(&self, lease: &mut Lease) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT id FROM scorpiox_code.workspace WHERE name = $1";
        let row = lease.look(|connection| connection.row(sql, &[&self.name]))?;
        Ok(row.map(|row| row.get(0)))
    }

    /// Returns the version of the workspace, or `None` if it does not exist. Creates nothing.
    pub(crate) fn version(&self) -> Result<Option<Version>, StoreError> {
        let lease = &mut self.database.pool.lease_within(SHORT_TIME, &Cancel::default(), &mut || ())?;
        if !self.database.is_there(lease)? {
            return Ok(None);
        }
        // Marks of this program are 16 bytes long. Reads at most 17, whoever wrote them.
        let sql = "SELECT f.format, w.version, substring(w.mark FROM 1 FOR 17)
             FROM (SELECT max(format) AS format FROM scorpiox_code.format) AS f, scorpiox_code.workspace AS w
             WHERE w.name = $1";
        let row = match lease.look(|connection| connection.row(sql, &[&self.name])) {
            // Another database without the tables took over.
            Err(_) if lease.lacks_tables() && self.database.forget_tables() => None,
            looked => looked?,
        };
        let version = row.map(|row| {
            format::check(row.get(0), lease.location())?;
            Ok(Version { count: row.get(1), mark: row.get(2) })
        });
        version.transpose()
    }

    /// Returns the connection with the ID of the workspace.
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
        let note = |error: &StoreError| self.inner.database.note_refusal(error);
        // The first transaction of a workspace writes its row.
        let (lease, id) = self.inner.open(lease).inspect_err(note)?;
        let mut transaction = PostgresTransaction::new(Arc::clone(&self.inner), lease, id);
        if mode == Mode::Write {
            transaction.become_writer(patience).inspect_err(note)?;
            transaction.keep_turn(turn.take());
        }
        Ok(Box::new(transaction))
    }
}

/// Time to wait for a lock that another process holds.
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
        // The queue position comes before the connection, so that waiting writers occupy no connections.
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

    fn answers(&self) -> Result<(), StoreError> {
        self.inner.database.answers()
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
