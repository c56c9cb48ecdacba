//! The session of a request, and whether it has ended: each request asks, and a database may be slow to say.
//!
//! Requests of a session that come while its look-up runs share the next one. None is answered by a look-up that began before it
//! came: what ended at another server has ended for whoever asks afterwards.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use scorpiox_http_request::session_id::Number;
use scorpiox_http_request::{admission, modern};
use scorpiox_mcp::error::BUSY;
use scorpiox_mcp::{Revision, RpcError};
use scorpiox_rpc::Id;
use tokio::time::timeout;

use crate::answer::{self, Answer};
use crate::endpoint::Endpoint;
use crate::post::SESSION;
use crate::served::Caller;
use crate::sessions::{Client, Found};
use scorpiox_http_bounds::{RETRY_AFTER, WaitsFor, WeakMap};

/// Longest wait of a request for a look-up.
const LOOK_TIME: Duration = Duration::from_secs(10);
/// A look-up that takes longer keeps no others: its connection may be one that leads nowhere any more.
const SLOW_TIME: Duration = Duration::from_secs(1);

/// The time at which a look-up began, and its result.
type Looked = (Instant, Result<bool, String>);

/// Look-ups of a session.
#[derive(Default)]
struct Lookup {
    /// The last one; who makes the next one has the lock.
    last: Arc<tokio::sync::Mutex<Option<Looked>>>,
    /// Since when one runs.
    since: Mutex<Option<Instant>>,
}

impl Lookup {
    /// Reports whether a look-up runs, and does not only wait for a thread, that takes too long for others to wait for it.
    fn is_slow(&self) -> bool {
        self.since.lock().is_some_and(|since| since.elapsed() >= SLOW_TIME)
    }
}

/// Look-ups that run, of each session.
#[derive(Default)]
pub(crate) struct Lookups(Mutex<WeakMap<Number, Lookup>>);

impl Lookups {
    fn of(&self, number: &Number) -> Arc<Lookup> {
        self.0.lock().get_or_add(number, |number| *number, Lookup::default)
    }
}

impl Endpoint {
    /// Finds the session of an id that is held or can be begun anew; none where it has ended, or never was. An error where
    /// nobody can say.
    pub(crate) async fn find(self: &Arc<Self>, caller: &Caller, id: &str) -> io::Result<Option<Found>> {
        let Some(number) = self.sessions.number(caller, id) else { return Ok(None) };
        if self.has_ended(&caller.principal.key(), number).await? {
            return Ok(None);
        }
        Ok(self.sessions.found(caller, id, &number))
    }

    /// Reports whether a principal's session has ended; an error where nobody can say.
    pub(crate) async fn has_ended(self: &Arc<Self>, who: &str, number: Number) -> io::Result<bool> {
        if let Some(found) = self.sessions.shared().has_ended_here(&number) {
            return found;
        }
        timeout(LOOK_TIME, self.looked_up(who, number)).await.unwrap_or_else(|_| {
            let why = format!("the database does not say within {} s", LOOK_TIME.as_secs());
            Err(io::Error::new(io::ErrorKind::TimedOut, why))
        })
    }

    async fn looked_up(self: &Arc<Self>, who: &str, number: Number) -> io::Result<bool> {
        let came = Instant::now();
        loop {
            let lookup = self.lookups.of(&number);
            let Ok(mut last) = timeout(SLOW_TIME, Arc::clone(&lookup.last).lock_owned()).await else {
                if lookup.is_slow() {
                    self.lookups.0.lock().forget(&number, &lookup);
                }
                continue;
            };
            if let Some((began, found)) = &*last
                && *began >= came
            {
                return found.clone().map_err(io::Error::other);
            }
            let (endpoint, who) = (Arc::clone(self), who.to_owned());
            // It goes on without who asked: whoever comes and goes has no more of them than who stays.
            let looking = self.blocking.spawn(async move {
                let shared = Arc::clone(&endpoint);
                let look = move |may_block: &_| {
                    let began = Instant::now();
                    *lookup.since.lock() = Some(began);
                    let found = shared.sessions.shared().has_ended(&number, may_block);
                    *lookup.since.lock() = None;
                    (began, found)
                };
                let (began, found) = endpoint.blocking.run(WaitsFor::Database, &who, look).await?;
                let found = found.map_err(|error| error.to_string());
                *last = Some((began, found.clone()));
                found.map_err(io::Error::other)
            });
            return looking.await.map_err(io::Error::other)?;
        }
    }
}

/// The client whose session a message or a stream belongs to.
pub(crate) async fn client_of(
    endpoint: &Arc<Endpoint>,
    caller: &Caller,
    headers: &HeaderMap,
) -> Result<Arc<Client>, (StatusCode, RpcError)> {
    if let Some(version) = headers.get(modern::VERSION) {
        // Some clients name another revision than the one that was agreed on.
        if version.to_str().ok().and_then(Revision::named).is_none() {
            let shown = String::from_utf8_lossy(version.as_bytes()).into_owned();
            let names: Vec<_> = Revision::all().map(Revision::name).collect();
            return Err((StatusCode::BAD_REQUEST, RpcError::unsupported_version(&shown, &names)));
        }
    }
    let Some(id) = admission::only(headers, &SESSION) else {
        let error = RpcError::invalid_request(
            "a session is needed: send initialize first, and its Mcp-Session-Id with all that follows",
        );
        return Err((StatusCode::BAD_REQUEST, error));
    };
    let found = endpoint.find(caller, id).await.map_err(|error| {
        // A client that is told that its session is not there gives it up.
        tracing::error!("it cannot be looked up which sessions ended: {error}");
        let error = RpcError::new(BUSY, "sessions cannot be looked up at the moment; repeat it later");
        (StatusCode::SERVICE_UNAVAILABLE, error)
    })?;
    match found {
        Some(Found::Held(client)) => Ok(client),
        Some(Found::Away(number, handshake)) => {
            let (shared, caller, id) = (Arc::clone(endpoint), caller.clone(), id.to_owned());
            let who = caller.principal.key();
            let begin = move |_: &_| {
                shared.sessions.begin_anew(number, &handshake, &id, &caller, &shared.options.secret)
            };
            match endpoint.blocking.run(WaitsFor::Disk, &who, begin).await {
                Ok(held) => held.ok_or_else(|| (StatusCode::SERVICE_UNAVAILABLE, too_many_sessions())),
                Err(error) => Err(answer::failed("the session cannot be begun anew", &error)),
            }
        }
        None => {
            let error =
                RpcError::invalid_request("this session has ended, or was never here; send initialize");
            Err((StatusCode::NOT_FOUND, error))
        }
    }
}

/// The answer to a message whose session is not there, or cannot be had now: that says when to try again.
pub(crate) fn unfound(status: StatusCode, id: Option<&Id<'_>>, error: &RpcError) -> Answer {
    let answer = answer::error(status, id, error);
    if status == StatusCode::SERVICE_UNAVAILABLE { answer::later(answer, RETRY_AFTER) } else { answer }
}

pub(crate) fn too_many_sessions() -> RpcError {
    RpcError::new(BUSY, "too many sessions are open; repeat it when some have ended")
}
