//! The tables, their migrations, and the permissions on them.

use std::mem;
use std::sync::Arc;

use scorpiox_store::StoreError;
use tokio_postgres::error::SqlState;

use crate::begin::{Begin, LOCK_TIME, Tables};
use crate::connection::{ANSWER_TIME, Connection};
use crate::holders::{self, ALONE};
use crate::{guard, rights};

/// Format that this program reads and writes.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // only a few entries
pub const FORMAT: i32 = MIGRATIONS.len() as i32;

/// Migrations from each format to the next, starting without tables. Entries never change, because existing
/// databases have already applied them.
const MIGRATIONS: [&str; 3] = [
    // Text is stored as bytes: any string can be a key, even with a NUL, and keys sort in byte order.
    "CREATE TABLE scorpiox_code.workspace (
        id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name     text NOT NULL UNIQUE,
        version  bigint NOT NULL DEFAULT 0,
        messages bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 50);
    CREATE TABLE scorpiox_code.entry (
        workspace bigint NOT NULL,
        namespace bytea NOT NULL,
        key       bytea NOT NULL,
        value     bytea NOT NULL,
        PRIMARY KEY (workspace, namespace, key)
    );
    CREATE TABLE scorpiox_code.usage (
        workspace bigint NOT NULL,
        namespace bytea NOT NULL,
        bytes     bigint NOT NULL,
        PRIMARY KEY (workspace, namespace)
    ) WITH (fillfactor = 50);
    CREATE TABLE scorpiox_code.timer (
        workspace bigint NOT NULL,
        namespace bytea NOT NULL,
        id        bigint NOT NULL,
        due       bigint NOT NULL,
        PRIMARY KEY (workspace, namespace, id)
    );
    CREATE INDEX timer_by_due ON scorpiox_code.timer (workspace, due, namespace, id);
    CREATE TABLE scorpiox_code.message (
        workspace bigint NOT NULL,
        sequence  bigint NOT NULL,
        namespace bytea NOT NULL,
        timer     bigint NOT NULL,
        fired_at  bigint NOT NULL,
        text      bytea NOT NULL,
        PRIMARY KEY (workspace, sequence)
    );
    CREATE TABLE scorpiox_code.secret (
        name  text PRIMARY KEY,
        value bytea NOT NULL
    );
    CREATE TABLE scorpiox_code.ended (
        session bytea PRIMARY KEY,
        since   timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX ended_by_time ON scorpiox_code.ended (since);",
    // Marks are random: see `mark`. Rows of `relay` act on the other servers, and a role that can read
    // `secret` can act as a server, so a read-only role sees neither.
    "ALTER TABLE scorpiox_code.workspace ADD COLUMN mark bytea;
    CREATE TABLE scorpiox_code.commit_mark (
        connection bytea PRIMARY KEY,
        mark       bytea NOT NULL,
        since      timestamptz NOT NULL DEFAULT now()
    ) WITH (fillfactor = 50);
    ALTER TABLE scorpiox_code.message ADD COLUMN mark bytea;
    ALTER TABLE scorpiox_code.message ADD COLUMN sender bytea;
    ALTER TABLE scorpiox_code.message ADD COLUMN since timestamptz NOT NULL DEFAULT now();
    CREATE INDEX message_by_time ON scorpiox_code.message (since);
    CREATE TABLE scorpiox_code.relay (
        mark    bytea PRIMARY KEY,
        sender  bytea NOT NULL,
        since   timestamptz NOT NULL DEFAULT clock_timestamp(),
        content text NOT NULL
    );
    CREATE INDEX relay_by_time ON scorpiox_code.relay (since);
    ALTER TABLE scorpiox_code.secret ENABLE ROW LEVEL SECURITY;
    CREATE POLICY writers ON scorpiox_code.secret
        USING (has_table_privilege('scorpiox_code.secret', 'INSERT'));
    ALTER TABLE scorpiox_code.relay ENABLE ROW LEVEL SECURITY;
    CREATE POLICY writers ON scorpiox_code.relay
        USING (has_table_privilege('scorpiox_code.relay', 'INSERT'));",
    // Servers act on the content of each table, so only a server may write them: a role that can read and
    // write the secret. Rows are limited to a small multiple of what this program writes, because all servers
    // read them.
    include_str!("format-3.sql"),
];

/// Revokes the permissions of `PUBLIC`, so that a role only has the permissions granted to it.
const REVOKE: &str = "REVOKE ALL ON SCHEMA scorpiox_code FROM PUBLIC;
     REVOKE ALL ON ALL TABLES IN SCHEMA scorpiox_code FROM PUBLIC";

