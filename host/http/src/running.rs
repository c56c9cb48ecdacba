//! Running a message, on a thread where it may take its time, or at once where it takes none.

use std::sync::Arc;

use bytes::Bytes;
use scorpiox_audit::Trace;
use scorpiox_executor::threads;
use scorpiox_http_request::claims::Claims;
use scorpiox_rpc::{Incoming, Message};
use scorpiox_server::{Reply, Step};

use crate::endpoint::Endpoint;
use crate::places::{Held, Place, Places};
use crate::post::CALL;
use crate::sessions::Client;
use crate::stream::Stream;

/// A body that was read, and the room that it takes.
pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    pub(crate) room: Held,
    /// The trace that it is part of, as its head says.
    pub(crate) trace: Option<Trace>,
}

/// Begins to run what a body says; what comes of it is said on `stream`, which ends with the answer. A subscription
/// leaves it open. `claims` are those of a single request.
pub(crate) fn run(
    endpoint: &Arc<Endpoint>,
    client: Arc<Client>,
    claims: Option<&Claims>,
    body: Body,
    stream: Arc<Stream>,
) {
    let is_brief = claims.is_some_and(|claims| is_brief(&client, claims));
    let shared = Arc::clone(endpoint);
    if let Some(trace) = body.trace {
        stream.part_of(trace);
    }
    let run = move || {
        perform(&shared, &client, &body.bytes, &stream);
        drop(body.room);
        client.session.follow_list_changes();
    };
    if is_brief {
        // To wake another thread takes longer than the call. It is a task of its own, and the next one of this thread:
        // where it has to wait, another thread goes on with the connection.
        endpoint.handle.spawn(async move { run() });
    } else {
        endpoint.handle.spawn_blocking(run);
    }
}

/// Whether a request is over in a moment.
fn is_brief(client: &Client, claims: &Claims) -> bool {
    let name = claims.subject.as_ref().filter(|_| claims.method == CALL);
    let tool = name.and_then(|name| client.session.workspace().registry().get(name));
    tool.is_some_and(|tool| tool.is_brief())
}

/// A place, at once or when others have ended; none where too many wait already.
fn enter<'a>(places: &'a Places, principal: &'a str) -> Option<Place<'a>> {
    places.try_enter(principal).or_else(|| threads::wait(|| places.enter(principal)))
}

/// Only what may take long needs a place: an answer to a question, or a cancel, never waits for the calls that it is for.
fn perform(endpoint: &Endpoint, client: &Client, body: &[u8], stream: &Arc<Stream>) {
    let (session, places) = (&client.session, &endpoint.places);
    let ticker = session.ticker();
    let _awake = ticker.begin();
    let reply: Reply = stream.clone();
    // It was read before, and borrows from the body, which two threads cannot share.
    let answer = match Incoming::parse(body) {
        Ok(Incoming::Single(message)) => {
            let is_request = matches!(message, Message::Request { .. });
            match session.step(message, &reply) {
                // It stays open, as the client asked.
                Step::Nothing if is_request => return,
                Step::Nothing => None,
                Step::Answer(answer) => Some(answer),
                Step::Work(work, right) => match enter(places, &client.principal) {
                    Some(_place) => session.perform(&work, &right, &reply),
                    None => Some(session.refuse_busy(&work, &right)),
                },
            }
        }
        Ok(Incoming::Batch(batch)) => match enter(places, &client.principal) {
            Some(_place) => session.batch_answer(&batch.0, &reply),
            None => session.refuse_busy_batch(&batch.0),
        },
        Err(error) => Some(error.reply()),
    };
    let sent = answer.as_ref().map_or(0, Vec::len);
    session.workspace().records().moved(&client.principal, body.len(), sent);
    if stream.is_kept() && sent > 0 {
        stream.stays(endpoint.kept.stay(&client.principal, stream, stream.bytes() + sent));
    }
    stream.end(answer);
}
