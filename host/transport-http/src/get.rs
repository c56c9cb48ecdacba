//! GET: the notification stream of a session, or the rest of an interrupted stream.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderName;
use hyper::{HeaderMap, StatusCode};
use scorpiox_mcp::RpcError;

use crate::answer::{self, Answer};
use crate::endpoint::{Endpoint, not_allowed};
use crate::events::Events;
use crate::lookups::{client_of, unfound};
use crate::request::admission;
use crate::request::event_id::{Answers, Source, StreamNumber};
use crate::request::modern;
use crate::served::Caller;
use crate::stream::Stream;

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// Delay before the client asks again for a stream that another server may have.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Delay before the client asks again for a stream beyond the limit.
const FULL_RETRY: Duration = Duration::from_secs(30);

pub(crate) async fn answer(endpoint: &Arc<Endpoint>, caller: &Caller, headers: &HeaderMap) -> Answer {
    if modern::names_modern(headers) {
        return not_allowed();
    }
    if !admission::accepts(headers, admission::EVENTS) {
        return answer::refused(StatusCode::NOT_ACCEPTABLE, "a stream is taken as text/event-stream");
    }
    let client = match client_of(endpoint, caller, headers).await {
        Ok(client) => client,
        Err((status, error)) => return unfound(status, None, &error),
    };
    let last = if headers.contains_key(LAST_EVENT) {
        let Some(last) = admission::only(headers, &LAST_EVENT).and_then(Source::parse) else {
            let why = "Last-Event-ID is none of this server's: send it once, as the last event had it, or not at all";
            return answer::refused(StatusCode::BAD_REQUEST, why);
        };
        Some(last)
    } else {
        None
    };
    let unasked = || {
        let source = Source { number: client.of_notices, answers: None };
        (Arc::clone(&client.notices), source, client.notices.first_unread())
    };
    let mut missing = None;
    let (stream, source, next) = match last {
        None => unasked(),
        Some((source, next)) => match (client.stream(source.number), source.answers.clone()) {
            (Some(stream), _) => {
                missing = stream.lost(next);
                (stream, source, next)
            }
            (None, Some(answers)) => return gone(endpoint, source.number, answers),
            // The messages of another server, or from before a restart, are lost.
            (None, None) => {
                missing = Some(why_gone(source.number).to_owned());
                unasked()
            }
        },
    };
    let Some(open) = endpoint.streams.open(&client.principal) else { return too_many_streams(endpoint) };
    let events = Events::of(stream, next).resumable(&source, false).while_good(&caller.good);
    let events = match missing {
        Some(why) => events.remarked(&format!("events before this may be missing: {why}")),
        None => events,
    };
    answer::events(events.holding((client, open)))
}

/// Refuses a stream. The client can make requests without it.
fn too_many_streams(endpoint: &Endpoint) -> Answer {
    answer::later(answer::refused(StatusCode::SERVICE_UNAVAILABLE, &endpoint.streams.why_full()), FULL_RETRY)
}

/// Returns the reason why a stream is not available here.
fn why_gone(number: StreamNumber) -> &'static str {
    if number.was_given_here() {
        "later answers took its place, or it is another session's"
    } else {
        "the server was started again, or another server has it"
    }
}

/// Returns the answer for a stream that is not available here. Never 404, which makes clients give up their
/// session.
fn gone(endpoint: &Endpoint, number: StreamNumber, answers: Answers) -> Answer {
    let was_here = number.was_given_here();
    if !was_here && endpoint.sessions.shared().is_database() {
        let refused = answer::refused(
            StatusCode::SERVICE_UNAVAILABLE,
            "that stream is at another server, or was at one that has ended; ask again to reach the other server",
        );
        return answer::later(refused, RETRY_AFTER);
    }
    let why = why_gone(number);
    let Answers::Request(id) = answers else {
        let why = format!(
            "the answers of the batch are no longer here: {why}; see what its requests did before you repeat it"
        );
        return answer::refused(StatusCode::BAD_REQUEST, &why);
    };
    let error = RpcError::internal(format!(
        "the answer is no longer here: {why}; see what the request did before you repeat it"
    ));
    let stream = Stream::passing();
    stream.end(Some(error.reply(&id).into()));
    answer::events(Events::of(stream, 0))
}
