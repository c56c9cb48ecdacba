//! The tables, and how they came to be what they are.

use scorpiox_store::StoreError;

use crate::connection::Connection;

/// The format that this program reads and writes.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // there are few
pub const FORMAT: i32 = MIGRATIONS.len() as i32;

/// What brings the tables from each format to the next one, from none on. What is here stays as it is: databases went
/// that way. A program of the format before has to go on beside the tables of the next one, while the servers of a
/// team are replaced one after the other.
const MIGRATIONS: [&str; 1] = [
    // Texts are bytes: any text can be a key, also one with a null, and keys are in the order of their bytes.
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
];

/// The format of the tables; none where there are none.
pub(crate) fn found(connection: &mut Connection) -> Result<Option<i32>, StoreError> {
    // As a table is read, and not by `to_regclass`: that may remember what was not there when the transaction began.
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

/// Brings the tables to this program's format; whether that was to be done.
pub(crate) fn migrate(connection: &mut Connection, location: &str) -> Result<bool, StoreError> {
    // Of several programs that do this at once the others find it done.
    connection.run("BEGIN; SELECT pg_advisory_xact_lock(7022359318401230435)")?;
    let migrated = (|| {
        let found = found(connection)?;
        if found == Some(FORMAT) {
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
        }
        for (format, migration) in (1..).zip(MIGRATIONS).filter(|(format, _)| *format > from) {
            connection.run(migration)?;
            connection.run(&format!("INSERT INTO scorpiox_code.format (format) VALUES ({format})"))?;
        }
        Ok(true)
    })();
    let ended = connection.run(if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" });
    let is_done = migrated?;
    ended.map(|()| is_done)
}

/// Why tables of another format cannot be used.
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
