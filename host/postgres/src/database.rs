//! A database, and the workspaces in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use scorpiox_executor::{Cancel, threads};
use scorpiox_store::{NoName, StoreError, WorkspaceName};
use tokio_postgres::Row;

use crate::address::Address;
use crate::begin::{Begin, Tables};
use crate::bounds::{MOST_MARK, MOST_RELAYED, MOST_ROWS, MOST_SECRET};
use crate::connection::Connection;
use crate::mark::{Mark, mark};
use crate::notices::Notices;
use crate::pool::{Lease, Pool, Reload};
use crate::secrets::Secrets;
use crate::store::PostgresStore;
use crate::{format, guard, rights};

/// How a database is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Most connections of this process.
    pub connections: usize,
    /// Whether its tables are made, or brought to this program's format, where that has to be.
    pub migrates: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { connections: 16, migrates: true }
    }
}

/// Other roles that can write the tables, or have something of their own done when they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writers {
    /// Triggers, rules and foreign keys.
    pub foreign: Vec<String>,
    /// Roles.
    pub roles: Vec<String>,
}

/// A database, which all workspaces of a process share. Making the value connects to nothing.
#[derive(Debug)]
pub struct Database {
    pub(crate) pool: Arc<Pool>,
    options: Options,
    /// Its tables are there, in this program's format.
    is_ready: AtomicBool,
    /// Held by who makes sure of that.
    checking: Mutex<()>,
    /// What tells this process from others.
    pub(crate) sender: Mark,
    pub(crate) notices: Notices,
    pub(crate) secrets: Secrets,
}

impl Database {
    /// The database at an address.
    pub fn new(address: Address, options: Options) -> Arc<Self> {
        Self::reloading(address, None, options)
    }

    /// The database at an address that is read again when the database refuses the role or its password.
    pub fn reloading(address: Address, reload: Option<Reload>, options: Options) -> Arc<Self> {
        let pool = Pool::new(address, reload, options.connections);
        // Without random numbers it hears itself, and nothing can be written, which needs them, too.
        let sender = mark().unwrap_or_default();
        Arc::new(Self {
            pool,
            options,
            is_ready: AtomicBool::new(false),
            checking: Mutex::default(),
            sender,
            notices: Notices::default(),
            secrets: Secrets::default(),
        })
    }

    /// A workspace in it, by a name that is the same for all who share it.
    pub fn workspace(self: &Arc<Self>, name: &WorkspaceName) -> PostgresStore {
        PostgresStore::new(Arc::clone(self), name.as_str())
    }

    /// Where it is, without the password.
    pub fn location(&self) -> &str {
        &self.pool.location
    }

    /// How many connections this process has to it, and how many of them nothing uses.
    pub fn connections(&self) -> [usize; 2] {
        self.pool.load()
    }

    /// The number of times that a database answered without what this process knows to have been kept: a standby took over that did not
    /// have the last writes, or a backup was restored.
    pub fn lost_writes(&self) -> u64 {
        self.pool.losses.count()
    }

    /// Returns the milliseconds by which the database's clock is ahead of this machine's.
    pub fn clock_ahead(&self) -> i64 {
        self.pool.clock.ahead()
    }

    /// The format of its tables; none where there are none.
    ///
    /// # Errors
    ///
    /// Those of connecting, and of reading.
    pub fn format(&self) -> Result<Option<i32>, StoreError> {
        let mut lease = self.pool.lease(&Cancel::default(), &mut || ())?;
        lease.look(format::found)
    }

    /// Makes its tables, or brings them to this program's format; whether that was to be done.
    ///
    /// # Errors
    ///
    /// [`StoreError::Newer`] where a newer program made them, and those of connecting and writing.
    pub fn migrate(&self) -> Result<bool, StoreError> {
        let mut lease = self.pool.lease(&Cancel::default(), &mut || ())?;
        format::migrate(&mut lease, &self.pool.location)
    }

    /// Lets nobody connect to it any more who was not given that, where this role owns it; whether it does.
    ///
    /// # Errors
    ///
    /// Those of connecting and writing.
    pub fn close_to_others(&self) -> Result<bool, StoreError> {
        let mut lease = self.pool.lease(&Cancel::default(), &mut || ())?;
        lease.write(Begin::Migrate, Tables::Nothing, format::close)
    }

    /// Reports whether anybody may connect to it who has an account of its server.
    ///
    /// # Errors
    ///
    /// Those of connecting, and of reading.
    pub fn is_open_to_others(&self) -> Result<bool, StoreError> {
        let mut lease = self.pool.lease(&Cancel::default(), &mut || ())?;
        lease.look(format::is_open)
    }

    /// The names of all workspaces in it, in the order of their bytes, as whoever writes the database gave them.
    ///
    /// # Errors
    ///
    /// Those of connecting, and of reading.
    pub fn workspaces(&self) -> Result<Vec<Result<WorkspaceName, NoName>>, StoreError> {
        let mut lease = self.pool.lease(&Cancel::default(), &mut || ())?;
        if !self.is_there(&mut lease)? {
            return Ok(Vec::new());
        }
        let sql = "SELECT name FROM scorpiox_code.workspace ORDER BY name COLLATE \"C\"";
        let rows = lease.look(|connection| connection.rows(sql, &[]))?;
        Ok(rows.iter().map(|row| WorkspaceName::parse(row.get(0))).collect())
    }

