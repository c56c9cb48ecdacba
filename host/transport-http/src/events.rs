//! Writes a stream as server-sent events in the body of an answer.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::request::event_id::Source;
use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};

use crate::good::{Good, Over};
use crate::stream::{Awaited, Next, Stream};

/// Interval between keep-alive comments, because proxies and clients treat longer silence as a dead
/// connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const COMMENT: &[u8] = b":\n\n";
const END: &[u8] = b"\n\n";
/// Maximum size of a line that is copied into one piece with its head. A copy is not counted in the memory for
/// answers.
const MAX_COPIED: usize = 16 * 1024;
/// Reconnection delay for clients, in milliseconds.
const RETRY_MS: u32 = 3000;

/// A reader of a stream.
pub(crate) struct Events {
    stream: Arc<Stream>,
    /// Number of the next event.
    next: u64,
    reading: u64,
    /// Pieces to send before anything else.
    pieces: VecDeque<Bytes>,
    /// Prefix of event IDs; `None` if the client cannot resume the stream.
    ids: Option<String>,
    silence: Pin<Box<Sleep>>,
    /// Completes when the reader must authenticate again.
    over: Option<Over>,
    /// Values dropped when the reader ends.
    #[allow(dead_code, reason = "it is there to be dropped")]
    held: Vec<Box<dyn Any + Send + Sync>>,
}

impl Events {
    /// Reads a stream from event `next` on.
    pub(crate) fn of(stream: Arc<Stream>, next: u64) -> Self {
        let reading = stream.begin_reading();
        Self::reading(stream, next, reading)
    }

    /// Reads a stream from its beginning with a reserved reader. If another reader has started since, that
    /// one continues.
    pub(crate) fn awaited(awaited: Awaited) -> Self {
        Self::reading(Arc::clone(&awaited.stream), 0, awaited.reading).holding(awaited)
    }

    fn reading(stream: Arc<Stream>, next: u64, reading: u64) -> Self {
        Self {
            stream,
            next,
            reading,
            pieces: VecDeque::new(),
            ids: None,
            silence: Box::pin(sleep(KEEP_ALIVE)),
            over: None,
            held: Vec::new(),
        }
    }

    /// Gives events IDs that name the stream. With `is_announced`, an event without data comes first, so that
    /// the client has an ID to reconnect with.
    pub(crate) fn resumable(mut self, source: &Source, is_announced: bool) -> Self {
        let prefix = source.prefix();
        if is_announced {
            let id = self.next;
            self.pieces.push_back(format!("id: {prefix}{id}\nretry: {RETRY_MS}\ndata:\n\n").into());
        }
        self.ids = Some(prefix);
        self
    }

    /// Ends the reader when its authentication is not good any more.
    pub(crate) fn while_good(mut self, good: &Good) -> Self {
        self.over = good.over();
        self
    }

    /// Says something before the first event, in a comment, which clients skip and people read.
    pub(crate) fn remarked(mut self, text: &str) -> Self {
        self.pieces.push_front(format!(": {text}\n\n").into());
        self
    }

    /// Holds a value until the client disconnects or the stream ends.
    pub(crate) fn holding(mut self, held: impl Any + Send + Sync) -> Self {
        self.hold(held);
        self
    }

    pub(crate) fn hold(&mut self, held: impl Any + Send + Sync) {
        self.held.push(Box::new(held));
    }

    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(piece) = self.pieces.pop_front() {
            return Poll::Ready(Some(piece));
        }
        if self.over.as_mut().is_some_and(|over| over.as_mut().poll(context).is_ready()) {
            return Poll::Ready(None);
        }
        match self.stream.poll_next(self.reading, self.next, context) {
            Next::Event(number, line) => {
                self.next = number + 1;
                self.silence.as_mut().reset(Instant::now() + KEEP_ALIVE);
                Poll::Ready(Some(self.event(line)))
            }
            Next::End => Poll::Ready(None),
            Next::Wait => {
                if self.silence.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                self.silence.as_mut().reset(Instant::now() + KEEP_ALIVE);
                // The caller polls again after the comment.
                Poll::Ready(Some(Bytes::from_static(COMMENT)))
            }
        }
    }

    /// Formats an event. A line of JSON contains no line breaks. Returns the first piece of a large event; the
    /// others follow.
    fn event(&mut self, mut line: Bytes) -> Bytes {
        if line.ends_with(b"\n") {
            line.truncate(line.len() - 1);
        }
        let mut head = String::with_capacity(48);
        if let Some(prefix) = &self.ids {
            let _ = writeln!(head, "id: {prefix}{}", self.next);
        }
        head.push_str("event: message\ndata: ");
        if line.len() > MAX_COPIED {
            self.pieces.extend([line, Bytes::from_static(END)]);
            return head.into();
        }
        let mut event = Vec::with_capacity(head.len() + line.len() + 2);
        event.extend_from_slice(head.as_bytes());
        event.extend_from_slice(&line);
        event.extend_from_slice(END);
        event.into()
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.stream.end_reading(self.reading);
    }
}