/// All tables, in the order in which servers lock them. Each server transaction begins with `format`, so a
/// holder of its lock meets no server on the way to the other tables.
const TABLES: [&str; 10] =
    ["format", "workspace", "entry", "usage", "timer", "message", "secret", "ended", "commit_mark", "relay"];

/// Conflicts with transactions that read before the migration and would write after it.
const KEEP_OUT: &str = "UPDATE scorpiox_code.workspace SET version = version + 1";

/// Returns the format of the tables, or `None` if there are no tables.
pub(crate) fn found(connection: &mut Connection) -> Result<Option<i32>, StoreError> {
    // Reads the catalog like a table instead of calling `to_regclass`, which may cache that the table does
    // not exist.
    let table = connection.row(
        "SELECT 1 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
         WHERE n.nspname = 'scorpiox_code' AND c.relname = 'format'",
        &[],
    )?;
    if table.is_none() {
        return Ok(None);
    }
    let row = connection.row("SELECT max(format) FROM scorpiox_code.format", &[])?;
    Ok(row.and_then(|row| row.get(0)))
}

/// Migrates the tables to the current format. Returns `true` if anything had to be done. Waits for answers
/// longer than the borrower of the connection may do.
pub(crate) fn migrate(connection: &mut Connection, location: &str) -> Result<bool, StoreError> {
    let answer_time = mem::replace(&mut connection.answer_time, ANSWER_TIME);
    connection.reported = None;
    let migrated = match migrate_once(connection, location) {
        Err(error) => Err(refused(connection, location, error)),
        migrated => migrated,
    };
    connection.answer_time = answer_time;
    migrated
}

/// Turns the error of a failed migration into one that names the holders of its locks.
fn refused(connection: &mut Connection, location: &str, error: StoreError) -> StoreError {
    match (&error, connection.reported.take()) {
        (StoreError::Conflict, Some(SqlState::T_R_DEADLOCK_DETECTED)) => StoreError::Other(format!(
            "{location}: the migration and another transaction waited for each other's locks, and PostgreSQL ended the migration; \
             nothing changed; run `scorpiox-code store migrate` again"
        )),
        (StoreError::Conflict, _) => holders::refusal(connection, location, LOCK_TIME),
        _ => error,
    }
}

fn migrate_once(connection: &mut Connection, location: &str) -> Result<bool, StoreError> {
    connection.write(Begin::Migrate, Tables::Nothing, |connection| {
        // Serializes concurrent migrations: the later ones find the work done.
        lock(connection, |connection| {
            connection.change("SELECT pg_advisory_xact_lock($1)", &[&ALONE]).map(drop)
        })?;
        let found = found(connection)?;
        if found == Some(FORMAT) {
            rights::take_away(connection)?;
            return Ok(false);
        }
        let from = found.unwrap_or_default();
        if from > FORMAT {
            return Err(refusal(found, location));
        }
        if found.is_none() {
            connection.run(
                "CREATE SCHEMA IF NOT EXISTS scorpiox_code;
                 CREATE TABLE scorpiox_code.format (format integer NOT NULL, since timestamptz NOT NULL DEFAULT now())",
            )?;
        } else {
            lock_tables(connection)?;
            // Before the first write, which would fire foreign triggers.
            guard::send(connection)?;
            connection.run(KEEP_OUT)?;
        }
        let writers = writers(connection)?;
        for (format, migration) in (1..).zip(MIGRATIONS).filter(|(format, _)| *format > from) {
            connection.run(migration)?;
            connection.run(&format!("INSERT INTO scorpiox_code.format (format) VALUES ({format})"))?;
        }
        connection.run(REVOKE)?;
        for writer in writers {
            connection.run(&format!(
                "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA scorpiox_code TO {writer}"
            ))?;
        }
        rights::take_away(connection)?;
        Ok(true)
    })
}

/// Takes locks, waiting at most [`LOCK_TIME`] in total.
fn lock(
    connection: &mut Connection,
    take: impl FnOnce(&mut Connection) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    connection.run(&format!("SET LOCAL statement_timeout = '{LOCK_TIME}'"))?;
    take(connection).map_err(|error| match connection.reported {
        Some(SqlState::QUERY_CANCELED) => StoreError::Conflict,
        _ => error,
    })?;
    let time = connection.statement_time();
    connection.run(&format!("SET LOCAL statement_timeout = {time}"))
}

