//! The session of a request, and whether it has ended. Each request asks, and a database may answer slowly.
//!
//! Requests of a session that arrive during a lookup share the next one. No request uses the result of a
//! lookup that started before it arrived, so a session ended at another server has ended for all later
//! requests.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::request::session_id::Number;
use crate::request::{admission, modern};
use hyper::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use scorpiox_mcp::error::BUSY;
use scorpiox_mcp::jsonrpc::Id;
use scorpiox_mcp::{Revision, RpcError};
use tokio::time::timeout;

use crate::answer::{self, Answer};
use crate::bounds::{RETRY_AFTER, WaitsFor, WeakMap};
use crate::endpoint::Endpoint;
use crate::post::SESSION;
use crate::served::Caller;
use crate::sessions::{Client, Found};

/// Maximum time that a request waits for a lookup.
const LOOK_TIME: Duration = Duration::from_secs(10);
/// Time after which a lookup does not block others: its connection may be dead.
const SLOW_TIME: Duration = Duration::from_secs(1);

/// Start time and result of a lookup.
type Looked = (Instant, Result<bool, String>);

/// Lookups of one session.
#[derive(Default)]
struct Lookup {
    /// Result of the last lookup. The lock is held during the next one.
    last: Arc<tokio::sync::Mutex<Option<Looked>>>,
    /// Start time of the running lookup, if any.
    since: Mutex<Option<Instant>>,
}

impl Lookup {
    /// Returns `true` if a running lookup takes too long to wait for. Waiting for a thread does not count.
    fn is_slow(&self) -> bool {
        self.since.lock().is_some_and(|since| since.elapsed() >= SLOW_TIME)
    }
}

/// Running lookups, by session.
#[derive(Default)]
pub(crate) struct Lookups(Mutex<WeakMap<Number, Lookup>>);

impl Lookups {
    fn of(&self, number: &Number) -> Arc<Lookup> {
        self.0.lock().get_or_add(number, |number| *number, Lookup::default)
    }
}

impl Endpoint {
    /// Returns the session of an ID, if it is in memory or can be restored. Returns `None` if it has ended or
    /// never existed. Fails if that is unknown.
    pub(crate) async fn find(self: &Arc<Self>, caller: &Caller, id: &str) -> io::Result<Option<Found>> {
        let Some(number) = self.sessions.number(caller, id) else { return Ok(None) };
        if self.has_ended(&caller.principal.key(), number).await? {
            return Ok(None);
        }
        Ok(self.sessions.found(caller, id, &number))
    }

    /// Returns `true` if a session of a principal has ended. Fails if that is unknown.
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
            // The lookup continues if the request is dropped: reconnecting must not start more lookups than
            // waiting.
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

/// Returns the client of the session that a request belongs to.
pub(crate) async fn client_of(
    endpoint: &Arc<Endpoint>,
    caller: &Caller,
    headers: &HeaderMap,
) -> Result<Arc<Client>, (StatusCode, RpcError)> {
    if let Some(version) = headers.get(modern::VERSION) {
        // Accepts any known revision, because some clients send another one than was negotiated.
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
        // A client that hears that its session does not exist gives it up.
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

/// Returns the answer to a message without an available session. A 503 says when to retry.
pub(crate) fn unfound(status: StatusCode, id: Option<&Id<'_>>, error: &RpcError) -> Answer {
    let answer = answer::error(status, id, error);
    if status == StatusCode::SERVICE_UNAVAILABLE { answer::later(answer, RETRY_AFTER) } else { answer }
}

pub(crate) fn too_many_sessions() -> RpcError {
    RpcError::new(BUSY, "too many sessions are open; repeat it when some have ended")
}
