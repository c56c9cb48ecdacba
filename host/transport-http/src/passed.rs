//! Forwards client messages that arrive at the wrong server: answers to requests of another server, and
//! cancellations of calls that run there. The messages go to all servers through the database.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::request::admission;
use crate::request::session_id::Number;
use hyper::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use scorpiox_exchange::outgoing::may_be_asked_elsewhere;
use scorpiox_mcp::RpcError;
use scorpiox_mcp::error::BUSY;
use scorpiox_mcp::jsonrpc::{Incoming, Message};
use scorpiox_server::Reply;

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
const WINDOW: Duration = Duration::from_mins(1);
pub(crate) const CANCEL: &str = "notifications/cancelled";
/// Message to the other servers that a session has ended. Clients cannot forge it, because only their answers
/// and cancellations are forwarded.
const ENDED: &str = r#"{"jsonrpc":"2.0","method":"scorpiox/ended"}"#;
const ENDED_METHOD: &str = "scorpiox/ended";

/// Recently forwarded bytes of each principal.
#[derive(Debug, Default)]
pub(crate) struct Passing(Mutex<HashMap<String, Spent>>);

/// Bytes forwarded in one window.
#[derive(Debug)]
struct Spent {
    since: Instant,
    bytes: usize,
}

impl Passing {
    /// Charges a message to a principal. Returns `false` if it must not be forwarded.
    fn spend(&self, principal: &str, bytes: usize, now: Instant) -> bool {
        let mut all = self.0.lock();
        all.retain(|_, spent| now.duration_since(spent.since) < WINDOW);
        let spent = all.entry(principal.to_owned()).or_insert(Spent { since: now, bytes: 0 });
        let sum = spent.bytes.saturating_add(bytes.max(LEAST_BYTES));
        // A message that exceeds the limit is not charged, so a shorter one may still fit.
        if sum <= MOST_BYTES {
            spent.bytes = sum;
        }
        sum <= MOST_BYTES
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
    body: &[u8],
) -> Result<(), (StatusCode, RpcError)> {
    let sessions = &endpoint.sessions;
    if !sessions.shared().is_database() {
        return Ok(());
    }
    let id = admission::only(headers, &SESSION);
    let Some(number) = id.and_then(|id| sessions.known(caller, id)) else { return Ok(()) };
    let members: Vec<&str> = match Incoming::parse(body) {
        Ok(Incoming::Single(message)) if concerns_others(&message) => {
            std::str::from_utf8(body).into_iter().collect()
        }
        Ok(Incoming::Batch(batch)) => {
            let mut members = Vec::new();
            for member in batch.0.iter().map(|member| member.get()) {
                if Message::parse(member).is_ok_and(|read| concerns_others(&read))
                    && !cancelled_here(endpoint, caller, headers, member)
                {
                    members.push(member);
                }
            }
            members
        }
        _ => return Ok(()),
    };
    let who = caller.principal.key();
    for member in members {
        if member.len() > MAX_BYTES {
            let why = format!(
                "an answer for another server has at most {MAX_BYTES} bytes, not {}; a balancer that sends a client to the same server lets longer ones through",
                member.len()
            );
            return Err((StatusCode::PAYLOAD_TOO_LARGE, RpcError::invalid_request(why)));
        }
        if !endpoint.passing.spend(&who, member.len(), Instant::now()) {
            let why = format!(
                "{MOST_BYTES} bytes of answers and cancels, each counted as at least {LEAST_BYTES}, are passed on to other servers in a minute; repeat it later"
            );
            return Err((StatusCode::TOO_MANY_REQUESTS, RpcError::new(BUSY, why)));
        }
        let Some(passed) = sessions.shared().pass_on(&number, member.as_bytes()) else { continue };
        let written = endpoint.blocking.run(WaitsFor::Database, &who, passed).await;
        written.flatten().map_err(|error| {
            tracing::error!("a client's message is not passed on to other servers: {error}");
            let why = "the message cannot be passed on to the server that it is for; repeat it later";
            (StatusCode::SERVICE_UNAVAILABLE, RpcError::new(BUSY, why))
        })?;
    }
    Ok(())
}

/// Cancels the call named in a message, if the call runs here. Returns `true` if it did; the message then
/// needs neither the database nor the other servers.
pub(crate) fn cancelled_here(
    endpoint: &Endpoint,
    caller: &Caller,
    headers: &HeaderMap,
    message: &str,
) -> bool {
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
    let Some(passed) = endpoint.sessions.shared().pass_on(number, ENDED.as_bytes()) else { return };
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
}
