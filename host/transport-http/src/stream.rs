//! Messages to a client: those on the way to one answer, or unsolicited ones.
//!
//! Writing never blocks. A reader that falls behind loses only old notifications.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use scorpiox_audit::Trace;
use scorpiox_policy::access::AccessDenial;
use scorpiox_server::{Admission, Channel};
use tokio::time::timeout;

use crate::kept::Stay;

/// Maximum number and total size of messages that wait for a reader or are retained for a later one.
const MAX_EVENTS: usize = 256;
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// Additional time that an answer waits to begin while the admission of the request is being decided. A
/// required export has 5 s, and the machine may be busy.
const ADMISSION_TIME: Duration = Duration::from_secs(10);

/// Messages for a client, in order.
#[derive(Default)]
pub(crate) struct Stream {
    state: Mutex<State>,
    /// `true` if messages are retained after reading, for a reader that reconnects.
    keeps: bool,
    trace: OnceLock<Trace>,
    /// Budget entry of the answer, if it is retained.
    stay: OnceLock<Stay>,
}

#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // each flag changes independently
struct State {
    events: VecDeque<Bytes>,
    /// Number of the first event still present.
    first: u64,
    bytes: usize,
    /// `true` if nothing follows.
    has_ended: bool,
    /// `true` if the answer was the only message.
    is_answer_alone: bool,
    /// `true` while the admission of the request is being decided.
    is_admitting: bool,
    /// `true` if the waiter for the beginning is waiting only for the admission.
    awaits_admission: bool,
    /// Reason for a refusal that has its own status.
    refusal: Option<Refusal>,
    /// Number of the first event that no reader has received.
    unread: u64,
    /// Number of the current reader. A later reader replaces an earlier one.
    reading: u64,
    is_read: bool,
    /// Wakes the reader.
    waker: Option<Waker>,
    /// Wakes the waiter for the beginning, which is separate because a later reader may exist.
    beginning: Option<Waker>,
}

/// Reasons for refusing a call that another principal, a later attempt or another server may succeed with.
pub(crate) enum Refusal {
    /// The principal may not make the call.
    Denied(AccessDenial),
    /// A limit is exhausted, with the time until the next attempt.
    Exceeded(Duration),
    /// This server currently serves no calls, but another one may.
    Unserved,
}

/// Next item of a stream.
pub(crate) enum Next {
    /// An event with its number.
    Event(u64, Bytes),
    Wait,
    End,
}

/// Beginning of an answer.
pub(crate) enum Beginning {
    /// The complete answer.
    Answer(Bytes),
    /// No answer.
    Nothing,
    /// Other messages come first, or the answer takes long.
    Events,
}

/// Reservation for a reader that has not started yet.
pub(crate) struct Awaited {
    pub(crate) stream: Arc<Stream>,
    pub(crate) reading: u64,
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.stream.end_reading(self.reading);
    }
}

impl Stream {
    /// Creates a stream that drops events once they are read.
    pub(crate) fn passing() -> Arc<Self> {
        Arc::default()
    }

    /// Creates a stream that can be read again, as far as the budget allows.
    pub(crate) fn kept() -> Arc<Self> {
        Arc::new(Self { keeps: true, ..Self::default() })
    }

    /// Sets the trace that the request belongs to.
    pub(crate) fn part_of(&self, trace: Trace) {
        let _ = self.trace.set(trace);
    }

    /// Ends the stream with an answer, if any.
    pub(crate) fn end(&self, answer: Option<Bytes>) {
        let mut state = self.state.lock();
        if state.has_ended {
            return;
        }
        state.has_ended = true;
        state.is_answer_alone = answer.is_some() && state.first == 0 && state.events.is_empty();
        state.push(answer);
    }

    /// Stores the budget entry of the answer that follows.
    pub(crate) fn stays(&self, stay: Stay) {
        let _ = self.stay.set(stay);
    }

    /// Returns `true` if messages are retained after reading.
    pub(crate) fn is_kept(&self) -> bool {
        self.keeps
    }

    /// Returns the number of buffered bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    /// Reserves the stream for a reader until the result is dropped.
    pub(crate) fn awaited(self: &Arc<Self>) -> Awaited {
        Awaited { reading: self.begin_reading(), stream: Arc::clone(self) }
    }

    /// Drops all messages if the stream has ended and has no reader. Returns `true` if it did.
    pub(crate) fn forget(&self) -> bool {
        let mut state = self.state.lock();
        if !state.has_ended || state.is_read {
            return false;
        }
        state.events = VecDeque::new();
        state.bytes = 0;
        true
    }

    /// Returns `true` if the stream has ended and its messages are dropped.
    pub(crate) fn is_forgotten(&self) -> bool {
        let state = self.state.lock();
        state.has_ended && state.events.is_empty()
    }

    /// Returns `true` if nothing follows.
    pub(crate) fn has_ended(&self) -> bool {
        self.state.lock().has_ended
    }

