//! Forwards client messages that arrive at the wrong server: answers to requests of another server, and
//! cancellations of calls that run there. The messages go to all servers through the database.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::request::admission;
use crate::request::session_id::Number;
use bytes::Bytes;
use hyper::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use scorpiox_exchange::outgoing::may_be_asked_elsewhere;
use scorpiox_mcp::error::BUSY;
use scorpiox_mcp::jsonrpc::{Incoming, Message};
use scorpiox_mcp::{Params, RpcError};
use scorpiox_server::Reply;
use scorpiox_store_postgres::Kind;
use serde_json::value::RawValue;

use crate::bounds::{MayBlock, WaitsFor};
use crate::endpoint::Endpoint;
use crate::post::SESSION;
use crate::served::Caller;
use crate::stream::Stream;

/// Maximum size of a forwarded message in bytes, because all servers receive it.
const MAX_BYTES: usize = 1024 * 1024;
/// Maximum total size of a principal's messages forwarded within [`WINDOW`], because they fill the shared
/// database. A person answers a few questions a minute. Four busy programs with one token, behind a balancer
/// without session affinity, send 1,000.
const MOST_BYTES: usize = 8 * MAX_BYTES;
/// Minimum size charged for a message: each is a row, an index entry and a notification.
const LEAST_BYTES: usize = 1024;
/// Maximum number of a principal's cancellations forwarded within [`WINDOW`].
const MOST_CANCELLATIONS: usize = 512;
/// Maximum size of a cancellation that is read by a thread for connections. Longer ones are run like other messages.
pub(crate) const MAX_CANCELLATION_BYTES: usize = 64 * 1024;
const WINDOW: Duration = Duration::from_mins(1);
pub(crate) const CANCEL: &str = "notifications/cancelled";
/// Message to the other servers that a session has ended. Clients cannot forge it, because only their answers
/// and cancellations are forwarded.
const ENDED: &str = r#"{"jsonrpc":"2.0","method":"scorpiox/ended"}"#;
const ENDED_METHOD: &str = "scorpiox/ended";

/// Recently forwarded messages of each principal.
#[derive(Debug, Default)]
pub(crate) struct Passing(Mutex<HashMap<String, Spent>>);

/// Messages forwarded in one window.
#[derive(Debug)]
struct Spent {
    since: Instant,
    bytes: usize,
    /// Hashes of the sessions and calls whose cancellations were forwarded.
    cancelled: HashSet<u64>,
    /// Number of further cancellations, which may be repeated.
    cancellations_before: usize,
}

/// Decision on a cancellation.
#[derive(Debug, PartialEq, Eq)]
enum Cancellation {
    New,
    /// It was forwarded already.
    Repeated,
    TooMany,
    /// Too many bytes.
    TooLong,
}

impl Spent {
    fn spend(&mut self, bytes: usize) -> bool {
        let sum = self.bytes.saturating_add(bytes.max(LEAST_BYTES));
        // A message that exceeds the limit is not charged, so a shorter one may still fit.
        if sum <= MOST_BYTES {
            self.bytes = sum;
        }
        sum <= MOST_BYTES
    }
}

impl Passing {
    /// Charges an answer to a principal. Returns `false` if it must not be forwarded.
    fn spend(&self, principal: &str, bytes: usize, now: Instant) -> bool {
        self.of(principal, now, |spent| spent.spend(bytes))
    }

    /// Charges the cancellation of a session's call to a principal.
    fn cancel(
        &self,
        principal: &str,
        session: &Number,
        call: &str,
        bytes: usize,
        now: Instant,
    ) -> Cancellation {
        let mut hasher = DefaultHasher::new();
        (session, call).hash(&mut hasher);
        self.of(principal, now, |spent| {
            let hash = hasher.finish();
            if spent.cancelled.contains(&hash) {
                Cancellation::Repeated
            } else if spent.cancelled.len() + spent.cancellations_before >= MOST_CANCELLATIONS {
                Cancellation::TooMany
            } else if spent.spend(bytes) {
                spent.cancelled.insert(hash);
                Cancellation::New
            } else {
                Cancellation::TooLong
            }
        })
    }

    /// Lets a principal repeat its cancellations, because one of them was not forwarded. They stay charged.
    fn forget_cancellations(&self, principal: &str) {
        if let Some(spent) = self.0.lock().get_mut(principal) {
            spent.cancellations_before += spent.cancelled.len();
            spent.cancelled.clear();
        }
    }

    fn of<T>(&self, principal: &str, now: Instant, work: impl FnOnce(&mut Spent) -> T) -> T {
        let mut all = self.0.lock();
        all.retain(|_, spent| now.duration_since(spent.since) < WINDOW);
        let new = || Spent { since: now, bytes: 0, cancelled: HashSet::new(), cancellations_before: 0 };
        work(all.entry(principal.to_owned()).or_insert_with(new))
    }
}

