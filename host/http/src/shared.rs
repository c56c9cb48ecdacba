//! What servers that one client may reach have to share: the secret that ids are sealed with, which sessions ended, and what a
//! client says to another one than it is for.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use scorpiox_http_request::session_id::{LIFETIME, Number};
use scorpiox_postgres::Database;
use scorpiox_seal::{Envelope, Secret};

use crate::ended::{self, End, Ended, MAX_OF_PRINCIPAL, of_same_account};
use crate::files::Files;
use crate::fresh::{self, Fresh, STAMP};
use scorpiox_http_bounds::MayBlock;

/// Where that is.
pub(crate) enum Shared {
    /// In the program's own folder: servers of one machine share it.
    Files(Mutex<Ended>),
    /// In a database. What goes through it from one server to another is in an envelope.
    Database(Arc<Database>, Arc<Envelope>),
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
        let envelope = Envelope::of(&secret, "passed on at a time")
            .ok_or_else(|| io::Error::other("there is no key"))?;
        Ok((Self::Database(database, Arc::new(envelope)), secret))
    }

    /// Whether a client may reach another server with its next request.
    pub(crate) fn is_database(&self) -> bool {
        matches!(self, Self::Database(..))
    }

    /// Passes a message of a session's client on to the other servers. It is written when the result runs.
    pub(crate) fn pass_on(
        &self,
        number: &Number,
        message: &[u8],
    ) -> Option<impl FnOnce(&MayBlock) -> io::Result<()> + use<>> {
        let Self::Database(database, envelope) = self else { return None };
        let stamp = fresh::now(database.clock_ahead()).to_be_bytes();
        let closed = envelope.close(&[&stamp[..], &number[..], message].concat());
        let database = Arc::clone(database);
        Some(move |_: &MayBlock| {
            let closed = closed.ok_or_else(|| io::Error::other("the system gives no random bytes"))?;
            database.pass_on(&closed).map_err(io::Error::other)
        })
    }

    /// Has somebody told what other servers pass on: a session's number, and the message.
    pub(crate) fn hear_passed(
        &self,
        hear: impl Fn(&Number, &[u8]) + Send + Sync + 'static,
    ) -> io::Result<()> {
        let Self::Database(database, envelope) = self else { return Ok(()) };
        let (envelope, fresh, clock) = (Arc::clone(envelope), Fresh::default(), Arc::downgrade(database));
        database.hear_passed(move |text| {
            let (Some(opened), Some(clock)) = (envelope.open(text), clock.upgrade()) else { return };
            let Some((stamp, rest)) = opened.split_first_chunk::<STAMP>() else { return };
            let Some((number, message)) = rest.split_first_chunk() else { return };
            if fresh.is_new(text, *stamp, fresh::now(clock.clock_ahead())) {
                hear(number, message);
            }
        })
    }

    /// Reports whether a session has ended, where the program's own folder says so: one look at a file that is mostly as it was.
    /// None where that is for the database to say.
    pub(crate) fn has_ended_here(&self, number: &Number) -> Option<io::Result<bool>> {
        match self {
            Self::Files(ended) => Some(ended.lock().contains(number)),
            Self::Database(..) => None,
        }
    }

    /// Whether a session has ended; an error where nobody can say, which is no answer for a client that would give its
    /// session up.
    pub(crate) fn has_ended(&self, number: &Number, _: &MayBlock) -> io::Result<bool> {
        match self {
            Self::Files(ended) => ended.lock().contains(number),
            Self::Database(database, _) => database.has_ended(number).map_err(io::Error::other),
        }
    }

    /// Ends a session. It has ended after a restart, too, when this has returned.
    pub(crate) fn end(&self, number: Number, _: &MayBlock) -> io::Result<End> {
        match self {
            // Between two tries others are served.
            Self::Files(ended) => ended::patiently(|| ended.lock().try_insert(number)),
            Self::Database(database, _) => {
                let (first, last) = of_same_account(&number);
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