    /// Takes the reason for a refusal that has its own status.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.state.lock().refusal.take()
    }

    /// Returns the number of the first event that no reader has received.
    pub(crate) fn first_unread(&self) -> u64 {
        self.state.lock().unread
    }

    /// Returns the reason why a reader that continues with an event does not get all events from there on, or begins
    /// elsewhere.
    pub(crate) fn lost(&self, next: u64) -> Option<String> {
        let state = self.state.lock();
        let end = state.first + state.events.len() as u64;
        if next < state.first {
            Some(format!("{} of them are no longer here, since more came than are kept", state.first - next))
        } else if next > end {
            Some(format!("the stream has {end} events, and no event {next}"))
        } else {
            None
        }
    }

    /// Returns `true` if the stream has a reader.
    pub(crate) fn has_reader(&self) -> bool {
        self.state.lock().is_read
    }

    /// Waits for the beginning of an answer, for at most `patience` and then until admission is decided.
    pub(crate) async fn beginning(&self, patience: Duration) -> Beginning {
        let begun = |is_late: bool| {
            std::future::poll_fn(move |context| {
                let mut state = self.state.lock();
                let is_begun = state.has_ended || !state.events.is_empty() || state.first > 0;
                // After a refusal the answer follows immediately.
                if is_begun || is_late && !state.is_admitting && state.refusal.is_none() {
                    return Poll::Ready(());
                }
                state.beginning = Some(context.waker().clone());
                state.awaits_admission = is_late;
                Poll::Pending
            })
        };
        if timeout(patience, begun(false)).await.is_err() {
            // Once the stream begins, the status can no longer tell the client to try another server.
            let _ = timeout(ADMISSION_TIME, begun(true)).await;
        }
        let mut state = self.state.lock();
        match (state.has_ended, state.events.is_empty() && state.first == 0) {
            (true, true) => Beginning::Nothing,
            (true, false) if state.is_answer_alone && !self.keeps => {
                state.events.pop_front().map_or(Beginning::Nothing, Beginning::Answer)
            }
            (true, false) if state.is_answer_alone => Beginning::Answer(state.events[0].clone()),
            _ => Beginning::Events,
        }
    }

    /// Registers a reader, which replaces an earlier one, and returns its number.
    pub(crate) fn begin_reading(&self) -> u64 {
        let mut state = self.state.lock();
        state.reading += 1;
        state.is_read = true;
        state.waker.take().into_iter().for_each(Waker::wake);
        state.reading
    }

    /// Ends a reader.
    pub(crate) fn end_reading(&self, reading: u64) {
        let mut state = self.state.lock();
        state.is_read &= state.reading != reading;
    }

    /// Returns the next item for a reader.
    pub(crate) fn poll_next(&self, reading: u64, next: u64, context: &mut Context<'_>) -> Next {
        let mut state = self.state.lock();
        if state.reading != reading {
            return Next::End;
        }
        let next = next.clamp(state.first, state.first + state.events.len() as u64);
        state.unread = state.unread.max(next);
        let index = usize::try_from(next - state.first).unwrap_or(usize::MAX);
        let Some(event) = state.events.get(index).cloned() else {
            if state.has_ended {
                return Next::End;
            }
            state.waker = Some(context.waker().clone());
            return Next::Wait;
        };
        state.unread = state.unread.max(next + 1);
        if !self.keeps {
            state.drop_first(index + 1);
        }
        Next::Event(next, event)
    }
}

impl State {
    fn push(&mut self, line: Option<Bytes>) {
        if let Some(line) = line {
            self.bytes += line.len();
            self.events.push_back(line);
        }
        while self.events.len() > MAX_EVENTS || self.bytes > MAX_BYTES && self.events.len() > 1 {
            self.drop_first(1);
        }
        [self.waker.take(), self.beginning.take()].into_iter().flatten().for_each(Waker::wake);
    }

    fn drop_first(&mut self, count: usize) {
        for event in self.events.drain(..count) {
            self.bytes -= event.len();
            self.first += 1;
        }
    }
}

impl Channel for Stream {
    fn send(&self, line: &[u8]) {
        self.send_shared(&Bytes::copy_from_slice(line));
    }

    fn send_shared(&self, line: &Bytes) {
        let mut state = self.state.lock();
        if !state.has_ended {
            state.push(Some(line.clone()));
        }
    }

    fn send_later(&self, line: &[u8]) {
        self.send(line);
    }

    fn trace(&self) -> Option<Trace> {
        self.trace.get().copied()
    }

    fn denies(&self, denial: AccessDenial) {
        self.state.lock().refusal = Some(Refusal::Denied(denial));
    }

    fn admission(&self, admission: Admission) {
        let mut state = self.state.lock();
        state.is_admitting = admission == Admission::Pending;
        if admission == Admission::Refused {
            state.refusal = Some(Refusal::Unserved);
        }
        if admission == Admission::Granted && state.awaits_admission {
            state.beginning.take().into_iter().for_each(Waker::wake);
        }
    }

    fn exceeds(&self, retry_after: Duration) {
        self.state.lock().refusal = Some(Refusal::Exceeded(retry_after));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time for a woken waiter to run.
    const MOMENT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn an_answer_that_refuses_is_waited_for_after_the_decision() {
        let stream = Stream::passing();
        stream.admission(Admission::Pending);
        let mut beginning = std::pin::pin!(stream.beginning(Duration::ZERO));
        assert!(timeout(MOMENT, &mut beginning).await.is_err(), "it is not decided");
        stream.admission(Admission::Refused);
        assert!(timeout(MOMENT, &mut beginning).await.is_err(), "the answer has not come");
        stream.end(Some(Bytes::from_static(b"{}")));
        let begun = timeout(ADMISSION_TIME, beginning).await;
        assert!(matches!(begun, Ok(Beginning::Answer(line)) if *line == *b"{}"));
        assert!(matches!(stream.refusal(), Some(Refusal::Unserved)));
    }

    #[tokio::test]
    async fn a_request_that_is_served_begins_as_a_stream_once_that_is_decided() {
        let stream = Stream::passing();
        stream.admission(Admission::Pending);
        let mut beginning = std::pin::pin!(stream.beginning(Duration::ZERO));
        assert!(timeout(MOMENT, &mut beginning).await.is_err(), "it is not decided");
        stream.admission(Admission::Granted);
        assert!(matches!(timeout(ADMISSION_TIME, beginning).await, Ok(Beginning::Events)));
    }
}
