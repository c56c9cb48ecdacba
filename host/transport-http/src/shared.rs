//! State shared by servers that the same client may reach: the secret for sealing IDs, the ended sessions,
//! and client messages meant for another server.

use std::io;
use std::sync::Arc;

use crate::request::session_id::{LIFETIME, Number};
use parking_lot::Mutex;
use scorpiox_exchange::seal::{Envelope, Secret};
use scorpiox_store::StoreError;
use scorpiox_store_postgres::{Database, Kind};
use sha2::{Digest as _, Sha256};

use crate::bounds::MayBlock;
use crate::ended::{self, End, Ended, MAX_OF_PRINCIPAL, of_same_account};
use crate::files::Files;
use crate::fresh::{self, Fresh, STAMP};

/// Storage of the shared state.
pub(crate) enum Shared {
    /// Files in the program's own directory, shared by the servers of one machine.
    Files(Mutex<Ended>),
    /// A database. Messages sent through it to other servers are sealed in an envelope.
    Database(Arc<Database>, Arc<Envelope>),
}

impl Shared {
    /// Opens the shared state and returns it with the secret. A secret in the database applies to all servers
    /// that use it.
    pub(crate) fn open(files: &Files, database: Option<Arc<Database>>) -> io::Result<(Self, Secret)> {
        let Some(database) = database else {
            return Ok((Self::Files(Mutex::new(files.ended()?)), files.secret()?));
        };
        let new = scorpiox_exchange::seal::secret().map_err(io::Error::other)?;
        let secret = database.secret("http", &new).map_err(io::Error::other)?;
        let secret = Secret::try_from(secret)
            .map_err(|_| io::Error::other("the secret of `http` in the database is none of this program"))?;
        let envelope = Envelope::of(&secret, "passed on at a time")
            .ok_or_else(|| io::Error::other("there is no key"))?;
        Ok((Self::Database(database, Arc::new(envelope)), secret))
    }

    /// Returns `true` if the next request of a client may reach another server.
    pub(crate) fn is_database(&self) -> bool {
        matches!(self, Self::Database(..))
    }

    /// Fails if messages of other servers are not read in time.
    pub(crate) fn hears(&self) -> Result<(), StoreError> {
        match self {
            Self::Files(_) => Ok(()),
            Self::Database(database, _) => database.hears(),
        }
    }

    /// Prepares a message of a session's client for the other servers. Calling the result sends it. The
    /// messages of different principals are read in turn.
    pub(crate) fn pass_on(
        &self,
        kind: Kind,
        number: &Number,
        message: &[u8],
    ) -> Option<impl FnOnce(&MayBlock) -> io::Result<()> + use<>> {
        let Self::Database(database, envelope) = self else { return None };
        let stamp = fresh::now(database.clock_ahead()).to_be_bytes();
        let closed = envelope.close(&[&stamp[..], &number[..], message].concat());
        let (database, group) = (Arc::clone(database), group_of(number));
        Some(move |_: &MayBlock| {
            let closed = closed.ok_or_else(|| io::Error::other("the system gives no random bytes"))?;
            database.pass_on_of(kind, group, &closed).map_err(io::Error::other)
        })
    }

    /// Reports messages that other servers pass on, with the number of the session.
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

    /// Returns `true` if a session has ended, according to the program's own directory. That only stats a
    /// file which has rarely changed. Returns `None` if only the database knows.
    pub(crate) fn has_ended_here(&self, number: &Number) -> Option<io::Result<bool>> {
        match self {
            Self::Files(ended) => Some(ended.lock().contains(number)),
            Self::Database(..) => None,
        }
    }

    /// Returns `true` if a session has ended. Fails if that is unknown; a client must not be told that its
    /// session is gone in that case.
    pub(crate) fn has_ended(&self, number: &Number, _: &MayBlock) -> io::Result<bool> {
        match self {
            Self::Files(ended) => ended.lock().contains(number),
            Self::Database(database, _) => database.has_ended(number).map_err(unkept),
        }
    }

    /// Ends a session. The end is durable when this returns.
    pub(crate) fn end(&self, number: Number, _: &MayBlock) -> io::Result<End> {
        match self {
            // Releases the lock between two attempts, so that other requests are served.
            Self::Files(ended) => ended::patiently(|| ended.lock().try_insert(number)),
            Self::Database(database, _) => {
                let (first, last) = of_same_account(&number);
                let ended = database.end_session(&number, (&first, &last), MAX_OF_PRINCIPAL, LIFETIME);
                Ok(match ended.map_err(unkept)? {
                    None => End::TooMany,
                    Some(true) => End::Ended,
                    Some(false) => End::WasNotThere,
                })
            }
        }
    }
}

/// Returns a value that is the same for all sessions of an account.
fn group_of(number: &Number) -> [u8; 8] {
    let (first, _) = of_same_account(number);
    let hash: [u8; 32] = Sha256::digest(first).into();
    hash.first_chunk().copied().unwrap_or_default()
}

/// Converts an error of the database. An error of kind `ResourceBusy` tells the client to retry.
fn unkept(error: StoreError) -> io::Error {
    match error {
        // It is the operator's to mend, and this may take a moment; the session is not gone.
        StoreError::Busy(_)
        | StoreError::Conflict
        | StoreError::Unreachable(_)
        | StoreError::Denied(_)
        | StoreError::InDoubt(_)
        | StoreError::Barred(_)
        | StoreError::Full(_) => io::Error::new(io::ErrorKind::ResourceBusy, error),
        error => io::Error::other(error),
    }
}
