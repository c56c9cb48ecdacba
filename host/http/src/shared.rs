//! What servers that one client may reach have to share: the secret that ids are sealed with, and which sessions ended.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use scorpiox_http_request::session_id::{LIFETIME, Number};
use scorpiox_postgres::Database;
use scorpiox_seal::Secret;

use crate::ended::{self, End, Ended, MAX_OF_PRINCIPAL, of_same_principal};
use crate::files::Files;

/// Where that is.
pub(crate) enum Shared {
    /// In the program's own folder: servers of one machine share it.
    Files(Mutex<Ended>),
    /// In a database.
    Database(Arc<Database>),
}

impl Shared {
    /// With the secret. What is in the database goes for all servers that use it.
    pub(crate) fn open(files: &Files, database: Option<Arc<Database>>) -> io::Result<(Self, Secret)> {
        let Some(database) = database else {
            return Ok((Self::Files(Mutex::new(files.ended()?)), files.secret()?));
        };
        let new = scorpiox_seal::secret().map_err(io::Error::other)?;
        let secret = database.secret("http", &new).map_err(io::Error::other)?;
        let secret = Secret::try_from(secret)
            .map_err(|_| io::Error::other("the secret of `http` in the database is none of this program"))?;
        Ok((Self::Database(database), secret))
    }

    /// Whether a client may reach another server with its next request.
    pub(crate) fn is_database(&self) -> bool {
        matches!(self, Self::Database(_))
    }

    /// Whether a session has ended; an error where nobody can say, which is no answer for a client that would give its
    /// session up.
    pub(crate) fn has_ended(&self, number: &Number) -> io::Result<bool> {
        match self {
            Self::Files(ended) => ended.lock().contains(number),
            Self::Database(database) => database.has_ended(number).map_err(io::Error::other),
        }
    }

    /// Ends a session. It has ended after a restart, too, when this has returned.
    pub(crate) fn end(&self, number: Number) -> io::Result<End> {
        match self {
            // Between two tries others are served.
            Self::Files(ended) => ended::patiently(|| ended.lock().try_insert(number)),
            Self::Database(database) => {
                let (first, last) = of_same_principal(&number);
                let ended = database.end_session(&number, (&first, &last), MAX_OF_PRINCIPAL, LIFETIME);
                Ok(match ended.map_err(io::Error::other)? {
                    None => End::TooMany,
                    Some(true) => End::Ended,
                    Some(false) => End::WasNotThere,
                })
            }
        }
    }
}
