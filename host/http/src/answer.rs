//! Answers of HTTP, and the refusals that are no answer of JSON-RPC's.

use std::any::Any;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use scorpiox_http_request::admission::Refusal;
use scorpiox_mcp::RpcError;
use scorpiox_mcp::error::BUSY;
use scorpiox_rpc::{Id, code, reply};

use crate::events::Events;

/// What is sent after the head.
pub(crate) enum Content {
    /// All of it, at once.
    Whole(Bytes),
    /// Server-sent events, as they come.
    Events(Box<Events>),
}

impl Content {
    /// Holds something until all is sent, as far as that takes its time.
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
/// Tells nginx to hand events on as they come.
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

/// An answer without content.
pub(crate) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Content::Whole(Bytes::new()));
    *answer.status_mut() = status;
    answer
}

/// A message of JSON-RPC.
pub(crate) fn json(status: StatusCode, line: Vec<u8>) -> Answer {
    let mut answer = Response::new(Content::Whole(Bytes::from(line)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, JSON);
    answer.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    answer
}

/// Text of some kind.
pub(crate) fn text(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Content::Whole(text.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    answer
}

/// Server-sent events.
pub(crate) fn events(events: Events) -> Answer {
    let mut answer = Response::new(Content::Events(Box::new(events)));
    answer.headers_mut().insert(header::CONTENT_TYPE, EVENT_STREAM);
    answer.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    answer.headers_mut().insert(BUFFERING, HeaderValue::from_static("no"));
    answer
}

/// The same, of a request that may not come in.
pub(crate) fn refusal(refusal: &Refusal) -> Answer {
    refused(refusal.status, &refusal.why)
}

/// The same, which says when to try again.
pub(crate) fn later(mut answer: Answer, retry_after: Duration) -> Answer {
    answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after.as_secs()));
    answer
}

/// A refusal, of a request whose id is not known.
pub(crate) fn refused(status: StatusCode, why: &str) -> Answer {
    json(status, reply::error(None, code::INVALID_REQUEST, why, None::<&()>))
}

/// An error that answers a request, with a status.
pub(crate) fn error(status: StatusCode, id: Option<&Id<'_>>, error: &RpcError) -> Answer {
    let line = id.map_or_else(|| error.reply_to_unknown(), |id| error.reply(id));
    json(status, line)
}

/// The status for work that failed: 503 where no thread was free for it.
pub(crate) fn status_of(error: &io::Error) -> StatusCode {
    match error.kind() {
        io::ErrorKind::ResourceBusy => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The status and the error for work that failed; `aim` is the beginning of a sentence that ends with the cause.
pub(crate) fn failed(aim: &str, error: &io::Error) -> (StatusCode, RpcError) {
    let (status, why) = (status_of(error), format!("{aim}: {error}"));
    let is_busy = status == StatusCode::SERVICE_UNAVAILABLE;
    (status, if is_busy { RpcError::new(BUSY, why) } else { RpcError::internal(why) })
}
