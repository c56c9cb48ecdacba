//! What a client says to one server and another has to hear: the answer to a question that the other one asked, and that a
//! call which runs there is to stop. It goes to all servers through the database.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use scorpiox_exchange::outgoing::may_be_asked_elsewhere;
use scorpiox_http_request::admission;
use scorpiox_http_request::session_id::Number;
use scorpiox_mcp::RpcError;
use scorpiox_mcp::error::BUSY;
use scorpiox_rpc::{Incoming, Message};
use scorpiox_server::Reply;

use crate::endpoint::Endpoint;
use crate::post::SESSION;
use crate::served::Caller;
use crate::stream::Stream;
use scorpiox_http_bounds::{MayBlock, WaitsFor};

/// Most bytes of a message that is passed on: all servers get it.
const MAX_BYTES: usize = 1024 * 1024;
/// Most bytes of a principal's messages that are passed on within [`WINDOW`]: they fill the database that all share. A person
/// answers a few questions a minute; four busy programs behind one token, and no balancer that keeps them at a server,
/// send 1,000.
const MOST_BYTES: usize = 8 * MAX_BYTES;
/// Bytes that a message counts as at least: it is a row, an entry of its index, and a notification.
const LEAST_BYTES: usize = 1024;
const WINDOW: Duration = Duration::from_mins(1);
pub(crate) const CANCEL: &str = "notifications/cancelled";
/// The message of a server to the others that a session has ended. Nobody has it passed on: clients have answers and cancels
/// passed on alone.
const ENDED: &str = r#"{"jsonrpc":"2.0","method":"scorpiox/ended"}"#;
const ENDED_METHOD: &str = "scorpiox/ended";

/// The messages that each principal had passed on lately.
#[derive(Debug, Default)]
pub(crate) struct Passing(Mutex<HashMap<String, Spent>>);

/// The messages of one window.
#[derive(Debug)]
struct Spent {
    since: Instant,
    bytes: usize,
}

impl Passing {
    /// Counts a message, and reports whether it may be passed on.
    fn spend(&self, principal: &str, bytes: usize, now: Instant) -> bool {
        let mut all = self.0.lock();
        all.retain(|_, spent| now.duration_since(spent.since) < WINDOW);
        let spent = all.entry(principal.to_owned()).or_insert(Spent { since: now, bytes: 0 });
        let sum = spent.bytes.saturating_add(bytes.max(LEAST_BYTES));
        // One that is too long now keeps back no short one.
        if sum <= MOST_BYTES {
            spent.bytes = sum;
        }
        sum <= MOST_BYTES
    }
}

/// Whether a message is about a call that runs.
fn is_about_a_call(message: &Message<'_>) -> bool {
    match message {
        Message::Response { .. } => true,
        Message::Notification { method, .. } => method == CANCEL,
        Message::Request { .. } => false,
    }
}

/// Whether another server may have to hear it.
fn concerns_others(message: &Message<'_>) -> bool {
    match message {
        Message::Response { id, .. } => id.as_ref().is_some_and(may_be_asked_elsewhere),
        _ => is_about_a_call(message),
    }
}

/// Passes on what other servers may have to hear of a body, which may be a batch.
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

/// Cancels the call that a message is to stop, where that runs here, and reports whether it did: neither the database nor other
/// servers are asked for it.
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

/// Tells other servers that a session has ended, so that they end what runs in it. Each of its requests is refused there
/// whether or not they hear of it.
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

/// Another server passed on what the client of a session said.
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
