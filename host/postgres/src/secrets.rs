//! The secrets that this process goes by. Another database may have taken over, with others or with none: ids of sessions that one
//! server sealed are nothing to the next one then.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};

use parking_lot::Mutex;
use scorpiox_store::StoreError;

use crate::begin::{Begin, Tables};
use crate::bounds::MOST_SECRET;
use crate::connection::Connection;
use crate::database::Database;
use crate::{format, guard};

/// By their names.
#[derive(Default)]
pub(crate) struct Secrets(Mutex<BTreeMap<String, Vec<u8>>>);

impl Secrets {
    /// Notes the secret that the process goes by from now on.
    pub(crate) fn note(&self, name: &str, value: &[u8]) {
        self.0.lock().insert(name.to_owned(), value.to_vec());
    }
}

/// Without the secrets.
impl Debug for Secrets {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.lock().keys()).finish()
    }
}

impl Database {
    /// Makes sure that a process that serves goes by the secrets of the database, and that nobody has a trigger on its tables.
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

/// The secret of a name. One that is too long is cut, and so another one than any that a process has.
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

/// Gives a database that has no such secret the one of this process, which the other servers have, too; the secret that is there then.
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
