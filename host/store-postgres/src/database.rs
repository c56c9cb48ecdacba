//! A database and its workspaces.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_executor::{Cancel, threads};
use scorpiox_store::{NoName, StoreError, WorkspaceName};
use tokio_postgres::Row;

use crate::address::Address;
use crate::begin::{Begin, Tables};
use crate::bounds::{MOST_MARK, MOST_RELAYED, MOST_ROWS, MOST_SECRET};
use crate::connection::{Connection, SHORT_TIME};
use crate::mark::{Mark, mark};
use crate::notices::Notices;
use crate::pool::{Lease, Pool, Reload};
use crate::secrets::Secrets;
use crate::store::PostgresStore;
use crate::{error, format, guard, rights};

/// Options for using a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Maximum number of connections of this process.
    pub connections: usize,
    /// `true` to create the tables, or to migrate them to the current format, when needed.
    pub migrates: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { connections: 16, migrates: true }
    }
}

/// Other roles that can write the tables or run their own code when the tables are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writers {
    /// Foreign triggers, rules and foreign keys.
    pub foreign: Vec<String>,
    /// Roles with write access.
    pub roles: Vec<String>,
}

/// Time for which one health check counts for all workspaces.
const ANSWERED: Duration = Duration::from_millis(500);

/// Time for which a write counts that failed for a reason that concerns others, too: a full disk, or a constraint or a
/// policy of somebody else. Some writes may succeed meanwhile, and a server that is not ready makes no others.
const REFUSED: Duration = Duration::from_secs(10);

/// A database shared by all workspaces of a process. Creating the value opens no connection.
#[derive(Debug)]
pub struct Database {
    pub(crate) pool: Arc<Pool>,
    options: Options,
    /// `true` once the tables are known to exist in the current format.
    is_ready: AtomicBool,
    /// Serializes the check for `is_ready`.
    checking: Mutex<()>,
    /// Time of the last successful read of all tables.
    answered: Mutex<Option<Instant>>,
    /// Last write that failed for a reason that concerns others, too.
    refused: Mutex<Option<(Instant, StoreError)>>,
    /// Random ID of this process.
    pub(crate) sender: Mark,
    pub(crate) notices: Notices,
    pub(crate) secrets: Secrets,
}

impl Database {
    /// Creates a database for an address.
    pub fn new(address: Address, options: Options) -> Arc<Self> {
        Self::reloading(address, None, options)
    }

    /// Creates a database whose address is read again when the server rejects the role or the password.
    pub fn reloading(address: Address, reload: Option<Reload>, options: Options) -> Arc<Self> {
        let pool = Pool::new(address, reload, options.connections);
        // Without random bytes the ID is all zeros, so the process may receive its own messages. Nothing can
        // be written in that case, because each write needs random bytes too.
        let sender = mark().unwrap_or_default();
        Arc::new(Self {
            pool,
            options,
            is_ready: AtomicBool::new(false),
            checking: Mutex::default(),
            answered: Mutex::default(),
            refused: Mutex::default(),
            sender,
            notices: Notices::default(),
            secrets: Secrets::default(),
        })
    }

    /// Returns the workspace with a name that all servers share.
    pub fn workspace(self: &Arc<Self>, name: &WorkspaceName) -> PostgresStore {
        PostgresStore::new(Arc::clone(self), name.as_str())
    }

    /// Returns the address, without the password.
    pub fn location(&self) -> &str {
        &self.pool.location
    }

    /// Returns the number of open connections of this process, and how many of them are idle.
    pub fn connections(&self) -> [usize; 2] {
        self.pool.load()
    }

    /// Returns how many times an acknowledged write of this process was missing after a reconnect: a standby
    /// took over without the last writes, or a backup was restored.
    pub fn lost_writes(&self) -> u64 {
        self.pool.losses.count()
    }

    /// Returns how far the database's clock is ahead of this machine's, in milliseconds.
    pub fn clock_ahead(&self) -> i64 {
        self.pool.clock.ahead()
    }

    /// Returns the format of the tables, or `None` if there are no tables.
    ///
    /// # Errors
    ///
    /// Fails if connecting or reading fails.
    pub fn format(&self) -> Result<Option<i32>, StoreError> {
        let mut lease = self.pool.lease(&Cancel::default(), &mut || ())?;
        lease.look(format::found)
    }

    /// Creates the tables or migrates them to the current format. Returns `true` if anything had to be done.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Newer`] if a newer program created the tables. Also fails if connecting or
    /// writing fails.
    pub fn migrate(&self) -> Result<bool, StoreError> {
        let mut lease = self.pool.lease(&Cancel::default(), &mut || ())?;
        format::migrate(&mut lease, &self.pool.location)
    }

    /// Revokes the default permission to connect to the database, if this role owns it. Returns `true` if it
    /// does.
    ///
    /// # Errors
    ///
    /// Fails if connecting or writing fails.
    pub fn close_to_others(&self) -> Result<bool, StoreError> {
        let mut lease = self.pool.lease(&Cancel::default(), &mut || ())?;
        lease.write(Begin::Migrate, Tables::Nothing, format::close)
    }

    /// Returns `true` if any role of the server may connect to the database.
    ///
    /// # Errors
    ///
    /// Fails if connecting or reading fails.
    pub fn is_open_to_others(&self) -> Result<bool, StoreError> {
        let mut lease = self.pool.lease(&Cancel::default(), &mut || ())?;
        lease.look(format::is_open)
    }

