//! A request's body that says whether it was read to its end.
//!
//! The rest of a body that nobody reads would stand where the next request begins. An answer that comes before
//! the end of its request's body therefore closes the connection, and says so, so that no client or proxy sends
//! another request on it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::Request;
use hyper::body::{Body, Frame, Incoming, SizeHint};

/// Body of a request.
pub(crate) struct RequestBody {
    body: Incoming,
    is_read: Arc<AtomicBool>,
}

/// State of a request's body, from its head on.
pub(crate) struct Reading(Arc<AtomicBool>);

impl Reading {
    /// Returns `true` if a part of the body was not read.
    pub(crate) fn is_unfinished(&self) -> bool {
        !self.0.load(Ordering::Acquire)
    }
}

/// Returns the request with a body that is watched.
pub(crate) fn watched(request: Request<Incoming>) -> (Request<RequestBody>, Reading) {
    let is_read = Arc::new(AtomicBool::new(request.body().is_end_stream()));
    let reading = Reading(Arc::clone(&is_read));
    (request.map(|body| RequestBody { body, is_read }), reading)
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || matches!(frame, Some(Ok(_))) && self.body.is_end_stream() {
            self.is_read.store(true, Ordering::Release);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