/// Locks all tables exclusively, after waiting for the transactions that use them.
fn lock_tables(connection: &mut Connection) -> Result<(), StoreError> {
    let rows = connection.rows(
        "SELECT c.relname::text FROM pg_catalog.pg_class AS c
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
         WHERE n.nspname = 'scorpiox_code' AND c.relkind = 'r'",
        &[],
    )?;
    let there: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let tables = TABLES.iter().filter(|table| there.iter().any(|there| there == *table));
    let tables: Vec<_> = tables.map(|table| format!("scorpiox_code.{table}")).collect();
    lock(connection, |connection| {
        connection.run(&format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", tables.join(", ")))
    })
}

/// Returns the quoted names of roles with the permissions of a server on every table. They get the same
/// permissions on new tables.
fn writers(connection: &mut Connection) -> Result<Vec<String>, StoreError> {
    let rows = connection.rows(
        "WITH tables AS (
             SELECT c.oid, c.relacl, c.relowner FROM pg_catalog.pg_class AS c
             JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
             WHERE n.nspname = 'scorpiox_code' AND c.relkind = 'r'
         )
         SELECT quote_ident(r.rolname) FROM tables AS c
         CROSS JOIN aclexplode(c.relacl) AS a JOIN pg_catalog.pg_roles AS r ON r.oid = a.grantee
         WHERE a.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE') AND a.grantee <> c.relowner
         GROUP BY r.rolname
         HAVING count(DISTINCT (c.oid, a.privilege_type)) = 4 * (SELECT count(*) FROM tables)",
        &[],
    )?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Revokes the default permission to connect to the database, if the connected role owns it. Returns `true`
/// if it does. Roles with permissions on the tables are granted `CONNECT`.
pub(crate) fn close(connection: &mut Connection) -> Result<bool, StoreError> {
    let owned = connection.row(
        "SELECT quote_ident(datname) FROM pg_catalog.pg_database
         WHERE datname = current_database() AND pg_has_role(datdba, 'MEMBER')",
        &[],
    )?;
    let Some(database) = owned.map(|row| row.get::<_, String>(0)) else { return Ok(false) };
    let roles = connection.rows(
        "SELECT DISTINCT quote_ident(r.rolname) FROM pg_catalog.pg_class AS c
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
         CROSS JOIN aclexplode(c.relacl) AS a JOIN pg_catalog.pg_roles AS r ON r.oid = a.grantee
         WHERE n.nspname = 'scorpiox_code'",
        &[],
    )?;
    for role in roles.iter().map(|row| row.get::<_, String>(0)) {
        connection.run(&format!("GRANT CONNECT ON DATABASE {database} TO {role}"))?;
    }
    connection.run(&format!("REVOKE CONNECT, TEMPORARY ON DATABASE {database} FROM PUBLIC"))?;
    Ok(true)
}

/// Returns `true` if any role of the server may connect to the database or create temporary tables in it.
pub(crate) fn is_open(connection: &mut Connection) -> Result<bool, StoreError> {
    let row = connection.row(
        "SELECT EXISTS (
             SELECT 1 FROM aclexplode(coalesce(datacl, acldefault('d', datdba))) AS a
             WHERE a.grantee = 0 AND a.privilege_type IN ('CONNECT', 'TEMPORARY')
         ) FROM pg_catalog.pg_database WHERE datname = current_database()",
        &[],
    )?;
    Ok(row.is_some_and(|row| row.get(0)))
}

/// Sends a check of the format: the following statements fail if it is not the current one.
pub(crate) fn send_check(connection: &mut Connection) -> Result<(), StoreError> {
    let location = Arc::clone(connection.location());
    connection.send_check(
        "SELECT max(format) FROM scorpiox_code.format",
        Vec::new(),
        Box::new(move |row| check(row.and_then(|row| row.get(0)), &location)),
    )
}

/// Fails if the tables have another format than the current one.
pub(crate) fn check(found: Option<i32>, location: &str) -> Result<(), StoreError> {
    if found == Some(FORMAT) { Ok(()) } else { Err(refusal(found, location)) }
}

/// Returns the error for tables with another format.
pub(crate) fn refusal(found: Option<i32>, location: &str) -> StoreError {
    match found {
        Some(found) if found > FORMAT => {
            StoreError::Newer { path: location.to_owned(), found: found.into(), known: FORMAT.into() }
        }
        Some(found) => StoreError::Other(format!(
            "{location} has format {found}, older than this program's {FORMAT}; run `scorpiox-code store migrate`"
        )),
        None => StoreError::Other(format!(
            "{location} has no tables of this program yet; run `scorpiox-code store migrate`"
        )),
    }
}
