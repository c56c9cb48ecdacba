//! State shared by the servers of a database, in addition to the tool data in workspaces.

use std::time::Duration;

use scorpiox_executor::Cancel;
use scorpiox_store::StoreError;

use crate::begin::{Begin, Tables};
use crate::bounds::MOST_SECRET;
use crate::connection::Connection;
use crate::database::Database;
use crate::format;
use crate::pool::Lease;

impl Database {
    /// Runs a read. If the connection had ended, repeats it once on a new connection. Reads are safe to repeat, and
    /// a failure of one connection usually affects all of them.
    pub(crate) fn look<T>(
        &self,
        look: impl Fn(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let try_once = || {
            self.used(|lease| {
                lease.look(|connection| {
                    format::send_check(connection)?;
                    look(connection)
                })
            })
        };
        match try_once() {
            Err(StoreError::Unreachable(_)) => {
                self.pool.close_idle();
                try_once()
            }
            looked => looked,
        }
    }

    /// Returns the secret of a name. Stores `new` if there is none.
    ///
    /// # Errors
    ///
    /// Fails if connecting or writing fails.
    pub fn secret(&self, name: &str, new: &[u8]) -> Result<Vec<u8>, StoreError> {
        let row = self.write(Tables::Secret, |lease| {
            lease.change(
                "INSERT INTO scorpiox_code.secret (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                &[&name, &new],
            )?;
            lease.row(
                "SELECT CASE WHEN octet_length(value) <= $2 THEN value END FROM scorpiox_code.secret
                 WHERE name = $1",
                &[&name, &MOST_SECRET],
            )
        })?;
        let value: Option<Option<Vec<u8>>> = row.map(|row| row.get(0));
        let value =
            value.ok_or_else(|| StoreError::Other(format!("the secret {name} was taken away")))?.ok_or_else(
                || StoreError::Other(format!("the secret {name} has more than {MOST_SECRET} bytes")),
            )?;
        self.secrets.note(name, &value);
        Ok(value)
    }

    /// Returns `true` if the session with this ID has ended.
    ///
    /// # Errors
    ///
    /// Fails if connecting or reading fails.
    pub fn has_ended(&self, number: &[u8]) -> Result<bool, StoreError> {
        self.look(|lease| {
            let row = lease.row("SELECT 1 FROM scorpiox_code.ended WHERE session = $1", &[&number])?;
            Ok(row.is_some())
        })
    }

    /// Ends a session. Returns `true` if it had not ended before, and `None` if `most` sessions with IDs from
    /// `first` to `last` have ended within `good_for`, the lifetime of session IDs.
    ///
    /// # Errors
    ///
    /// Fails if connecting or writing fails.
    pub fn end_session(
        &self,
        number: &[u8],
        (first, last): (&[u8], &[u8]),
        most: usize,
        good_for: Duration,
    ) -> Result<Option<bool>, StoreError> {
        let seconds = i64::try_from(good_for.as_secs()).unwrap_or(i64::MAX);
        self.write(Tables::Ended, |lease| {
            // Removes sessions whose IDs have expired.
            lease.change(
                "DELETE FROM scorpiox_code.ended WHERE since < now() - $1 * interval '1 second'",
                &[&seconds_of(seconds)],
            )?;
            let count = lease.row(
                "SELECT count(*) FROM (
                 SELECT 1 FROM scorpiox_code.ended WHERE session BETWEEN $1 AND $2 LIMIT $3
             ) AS own",
                &[&first, &last, &i64::try_from(most).unwrap_or(i64::MAX)],
            )?;
            let count: i64 = count.map(|row| row.get(0)).unwrap_or_default();
            if usize::try_from(count).is_ok_and(|count| count >= most) {
                return Ok(None);
            }
            let made = lease.change(
                "INSERT INTO scorpiox_code.ended (session) VALUES ($1) ON CONFLICT DO NOTHING",
                &[&number],
            )?;
            Ok(Some(made == 1))
        })
    }

    /// Writes these tables in a transaction, if they have the current format.
    pub(crate) fn write<T>(
        &self,
        tables: Tables,
        work: impl Fn(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.used(|lease| {
            lease.write(Begin::Write, tables, |connection| {
                format::send_check(connection)?;
                work(connection)
            })
        })
    }

    /// Runs `work` on a connection to existing tables. If the tables are missing, another database took over:
    /// the failed attempt left no changes, so the tables are created and `work` is repeated.
    fn used<T>(&self, work: impl Fn(&mut Lease) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut lease = self.pool.lease(&Cancel::default(), &mut || ())?;
        self.ready(&mut lease)?;
        let done = match work(&mut lease) {
            Err(_) if lease.lacks_tables() && self.forget_tables() => {
                self.ready(&mut lease)?;
                work(&mut lease)
            }
            done => done,
        };
        done.inspect_err(|error| self.note_refusal(error))
    }
}

/// Converts seconds to the `float8` by which SQL multiplies an interval.
#[allow(clippy::cast_precision_loss)] // far below 2^53
fn seconds_of(seconds: i64) -> f64 {
    seconds as f64
}
