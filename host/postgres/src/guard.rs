//! Triggers, rules and foreign keys on the tables, of which this program makes none: a role that may make one has its own functions
//! called with a server's rights, or keeps servers from removing rows. PostgreSQL does not know who made a trigger, and the function
//! that it calls says nothing about its condition (`WHEN`), so that the owner's own count, too.
//!
//! A transaction that may write locks its tables before it has a snapshot. No trigger is made under those locks, so that the snapshot has
//! each that there is. Where there is one the statement itself fails, and with it all that was sent after it.

use scorpiox_store::StoreError;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;

use crate::connection::Connection;

/// Most of them that a message names.
const MOST_NAMED: i64 = 5;

/// The names of the tables, in SQL.
macro_rules! tables {
    () => {
        "'{format,workspace,entry,usage,timer,message,secret,ended,commit_mark,relay}'::name[]"
    };
}

/// Fails with [`FOUND`] where there is one. PostgreSQL sets both flags with the first.
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
     ))::integer"
);

/// The code with which [`NONE`] fails. Nothing else of this program divides.
const FOUND: SqlState = SqlState::DIVISION_BY_ZERO;

/// Sends the question: what follows on the connection fails where there is one.
pub(crate) fn send(connection: &mut Connection) -> Result<(), StoreError> {
    connection.send_change(NONE, Vec::new())
}

/// Reports whether an error of this code says that there is one.
pub(crate) fn is_found(code: Option<&SqlState>) -> bool {
    code == Some(&FOUND)
}

/// Returns the error, or what was found where it is that. The transaction has ended.
pub(crate) fn told(connection: &mut Connection, error: StoreError) -> StoreError {
    if is_found(connection.reported.as_ref()) { refusal(connection) } else { error }
}

/// Returns why nothing is written: what there is, and how it is ended. The transaction has ended.
pub(crate) fn refusal(connection: &mut Connection) -> StoreError {
    let found = match found(connection) {
        // It was there for a moment.
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

/// A trigger, a rule or a foreign key that is none of this program's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// A clause that names it.
    pub(crate) what: String,
    /// The statement that takes it away.
    pub(crate) ends: String,
}

/// The triggers, rules and foreign keys on the tables, a bounded number.
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
         ORDER BY 1 LIMIT $1"
    );
    let rows = connection.look(|connection| connection.rows(sql, &[&MOST_NAMED]))?;
    let found = |row: &Row| Found { what: line(row.get::<_, &str>(0)), ends: line(row.get::<_, &str>(1)) };
    Ok(rows.iter().map(found).collect())
}

/// A text of somebody else's names on one line.
pub(crate) fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}
