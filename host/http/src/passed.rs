//! What a client says to one server and another has to hear: the answer to a question that the other one asked, and that a
//! call which runs there is to stop. It goes to all servers through the database.

use std::sync::Arc;

use hyper::{HeaderMap, StatusCode};
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

/// Most bytes of a message that is passed on: all servers get it.
const MAX_BYTES: usize = 1024 * 1024;
const CANCEL: &str = "notifications/cancelled";

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
            let members = batch.0.iter().map(|member| member.get());
            members.filter(|member| Message::parse(member).is_ok_and(|read| concerns_others(&read))).collect()
        }
        _ => return Ok(()),
    };
    for member in members {
        if member.len() > MAX_BYTES {
            let why = format!(
                "an answer for another server has at most {MAX_BYTES} bytes, not {}; a balancer that sends a client to the same server lets longer ones through",
                member.len()
            );
            return Err((StatusCode::PAYLOAD_TOO_LARGE, RpcError::invalid_request(why)));
        }
        let Some(passed) = sessions.shared().pass_on(&number, member.as_bytes()) else { continue };
        let written = endpoint.handle.spawn_blocking(passed).await;
        written.map_err(std::io::Error::other).flatten().map_err(|error| {
            tracing::error!("a client's message is not passed on to other servers: {error}");
            let why = "the message cannot be passed on to the server that it is for; repeat it later";
            (StatusCode::SERVICE_UNAVAILABLE, RpcError::new(BUSY, why))
        })?;
    }
    Ok(())
}

/// Another server passed on what the client of a session said.
pub(crate) fn heard(endpoint: &Endpoint, number: &Number, message: &[u8]) {
    let Some(client) = endpoint.sessions.held(number) else { return };
    let Ok(Incoming::Single(message)) = Incoming::parse(message) else { return };
    if is_about_a_call(&message) {
        let reply: Reply = Stream::passing();
        client.session.step(message, &reply);
    }
}
