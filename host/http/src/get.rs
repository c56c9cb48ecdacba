//! GET: what a session is told unasked, or the rest of a stream that broke.

use std::sync::Arc;

use hyper::header::HeaderName;
use hyper::{HeaderMap, StatusCode};

use crate::answer::{self, Answer};
use crate::endpoint::{Endpoint, not_allowed};
use crate::events::{self, Events};
use crate::post;
use crate::served::Caller;
use crate::sessions::NOTICES;
use scorpiox_http_request::admission;
use scorpiox_http_request::modern;

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

pub(crate) async fn answer(endpoint: &Arc<Endpoint>, caller: &Caller, headers: &HeaderMap) -> Answer {
    if modern::names_modern(headers) {
        return not_allowed();
    }
    if !admission::accepts(headers, admission::EVENTS) {
        return answer::refused(StatusCode::NOT_ACCEPTABLE, "a stream is taken as text/event-stream");
    }
    let client = match post::client_of(endpoint, caller, headers).await {
        Ok(client) => client,
        Err((status, error)) => return answer::error(status, None, &error),
    };
    let (number, next) = match headers.get(LAST_EVENT) {
        None => (NOTICES, client.notices.first_unread()),
        Some(id) => match id.to_str().ok().and_then(events::resumed) {
            Some(resumed) => resumed,
            None => {
                return answer::refused(StatusCode::BAD_REQUEST, "Last-Event-ID is none of this server's");
            }
        },
    };
    let Some(stream) = client.stream(number) else {
        return answer::refused(StatusCode::NOT_FOUND, "that stream is no longer there");
    };
    answer::events(Events::of(stream, next).resumable(number, false).until(caller.until).holding(client))
}
