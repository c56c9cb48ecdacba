//! Rows that this program did not write and cannot parse.

use scorpiox_store::implementing::tell_damaged;
use scorpiox_store::{Store as _, StoreError};
use tokio_postgres::Row;

use crate::bounds::MOST_VALUE;
use crate::messages::Pages;
use crate::scan::long;
use crate::store::PostgresStore;
use crate::transaction::PostgresTransaction;
use crate::{messages, timers};

/// Content of a `bytea` column.
pub(crate) type Bytes = Vec<u8>;

/// Formats bytes that should be text in a readable form.
pub(crate) fn shown(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}

/// Converts bytes to a string. The error describes the damaged bytes.
pub(crate) fn text(bytes: Bytes, what: &str) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| format!("{what} {}", shown(error.as_bytes())))
}

impl PostgresTransaction {
    /// Returns the parsed value, or `None` if the row is damaged. Reports the damage.
    pub(crate) fn whole<T>(&self, read: Result<T, String>) -> Option<T> {
        read.map_err(|what| {
            let location = PostgresStore { inner: std::sync::Arc::clone(&self.store) }.location();
            tell_damaged(&location, &what);
        })
        .ok()
    }
}

/// Returns descriptions of all damaged rows of a workspace.
pub(crate) fn all(transaction: &mut PostgresTransaction) -> Result<Vec<String>, StoreError> {
    let workspace = transaction.workspace;
    let mut damaged = Vec::new();
    let timers = transaction.rows(
        "SELECT namespace, id, due FROM scorpiox_code.timer WHERE workspace = $1 ORDER BY 1, 2",
        &[&workspace],
    )?;
    damaged.extend(timers.iter().filter_map(|row| timers::timer(row).err()));
    let mut pages = Pages::default();
    while let Some(rows) = pages.next(transaction)? {
        damaged.extend(rows.iter().filter_map(|row| {
            let namespace = text(row.get(4), "a message of");
            messages::message(row).err().or(namespace.err())
        }));
    }
    let keys = transaction.rows(
        "SELECT namespace, key, octet_length(value) <= $2 FROM scorpiox_code.entry WHERE workspace = $1
         ORDER BY 1, 2",
        &[&workspace, &MOST_VALUE],
    )?;
    let key = |row: &Row| {
        let key = match (text(row.get(0), "a key of"), text(row.get(1), "the key")) {
            (Err(damaged), _) | (_, Err(damaged)) => return Some(damaged),
            (Ok(_), Ok(key)) => key,
        };
        (!row.get::<_, bool>(2)).then(|| long(&key))
    };
    damaged.extend(keys.iter().filter_map(key));
    let counted = transaction.rows(
        "SELECT namespace, bytes FROM scorpiox_code.usage WHERE workspace = $1 ORDER BY 1",
        &[&workspace],
    )?;
    damaged.extend(counted.iter().filter_map(|row| text(row.get(0), "what is counted of").err()));
    Ok(damaged)
}