/// Returns `true` if a message concerns a running call.
fn is_about_a_call(message: &Message<'_>) -> bool {
    match message {
        Message::Response { .. } => true,
        Message::Notification { method, .. } => method == CANCEL,
        Message::Request { .. } => false,
    }
}

/// Returns `true` if another server may need a message.
fn concerns_others(message: &Message<'_>) -> bool {
    match message {
        Message::Response { id, .. } => id.as_ref().is_some_and(may_be_asked_elsewhere),
        _ => is_about_a_call(message),
    }
}

/// Forwards the messages of a body, which may be a batch, that other servers may need.
pub(crate) async fn pass_on(
    endpoint: &Arc<Endpoint>,
    caller: &Caller,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<(), (StatusCode, RpcError)> {
    let sessions = &endpoint.sessions;
    if !sessions.shared().is_database() {
        return Ok(());
    }
    let id = admission::only(headers, &SESSION);
    let Some(number) = id.and_then(|id| sessions.known(caller, id)) else { return Ok(()) };
    let who = caller.principal.key();
    let members = endpoint
        .blocking
        .parse(body, &who, |body| for_others(body))
        .await
        .map_err(|error| (StatusCode::SERVICE_UNAVAILABLE, RpcError::new(BUSY, error.to_string())))?;
    let Some((is_batch, members)) = members else { return Ok(()) };
    // A single cancellation that is short was tried before.
    let is_untried = |member: &String| is_batch || member.len() > MAX_CANCELLATION_BYTES;
    let is_done =
        |member: &String| is_untried(member) && cancelled_here(endpoint, caller, headers, member.as_bytes());
    let members: Vec<_> = members.into_iter().filter(|member| !is_done(member)).collect();
    for member in &members {
        if member.len() > MAX_BYTES {
            let why = format!(
                "an answer for another server has at most {MAX_BYTES} bytes, not {}; a balancer that sends a client to the same server lets longer ones through",
                member.len()
            );
            return Err((StatusCode::PAYLOAD_TOO_LARGE, RpcError::invalid_request(why)));
        }
        // The other servers read from the same table, and its rows act for seconds only.
        sessions.shared().hears().map_err(|error| {
            tracing::warn!("a client's message is not passed on to other servers: {error}");
            let why = "the servers do not hear each other at the moment; repeat it later";
            (StatusCode::SERVICE_UNAVAILABLE, RpcError::new(BUSY, why))
        })?;
        let kind = match charge(endpoint, &who, &number, member) {
            Ok(Some(kind)) => kind,
            Ok(None) => continue,
            Err(why) => return Err((StatusCode::TOO_MANY_REQUESTS, RpcError::new(BUSY, why))),
        };
        let Some(passed) = sessions.shared().pass_on(kind, &number, member.as_bytes()) else { continue };
        let written = endpoint.blocking.run(WaitsFor::Database, &who, passed).await;
        written.flatten().map_err(|error| {
            // The client may repeat it.
            if kind == Kind::Cancellation {
                endpoint.passing.forget_cancellations(&who);
            }
            tracing::error!("a client's message is not passed on to other servers: {error}");
            let why = "the message cannot be passed on to the server that it is for; repeat it later";
            (StatusCode::SERVICE_UNAVAILABLE, RpcError::new(BUSY, why))
        })?;
    }
    Ok(())
}

/// Returns the messages of a body that other servers may need, and `true` if they are of a batch.
fn for_others(body: &[u8]) -> Option<(bool, Vec<String>)> {
    match Incoming::parse(body) {
        Ok(Incoming::Single(message)) if concerns_others(&message) => {
            Some((false, std::str::from_utf8(body).ok().map(str::to_owned).into_iter().collect()))
        }
        Ok(Incoming::Batch(batch)) => {
            let members = batch.0.iter().map(|member| member.get());
            let members =
                members.filter(|member| Message::parse(member).is_ok_and(|read| concerns_others(&read)));
            Some((true, members.map(str::to_owned).collect()))
        }
        _ => None,
    }
}

/// Charges a message to a principal. Returns its kind, or `None` if no server needs it. Fails with the reason if
/// the principal sends too many.
fn charge(endpoint: &Endpoint, who: &str, number: &Number, message: &str) -> Result<Option<Kind>, String> {
    let now = Instant::now();
    let Ok(Message::Notification { params, .. }) = Message::parse(message) else {
        if endpoint.passing.spend(who, message.len(), now) {
            return Ok(Some(Kind::Answer));
        }
        return Err(too_long());
    };
    // Without the ID of a call it cancels nothing.
    let call = Params::new(params)
        .ok()
        .and_then(|params| params.raw("requestId").map(RawValue::get))
        .filter(|id| is_id(id));
    match call.map(|call| endpoint.passing.cancel(who, number, call, message.len(), now)) {
        Some(Cancellation::New) => Ok(Some(Kind::Cancellation)),
        None | Some(Cancellation::Repeated) => Ok(None),
        Some(Cancellation::TooLong) => Err(too_long()),
        Some(Cancellation::TooMany) => Err(format!(
            "{MOST_CANCELLATIONS} cancellations are passed on to other servers in a minute; repeat it later"
        )),
    }
}

fn too_long() -> String {
    format!(
        "{MOST_BYTES} bytes of answers and cancels, each counted as at least {LEAST_BYTES}, are passed on to other servers in a minute; repeat it later"
    )
}

/// Returns `true` if the JSON is a string or a number.
fn is_id(json: &str) -> bool {
    json.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit())
}

