//! Refuses writes to tables with foreign triggers, rules or foreign keys. This program creates none: a role
//! that may create one can have its own functions called with a server's permissions, or prevent servers from
//! removing rows. PostgreSQL does not record the creator of a trigger, and the owner of its function says
//! nothing about the `WHEN` condition. Triggers with functions of the table owner are therefore refused too.
//!
//! A transaction that may write locks its tables before it takes a snapshot. No trigger can be created under
//! those locks, so the snapshot contains all of them. If there is one, the check itself fails, and with it
//! all statements sent afterwards.

use scorpiox_store::StoreError;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;

use crate::begin::durable;
use crate::connection::Connection;

/// Maximum number of objects named in an error.
const MOST_NAMED: i64 = 5;

/// Names of the tables, as an SQL array.
macro_rules! tables {
    () => {
        "'{format,workspace,entry,usage,timer,message,secret,ended,commit_mark,relay}'::name[]"
    };
}

/// Query that fails with [`FOUND`] if there is a trigger or a rule. PostgreSQL sets both flags when the first
/// one is created. Each transaction that writes a table runs it, so it also makes the commit durable.
const NONE: &str = concat!(
    "SELECT 1 / (NOT EXISTS (
         SELECT 1 FROM pg_catalog.pg_class AS c
         WHERE c.relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'scorpiox_code')
             AND c.relname = ANY(",
    tables!(),
    ")
             AND (
                 c.relhastriggers AND EXISTS (SELECT 1 FROM pg_catalog.pg_trigger AS t WHERE t.tgrelid = c.oid)
                 OR c.relhasrules AND EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite AS r WHERE r.ev_class = c.oid)
             )
     ))::integer, ",
    durable!()
);

/// SQLSTATE with which [`NONE`] fails. No other statement of this program divides.
const FOUND: SqlState = SqlState::DIVISION_BY_ZERO;

/// Sends the check without waiting. The following statements fail if there is a foreign trigger or rule.
pub(crate) fn send(connection: &mut Connection) -> Result<(), StoreError> {
    connection.send_change(NONE, Vec::new())
}

/// Returns `true` if an error code means that the check found something.
pub(crate) fn is_found(code: Option<&SqlState>) -> bool {
    code == Some(&FOUND)
}

/// Replaces the error of a failed check with one that names the objects found. The transaction must have
/// ended.
pub(crate) fn told(connection: &mut Connection, error: StoreError) -> StoreError {
    if is_found(connection.reported.as_ref()) { refusal(connection) } else { error }
}

/// Returns the error that refuses a write. It names the objects and the statements that remove them. The
/// transaction must have ended.
pub(crate) fn refusal(connection: &mut Connection) -> StoreError {
    let found = match found(connection) {
        // The object has been removed since.
        Ok(found) if found.is_empty() => return StoreError::Conflict,
        Ok(found) => found,
        Err(error) => return error,
    };
    StoreError::Other(format!(
        "{}: nothing is written while {}. Run with psql, as the owner of that table: {} Then run `scorpiox-code store migrate`",
        connection.location(),
        found.iter().map(|found| &*found.what).collect::<Vec<_>>().join(", and "),
        found.iter().map(|found| format!("{};", found.ends)).collect::<Vec<_>>().join(" "),
    ))
}

/// A foreign trigger, rule or foreign key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Clause that names the object.
    pub(crate) what: String,
    /// Statement that removes the object.
    pub(crate) ends: String,
}

/// Returns the foreign triggers, rules and foreign keys on the tables, up to [`MOST_NAMED`].
pub(crate) fn found(connection: &mut Connection) -> Result<Vec<Found>, StoreError> {
    let sql = concat!(
        "WITH tables AS (
             SELECT c.oid, c.relowner, quote_ident(c.relname) AS name FROM pg_catalog.pg_class AS c
             JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
             WHERE n.nspname = 'scorpiox_code' AND c.relname = ANY(",
        tables!(),
        ")
         )
         SELECT 'the trigger ' || quote_ident(t.tgname) || ' on scorpiox_code.' || c.name || ' calls a function of the role '
                 || quote_ident(coalesce(r.rolname, '?')),
             'DROP TRIGGER ' || quote_ident(t.tgname) || ' ON scorpiox_code.' || c.name
         FROM pg_catalog.pg_trigger AS t JOIN tables AS c ON c.oid = t.tgrelid
         JOIN pg_catalog.pg_proc AS p ON p.oid = t.tgfoid LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = p.proowner
         WHERE NOT t.tgisinternal
         UNION ALL
         SELECT 'the rule ' || quote_ident(r.rulename) || ' is on scorpiox_code.' || c.name,
             'DROP RULE ' || quote_ident(r.rulename) || ' ON scorpiox_code.' || c.name
         FROM pg_catalog.pg_rewrite AS r JOIN tables AS c ON c.oid = r.ev_class
         UNION ALL
         SELECT 'the foreign key ' || quote_ident(f.conname) || ' of ' || quote_ident(n.nspname) || '.' || quote_ident(o.relname)
                 || ' is on scorpiox_code.' || c.name,
             'ALTER TABLE ' || quote_ident(n.nspname) || '.' || quote_ident(o.relname) || ' DROP CONSTRAINT '
                 || quote_ident(f.conname)
         FROM pg_catalog.pg_constraint AS f JOIN tables AS c ON c.oid IN (f.confrelid, f.conrelid)
         JOIN pg_catalog.pg_class AS o ON o.oid = f.conrelid JOIN pg_catalog.pg_namespace AS n ON n.oid = o.relnamespace
         WHERE f.contype = 'f'
         UNION ALL
         SELECT 'the constraint ' || quote_ident(f.conname) || ' of scorpiox_code.' || c.name || ' is checked by a trigger',
             'ALTER TABLE scorpiox_code.' || c.name || ' DROP CONSTRAINT ' || quote_ident(f.conname)
         FROM pg_catalog.pg_constraint AS f JOIN tables AS c ON c.oid = f.conrelid
         WHERE f.contype IN ('p', 'u', 'x') AND f.condeferrable
         ORDER BY 1 LIMIT $1"
    );
    let rows = connection.look(|connection| connection.rows(sql, &[&MOST_NAMED]))?;
    let found = |row: &Row| Found { what: line(row.get::<_, &str>(0)), ends: line(row.get::<_, &str>(1)) };
    Ok(rows.iter().map(found).collect())
}

/// Replaces control characters, so that text with names chosen by other roles stays on one line.
pub(crate) fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}
