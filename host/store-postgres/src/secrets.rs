//! The secrets used by this process. If another database takes over with other secrets or none, session IDs
//! sealed by one server are invalid for the next.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};

use parking_lot::Mutex;
use scorpiox_store::StoreError;

use crate::begin::{Begin, Tables};
use crate::bounds::MOST_SECRET;
use crate::connection::Connection;
use crate::database::Database;
use crate::{format, guard};

/// Secrets by name.
#[derive(Default)]
pub(crate) struct Secrets(Mutex<BTreeMap<String, Vec<u8>>>);

impl Secrets {
    /// Records the secret that the process uses from this point on.
    pub(crate) fn note(&self, name: &str, value: &[u8]) {
        self.0.lock().insert(name.to_owned(), value.to_vec());
    }
}

/// Formats the names without the secrets.
impl Debug for Secrets {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.lock().keys()).finish()
    }
}

impl Database {
    /// Ensures that a serving process uses the secrets of the database, and that the tables have no foreign
    /// triggers.
    pub(crate) fn confirm(&self, connection: &mut Connection) -> Result<(), StoreError> {
        let all = self.secrets.0.lock().clone();
        for (name, known) in &all {
            let found = match secret(connection, name)? {
                Some(found) => found,
                None => given(connection, name, known)?,
            };
            if found != *known {
                return Err(StoreError::Other(format!(
                    "{}: the secret {name} is another one than this server's: another database took over, or the secret was made anew; \
                     start this server again",
                    connection.location()
                )));
            }
        }
        if all.is_empty() || guard::found(connection)?.is_empty() {
            Ok(())
        } else {
            Err(guard::refusal(connection))
        }
    }
}

/// Reads the secret of a name. One that is too long is truncated to a length that never equals a valid
/// secret.
fn secret(connection: &mut Connection, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let row = connection.look(|connection| {
        format::send_check(connection)?;
        connection.row(
            "SELECT substring(value FROM 1 FOR $2 + 1) FROM scorpiox_code.secret WHERE name = $1",
            &[&name, &MOST_SECRET],
        )
    })?;
    Ok(row.map(|row| row.get(0)))
}

/// Stores the secret of this process in a database that has none, because the other servers use the same
/// secret. Returns the stored secret.
fn given(connection: &mut Connection, name: &str, known: &[u8]) -> Result<Vec<u8>, StoreError> {
    connection.write(Begin::Write, Tables::Secret, |connection| {
        format::send_check(connection)?;
        connection.change(
            "INSERT INTO scorpiox_code.secret (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            &[&name, &known],
        )
    })?;
    Ok(secret(connection, name)?.unwrap_or_default())
}