/// Cancels the call named in a message, if the call runs here. Returns `true` if it did; the message then
/// needs neither the database nor the other servers.
pub(crate) fn cancelled_here(
    endpoint: &Endpoint,
    caller: &Caller,
    headers: &HeaderMap,
    message: &[u8],
) -> bool {
    let Ok(message) = std::str::from_utf8(message) else { return false };
    let params = match Message::parse(message) {
        Ok(Message::Notification { method, params }) if method == CANCEL => params,
        _ => return false,
    };
    let sessions = &endpoint.sessions;
    let number = admission::only(headers, &SESSION).and_then(|id| sessions.known(caller, id));
    let client = number.and_then(|number| sessions.held(&number));
    client.is_some_and(|client| client.session.cancel(params))
}

/// Tells the other servers that a session has ended, so that they stop what runs in it. Even without this
/// message they refuse each request of the session.
pub(crate) fn tell_of_end(endpoint: &Endpoint, caller: &Caller, number: &Number, may_block: &MayBlock) {
    let Some(passed) = endpoint.sessions.shared().pass_on(Kind::Answer, number, ENDED.as_bytes()) else {
        return;
    };
    if !endpoint.passing.spend(&caller.principal.key(), ENDED.len(), Instant::now()) {
        return tracing::info!(
            "other servers are not told of a session's end: too much of its principal's is passed on"
        );
    }
    if let Err(error) = passed(may_block) {
        tracing::error!("other servers are not told of a session's end: {error}");
    }
}

/// Handles a message forwarded by another server.
pub(crate) fn heard(endpoint: &Endpoint, number: &Number, message: &[u8]) {
    let Some(client) = endpoint.sessions.held(number) else { return };
    let Ok(Incoming::Single(message)) = Incoming::parse(message) else { return };
    if matches!(&message, Message::Notification { method, .. } if method == ENDED_METHOD) {
        return endpoint.sessions.let_go(number);
    }
    if is_about_a_call(&message) {
        let reply: Reply = Stream::passing();
        client.session.step(message, &reply);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_fills_no_database_with_answers() {
        let (passing, now) = (Passing::default(), Instant::now());
        let spend = |principal: &str, bytes, now| passing.spend(principal, bytes, now);
        let passed = (0..2 * MOST_BYTES / LEAST_BYTES).filter(|_| spend("ann", 10, now)).count();
        assert_eq!(passed, 8192);
        assert!(!spend("bob", MOST_BYTES + 1, now));
        assert!(spend("bob", MOST_BYTES, now));
        assert!(!spend("bob", 1, now));
        assert!(spend("ann", 1, now + WINDOW));
    }

    #[test]
    fn cancellations_are_forwarded_once_and_use_up_no_answers() {
        let (passing, now) = (Passing::default(), Instant::now());
        let (one, other) = ([1; size_of::<Number>()], [2; size_of::<Number>()]);
        let cancel = |principal: &str, session: &Number, call: usize, now| {
            passing.cancel(principal, session, &call.to_string(), 10, now)
        };
        assert_eq!(cancel("ann", &one, 0, now), Cancellation::New);
        assert_eq!(cancel("ann", &one, 0, now), Cancellation::Repeated);
        assert_eq!(cancel("ann", &other, 0, now), Cancellation::New);
        let passed = (1..100_000).filter(|call| cancel("ann", &one, *call, now) == Cancellation::New).count();
        assert_eq!(passed, MOST_CANCELLATIONS - 2);
        assert_eq!(cancel("ann", &one, 0, now), Cancellation::Repeated);
        assert_eq!(cancel("ann", &one, 100_000, now), Cancellation::TooMany);
        assert_eq!(cancel("bob", &one, 100_000, now), Cancellation::New);
        assert!(passing.spend("ann", MOST_BYTES - MOST_CANCELLATIONS * LEAST_BYTES, now));
        assert_eq!(cancel("ann", &one, 0, now + WINDOW), Cancellation::New);
        passing.forget_cancellations("bob");
        assert_eq!(cancel("bob", &one, 100_000, now), Cancellation::New, "the first was not forwarded");
        let long = |call: &str, bytes| passing.cancel("eve", &one, call, bytes, now);
        assert_eq!(long("1", MOST_BYTES), Cancellation::New);
        assert_eq!(long("2", 1), Cancellation::TooLong);
        assert!(is_id("\"a\"") && is_id("-1") && is_id("7") && !is_id("null") && !is_id("[1]"));
    }
}