    /// Workspaces of which the sum of what is used is not what is there: with the namespace, that sum, and what it is.
    ///
    /// # Errors
    ///
    /// Those of connecting, and of reading.
    pub fn miscounted(&self) -> Result<Vec<(String, String, i64, i64)>, StoreError> {
        let mut lease = self.pool.lease(&Cancel::default(), &mut || ())?;
        let sql = "SELECT w.name, encode(coalesce(u.namespace, e.namespace), 'escape'), coalesce(u.bytes, 0),
                 coalesce(e.bytes, 0)
             FROM scorpiox_code.usage AS u
             FULL JOIN (
                 SELECT workspace, namespace, sum(octet_length(key) + octet_length(value))::bigint AS bytes
                 FROM scorpiox_code.entry GROUP BY workspace, namespace
             ) AS e ON e.workspace = u.workspace AND e.namespace = u.namespace
             JOIN scorpiox_code.workspace AS w ON w.id = coalesce(u.workspace, e.workspace)
             WHERE coalesce(u.bytes, 0) <> coalesce(e.bytes, 0) ORDER BY 1, 2";
        let rows = lease.look(|connection| {
            format::send_check(connection)?;
            connection.rows(sql, &[])
        })?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect())
    }

    /// Rows that are longer than this program makes them, beside what tools keep: a sentence for each, of a bounded number.
    ///
    /// # Errors
    ///
    /// Those of connecting, and of reading.
    pub fn oversized(&self) -> Result<Vec<String>, StoreError> {
        let mut lease = self.pool.lease(&Cancel::default(), &mut || ())?;
        let sql = "SELECT what, left(name, 100), bytes, most FROM (
                 SELECT 'the secret' AS what, name, octet_length(value) AS bytes, $1::integer AS most
                 FROM scorpiox_code.secret
                 UNION ALL SELECT 'the mark of the workspace', name, octet_length(mark), $2::integer
                 FROM scorpiox_code.workspace
                 UNION ALL SELECT 'the mark of a message of the workspace', w.name, octet_length(m.mark), $2::integer
                 FROM scorpiox_code.message AS m JOIN scorpiox_code.workspace AS w ON w.id = m.workspace
                 UNION ALL SELECT 'the mark of a text between servers of', since::text, octet_length(mark), $2::integer
                 FROM scorpiox_code.relay
                 UNION ALL SELECT 'a text between servers of', since::text, octet_length(content), $3::integer
                 FROM scorpiox_code.relay
             ) AS every WHERE bytes > most ORDER BY what, name LIMIT $4";
        let rows = lease.look(|connection| {
            format::send_check(connection)?;
            connection.rows(sql, &[&MOST_SECRET, &MOST_MARK, &MOST_RELAYED, &MOST_ROWS])
        })?;
        let sentence = |row: &Row| {
            let (what, name): (&str, &str) = (row.get(0), row.get(1));
            let (bytes, most): (i32, i32) = (row.get(2), row.get(3));
            format!("{what} {name:?} has {bytes} bytes, more than {most}")
        };
        let mut all: Vec<_> = rows.iter().map(sentence).collect();
        if i64::try_from(all.len()).is_ok_and(|count| count >= MOST_ROWS) {
            all.push(format!("perhaps there are more rows that are too long than these {MOST_ROWS}"));
        }
        Ok(all)
    }

    /// The triggers, rules and foreign keys on its tables, which are none of this program's, with the statements that end them; and the other
    /// roles that have a right to write, with the statements that take it away. A sentence for each, of a bounded number.
    ///
    /// # Errors
    ///
    /// Those of connecting, and of reading.
    pub fn writers(&self) -> Result<Writers, StoreError> {
        let mut lease = self.pool.lease(&Cancel::default(), &mut || ())?;
        let foreign = guard::found(&mut lease)?;
        let foreign = foreign.into_iter().map(|found| format!("{}: {};", found.what, found.ends)).collect();
        Ok(Writers { foreign, roles: lease.look(rights::others)? })
    }

    /// Has it looked up anew whether the tables are there: another database may have taken over. Reports whether they were known to be.
    pub(crate) fn forget_tables(&self) -> bool {
        self.is_ready.swap(false, Ordering::AcqRel)
    }

    /// Makes sure, once, that the tables are what this program knows.
    pub(crate) fn ready(&self, connection: &mut Connection) -> Result<(), StoreError> {
        if self.is_ready.load(Ordering::Acquire) {
            return Ok(());
        }
        let _checking = threads::wait(|| self.checking.lock());
        if self.is_ready.load(Ordering::Acquire) {
            return Ok(());
        }
        match connection.look(format::found)? {
            Some(format::FORMAT) => {}
            _ if self.options.migrates => {
                format::migrate(connection, &self.pool.location)?;
            }
            found => return Err(format::refusal(found, &self.pool.location)),
        }
        self.is_ready.store(true, Ordering::Release);
        Ok(())
    }

    /// Whether the tables are there, without making them.
    pub(crate) fn is_there(&self, lease: &mut Lease) -> Result<bool, StoreError> {
        if self.is_ready.load(Ordering::Acquire) {
            return Ok(true);
        }
        match lease.look(format::found)? {
            None => Ok(false),
            Some(found) if found > format::FORMAT => Err(format::refusal(Some(found), &self.pool.location)),
            Some(_) => Ok(true),
        }
    }
}