    /// Returns the names of all workspaces in byte order. Another writer of the database may have stored
    /// invalid names.
    ///
    /// # Errors
    ///
    /// Fails if connecting or reading fails.
    pub fn workspaces(&self) -> Result<Vec<Result<WorkspaceName, NoName>>, StoreError> {
        let mut lease = self.pool.lease(&Cancel::default(), &mut || ())?;
        if !self.is_there(&mut lease)? {
            return Ok(Vec::new());
        }
        let sql = "SELECT name FROM scorpiox_code.workspace ORDER BY name COLLATE \"C\"";
        let rows = lease.look(|connection| connection.rows(sql, &[]))?;
        Ok(rows.iter().map(|row| WorkspaceName::parse(row.get(0))).collect())
    }

    /// Returns the namespaces whose recorded usage differs from their content, as tuples of workspace,
    /// namespace, recorded bytes and actual bytes.
    ///
    /// # Errors
    ///
    /// Fails if connecting or reading fails.
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

    /// Returns a sentence for each row larger than this program writes, up to a maximum number. Tool data is
    /// not checked.
    ///
    /// # Errors
    ///
    /// Fails if connecting or reading fails.
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

    /// Returns the foreign triggers, rules and foreign keys on the tables, and the other roles with write
    /// permissions. Each is a sentence with the statement that removes it. The number of sentences is
    /// bounded.
    ///
    /// # Errors
    ///
    /// Fails if connecting or reading fails.
    pub fn writers(&self) -> Result<Writers, StoreError> {
        let mut lease = self.pool.lease(&Cancel::default(), &mut || ())?;
        let foreign = guard::found(&mut lease)?;
        let foreign = foreign.into_iter().map(|found| format!("{}: {};", found.what, found.ends)).collect();
        Ok(Writers { foreign, roles: lease.look(rights::others)? })
    }

    /// Discards the cached result that the tables exist, because another database may have taken over.
    /// Returns the cached result.
    pub(crate) fn forget_tables(&self) -> bool {
        self.is_ready.swap(false, Ordering::AcqRel)
    }

    /// Ensures that the tables exist in the current format. Checks the database only once.
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

    /// Checks that this process reads the texts and messages of others in time.
    ///
    /// # Errors
    ///
    /// Fails if it has not listened for seconds, or if answers wait for seconds to be read.
    pub fn hears(&self) -> Result<(), StoreError> {
        self.notices.hears()
    }

    /// Checks that the database answers. Calls within a short time share one check.
    pub(crate) fn answers(&self) -> Result<(), StoreError> {
        if let Some((at, error)) = &*self.refused.lock()
            && at.elapsed() < REFUSED
        {
            return Err(error.clone());
        }
        let mut answered = self.answered.lock();
        if answered.is_none_or(|at| at.elapsed() >= ANSWERED) {
            self.probe_all_tables()?;
            *answered = Some(Instant::now());
        }
        Ok(())
    }

    /// Notes the error of a write.
    pub(crate) fn note_refusal(&self, error: &StoreError) {
        if matches!(error, StoreError::Full(_) | StoreError::Barred(_)) {
            *self.refused.lock() = Some((Instant::now(), error.clone()));
        }
    }

    /// Reads from each table that calls use, because another connection may have locked one, and checks that this
    /// role may write them: a standby may have taken over, or permissions may have been revoked.
    fn probe_all_tables(&self) -> Result<(), StoreError> {
        let lease = &mut self.pool.lease_within(SHORT_TIME, &Cancel::default(), &mut || ())?;
        if !self.is_there(lease)? {
            return Ok(());
        }
        let sql = "SELECT (SELECT max(format) FROM scorpiox_code.format), EXISTS (SELECT FROM scorpiox_code.workspace),
             EXISTS (SELECT FROM scorpiox_code.entry), EXISTS (SELECT FROM scorpiox_code.usage),
             EXISTS (SELECT FROM scorpiox_code.timer), EXISTS (SELECT FROM scorpiox_code.message),
             EXISTS (SELECT FROM scorpiox_code.commit_mark), EXISTS (SELECT FROM scorpiox_code.ended),
             EXISTS (SELECT FROM scorpiox_code.relay), current_setting('transaction_read_only') = 'on',
             (SELECT string_agg(p.name || ' on scorpiox_code.' || t.name, ', ' ORDER BY t.name, p.name)
              FROM unnest('{workspace,entry,usage,timer,message,commit_mark,secret,ended,relay}'::text[]) AS t (name)
              CROSS JOIN unnest('{INSERT,UPDATE,DELETE}'::text[]) AS p (name)
              WHERE NOT has_table_privilege('scorpiox_code.' || t.name, p.name))";
        let row = match lease.probe(|connection| connection.row(sql, &[])) {
            // Another database without the tables took over.
            Err(_) if lease.lacks_tables() && self.forget_tables() => None,
            looked => looked?,
        };
        let Some(row) = row else { return Ok(()) };
        format::check(row.get(0), lease.location())?;
        if row.get(9) {
            return Err(error::takes_no_writes(lease.location()));
        }
        match row.get::<_, Option<&str>>(10) {
            None => Ok(()),
            Some(missing) => Err(StoreError::Other(format!(
                "{}: the role of this server lacks {missing}; grant it as the owner of the tables",
                lease.location()
            ))),
        }
    }

    /// Returns `true` if the tables exist. Creates nothing.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_write_counts_for_some_seconds() {
        let address = Address::parse("postgres://nobody@127.0.0.1:1/none").expect("an address");
        let database = Database::new(address, Options::default());
        for error in [StoreError::Full("db".to_owned()), StoreError::Barred("no".to_owned())] {
            database.note_refusal(&StoreError::Conflict);
            assert_ne!(database.answers(), Err(error.clone()));
            database.note_refusal(&error);
            assert_eq!(database.answers(), Err(error.clone()));
            let before = Instant::now().checked_sub(REFUSED).expect("a time");
            *database.refused.lock() = Some((before, error.clone()));
            assert_ne!(database.answers(), Err(error));
        }
    }
}
