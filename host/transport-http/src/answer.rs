//! HTTP answers, and refusals that are not JSON-RPC answers.

use std::any::Any;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::request::admission::Refusal;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use scorpiox_mcp::RpcError;
use scorpiox_mcp::error::BUSY;
use scorpiox_mcp::jsonrpc::{Id, code, reply};

use crate::events::Events;

/// Body of an answer.
pub(crate) enum Content {
    /// The complete body.
    Whole(Bytes),
    /// Server-sent events.
    Events(Box<Events>),
}

impl Content {
    /// Holds a value until the body has been sent, if that takes time.
    pub(crate) fn hold(&mut self, held: impl Any + Send + Sync) {
        match self {
            Self::Whole(_) => {}
            Self::Events(events) => events.hold(held),
        }
    }
}

pub(crate) type Answer = Response<Content>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// Makes nginx forward events immediately.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Events(events) => {
                events.poll_next(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Events(_) => SizeHint::default(),
        }
    }
}

/// Returns an answer without a body.
pub(crate) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Content::Whole(Bytes::new()));
    *answer.status_mut() = status;
    answer
}

/// Returns an answer with a JSON-RPC message.
pub(crate) fn json(status: StatusCode, line: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Content::Whole(line.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, JSON);
    answer.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    answer
}

/// Returns an answer with text of the given content type.
pub(crate) fn text(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Content::Whole(text.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    answer
}

/// Returns an answer with server-sent events.
pub(crate) fn events(events: Events) -> Answer {
    let mut answer = Response::new(Content::Events(Box::new(events)));
    answer.headers_mut().insert(header::CONTENT_TYPE, EVENT_STREAM);
    answer.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    answer.headers_mut().insert(BUFFERING, HeaderValue::from_static("no"));
    answer
}

/// Returns the answer for a request that is not admitted.
pub(crate) fn refusal(refusal: &Refusal) -> Answer {
    refused(refusal.status, &refusal.why)
}

/// Adds a `Retry-After` header to an answer.
pub(crate) fn later(mut answer: Answer, retry_after: Duration) -> Answer {
    answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after.as_secs()));
    answer
}

/// Returns a refusal of a request whose ID is unknown.
pub(crate) fn refused(status: StatusCode, why: &str) -> Answer {
    json(status, reply::error(None, code::INVALID_REQUEST, why, None::<&()>))
}

/// Returns an error answer to a request, with a status.
pub(crate) fn error(status: StatusCode, id: Option<&Id<'_>>, error: &RpcError) -> Answer {
    let line = id.map_or_else(|| error.reply_to_unknown(), |id| error.reply(id));
    json(status, line)
}

/// Returns the status for failed work: 503 if no thread was free for it.
pub(crate) fn status_of(error: &io::Error) -> StatusCode {
    match error.kind() {
        io::ErrorKind::ResourceBusy => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Returns the status and the error for failed work. `aim` is the beginning of a sentence that ends with the
/// cause.
pub(crate) fn failed(aim: &str, error: &io::Error) -> (StatusCode, RpcError) {
    let (status, why) = (status_of(error), format!("{aim}: {error}"));
    let is_busy = status == StatusCode::SERVICE_UNAVAILABLE;
    (status, if is_busy { RpcError::new(BUSY, why) } else { RpcError::internal(why) })
}
