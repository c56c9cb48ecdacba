//! What is said to a client: the messages on the way to one answer, or those that nobody asked for.
//!
//! Writing never waits. A reader that falls behind loses notifications that are no longer new, and nothing else.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use scorpiox_access::AccessDenial;
use scorpiox_audit::Trace;
use scorpiox_server::{Admission, Channel};
use tokio::time::timeout;

use crate::kept::Stay;

/// Most messages, and bytes of messages, that wait for a reader or stay for one that comes again.
const MAX_EVENTS: usize = 256;
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The time for which an answer waits to begin while it is decided whether the request is served: a required export has 5 s, and
/// the machine may be busy.
const ADMISSION_TIME: Duration = Duration::from_secs(10);

/// Messages for a client, in their order.
#[derive(Default)]
pub(crate) struct Stream {
    state: Mutex<State>,
    /// Whether what was read stays, for a reader that comes again.
    keeps: bool,
    trace: OnceLock<Trace>,
    /// The room of its answer, where that stays.
    stay: OnceLock<Stay>,
}

#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // each becomes true by itself
struct State {
    events: VecDeque<Bytes>,
    /// The number of the first event that is still there.
    first: u64,
    bytes: usize,
    /// Nothing follows.
    has_ended: bool,
    /// Only the answer was said, and nothing before it.
    is_answer_alone: bool,
    /// It is decided at this moment whether the request is served at all.
    is_admitting: bool,
    /// True if a waiter for the beginning waits for that decision alone.
    awaits_admission: bool,
    /// The reason for which the answer refuses, where that has a status.
    refusal: Option<Refusal>,
    /// The number of the first event that no reader has had.
    unread: u64,
    /// Counts readers: of two, the later one goes on.
    reading: u64,
    is_read: bool,
    /// Wakes the reader.
    waker: Option<Waker>,
    /// Wakes whoever waits for the beginning: a reader that came later is another one.
    beginning: Option<Waker>,
}

/// Reasons to refuse a call that may be made by others, later, or elsewhere.
pub(crate) enum Refusal {
    /// Its principal may not make it.
    Denied(AccessDenial),
    /// A limit leaves no room for it: when to try again.
    Exceeded(Duration),
    /// This server serves nobody now: another one may.
    Unserved,
}

/// What comes next on a stream.
pub(crate) enum Next {
    /// An event with its number.
    Event(u64, Bytes),
    Wait,
    End,
}

/// How a request's answer begins.
pub(crate) enum Beginning {
    /// With all of it.
    Answer(Bytes),
    /// There is none.
    Nothing,
    /// With other messages, or it takes long.
    Events,
}

/// A reader that has not come yet.
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
    /// One whose events are gone once they are read.
    pub(crate) fn passing() -> Arc<Self> {
        Arc::default()
    }

    /// One that can be read again, as far as there is room.
    pub(crate) fn kept() -> Arc<Self> {
        Arc::new(Self { keeps: true, ..Self::default() })
    }

    /// Says which trace the request is part of.
    pub(crate) fn part_of(&self, trace: Trace) {
        let _ = self.trace.set(trace);
    }

    /// Says the answer, if there is one; nothing follows.
    pub(crate) fn end(&self, answer: Option<Vec<u8>>) {
        let mut state = self.state.lock();
        if state.has_ended {
            return;
        }
        state.has_ended = true;
        state.is_answer_alone = answer.is_some() && state.first == 0 && state.events.is_empty();
        state.push(answer.map(Bytes::from));
    }

    /// Takes the room of its answer, which is said next.
    pub(crate) fn stays(&self, stay: Stay) {
        let _ = self.stay.set(stay);
    }

    /// Whether it stays when it has been read.
    pub(crate) fn is_kept(&self) -> bool {
        self.keeps
    }

    /// How many bytes it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    /// Somebody waits for it, until what this returns is dropped.
    pub(crate) fn awaited(self: &Arc<Self>) -> Awaited {
        Awaited { reading: self.begin_reading(), stream: Arc::clone(self) }
    }

    /// Forgets what was said, where that is all and nobody reads it; whether it did.
    pub(crate) fn forget(&self) -> bool {
        let mut state = self.state.lock();
        if !state.has_ended || state.is_read {
            return false;
        }
        state.events = VecDeque::new();
        state.bytes = 0;
        true
    }

    /// Whether all is said, and nothing of it is there.
    pub(crate) fn is_forgotten(&self) -> bool {
        let state = self.state.lock();
        state.has_ended && state.events.is_empty()
    }

    /// Whether nothing follows.
    pub(crate) fn has_ended(&self) -> bool {
        self.state.lock().has_ended
    }

    /// Why the answer refuses a call, where that is a matter of who asks.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.state.lock().refusal.take()
    }

    /// The number of the first event that no reader has had.
    pub(crate) fn first_unread(&self) -> u64 {
        self.state.lock().unread
    }

    /// Whether somebody reads.
    pub(crate) fn has_reader(&self) -> bool {
        self.state.lock().is_read
    }

    /// Waits for the beginning of an answer, for so long.
    pub(crate) async fn beginning(&self, patience: Duration) -> Beginning {
        let begun = |is_late: bool| {
            std::future::poll_fn(move |context| {
                let mut state = self.state.lock();
                let is_begun = state.has_ended || !state.events.is_empty() || state.first > 0;
                // An answer that refuses follows the decision at once.
                if is_begun || is_late && !state.is_admitting && state.refusal.is_none() {
                    return Poll::Ready(());
                }
                state.beginning = Some(context.waker().clone());
                state.awaits_admission = is_late;
                Poll::Pending
            })
        };
        if timeout(patience, begun(false)).await.is_err() {
            // Once it is a stream, no status can say that another server is to be asked.
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

    /// A reader begins; one that was there before has read all that it will.
    pub(crate) fn begin_reading(&self) -> u64 {
        let mut state = self.state.lock();
        state.reading += 1;
        state.is_read = true;
        state.waker.take().into_iter().for_each(Waker::wake);
        state.reading
    }

    /// A reader ends.
    pub(crate) fn end_reading(&self, reading: u64) {
        let mut state = self.state.lock();
        state.is_read &= state.reading != reading;
    }

    /// What comes next for a reader.
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

    /// Long enough for a waiter that was woken to come back.
    const MOMENT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn an_answer_that_refuses_is_waited_for_after_the_decision() {
        let stream = Stream::passing();
        stream.admission(Admission::Pending);
        let mut beginning = std::pin::pin!(stream.beginning(Duration::ZERO));
        assert!(timeout(MOMENT, &mut beginning).await.is_err(), "it is not decided");
        stream.admission(Admission::Refused);
        assert!(timeout(MOMENT, &mut beginning).await.is_err(), "the answer has not come");
        stream.end(Some(b"{}".to_vec()));
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
