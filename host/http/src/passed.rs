//! What a client says to one server and another has to hear: the answer to a question that the other one asked, and that a
//! call which runs there is to stop. It goes to all servers through the database.

use std::sync::Arc;

use hyper::HeaderMap;
use scorpiox_exchange::outgoing::was_asked_here;
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
    let is_for_this =
        matches!(message, Message::Response { id, .. } if id.as_ref().is_none_or(was_asked_here));
    is_about_a_call(message) && !is_for_this
}

/// Passes on what other servers may have to hear of a body, which may be a batch.
pub(crate) async fn pass_on(
    endpoint: &Arc<Endpoint>,
    caller: &Caller,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(), RpcError> {
    let sessions = &endpoint.sessions;
    if !sessions.shared().is_database() {
        return Ok(());
    }
    let id = admission::only(headers, &SESSION);
    let Some(number) = id.and_then(|id| sessions.number(caller, id)) else { return Ok(()) };
    let passed: Vec<_> = match Incoming::parse(body) {
        Ok(Incoming::Single(message)) if concerns_others(&message) => {
            sessions.shared().pass_on(&number, body).into_iter().collect()
        }
        Ok(Incoming::Batch(batch)) => {
            let members = batch.0.iter().map(|member| member.get());
            let others =
                members.filter(|member| Message::parse(member).is_ok_and(|read| concerns_others(&read)));
            others.filter_map(|member| sessions.shared().pass_on(&number, member.as_bytes())).collect()
        }
        _ => return Ok(()),
    };
    for passed in passed {
        let written = endpoint.handle.spawn_blocking(passed).await;
        written.map_err(std::io::Error::other).flatten().map_err(|error| {
            tracing::error!("a client's message is not passed on to other servers: {error}");
            RpcError::new(
                BUSY,
                "the message cannot be passed on to the server that it is for; repeat it later",
            )
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
