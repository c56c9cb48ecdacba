//! Transport of the protocol: JSON messages, each terminated by a zero byte, in both directions of one
//! stream.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::browser::{BrowserError, MAX_DOCUMENT_BYTES};

/// Maximum size of a message in bytes: a document in which each character is escaped.
const MAX_MESSAGE_BYTES: u64 = 6 * MAX_DOCUMENT_BYTES as u64;
/// Interval between checks for cancellation.
const LOOK_TIME: Duration = Duration::from_millis(20);

/// A connection to a browser, shared by several pages.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    /// Serializes writes, so that messages do not interleave.
    writing: Mutex<()>,
    shared: Arc<Shared>,
    last_id: AtomicU64,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    gone: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    answers: HashMap<u64, Sender<Answer>>,
    events: HashMap<String, Sender<Event>>,
}

type Answer = Result<Value, String>;

/// An event of a page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub method: String,
    pub params: Value,
}

#[derive(Deserialize)]
struct Message<'a> {
    id: Option<u64>,
    method: Option<String>,
    #[serde(rename = "sessionId")]
    session: Option<String>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<ErrorMessage>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ErrorMessage {
    message: String,
}

impl Connection {
    /// Creates a connection over this end of a stream.
    pub(crate) fn new(stream: UnixStream) -> Result<Self, BrowserError> {
        let gone = |error: std::io::Error| BrowserError::Gone(error.to_string());
        let shared = Arc::<Shared>::default();
        let (reading, into) = (stream.try_clone().map_err(gone)?, Arc::clone(&shared));
        let read = move || {
            read(reading, &into);
            into.gone.store(true, Ordering::Release);
            // Waiting threads notice that their channels are closed.
            *into.lock() = Waiting::default();
        };
        thread::Builder::new().name("browser".to_owned()).spawn(read).map_err(gone)?;
        stream.set_write_timeout(Some(Duration::from_secs(10))).map_err(gone)?;
        Ok(Self { stream, writing: Mutex::default(), shared, last_id: AtomicU64::new(0) })
    }

    pub(crate) fn is_alive(&self) -> bool {
        !self.shared.gone.load(Ordering::Acquire)
    }

    /// Calls a method of a page's session or of the browser, and waits for its result.
    pub(crate) fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: &Value,
        until: Instant,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Value, BrowserError> {
        let (sender, answer) = mpsc::channel();
        let id = self.send(session, method, params, Some(sender))?;
        let answered = wait(&answer, until, stopped);
        self.shared.lock().answers.remove(&id);
        match answered? {
            Some(Ok(result)) => Ok(result),
            Some(Err(error)) => Err(BrowserError::Page(format!("{method}: {error}"))),
            None => Err(BrowserError::Gone(format!("it did not answer {method} in time"))),
        }
    }

    /// Calls a method and ignores its result.
    pub(crate) fn tell(&self, session: &str, method: &str, params: &Value) -> Result<(), BrowserError> {
        self.send(Some(session), method, params, None).map(drop)
    }

    fn send(
        &self,
        session: Option<&str>,
        method: &str,
        params: &Value,
        answer: Option<Sender<Answer>>,
    ) -> Result<u64, BrowserError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        if let Some(answer) = answer {
            self.shared.lock().answers.insert(id, answer);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        let one = self.writing.lock();
        let written = (&self.stream).write_all(&bytes);
        drop(one);
        if !self.is_alive() {
            return Err(BrowserError::Gone("it has ended".to_owned()));
        }
        written.map_err(|error| {
            // A message may have been sent partially, so that no other message can follow.
            let _ = self.stream.shutdown(Shutdown::Both);
            BrowserError::Gone(error.to_string())
        })?;
        Ok(id)
    }

    /// Subscribes to the future events of a page. [`Connection::forget`] ends the subscription.
    pub(crate) fn events(&self, session: &str) -> Receiver<Event> {
        let (sender, events) = mpsc::channel();
        self.shared.lock().events.insert(session.to_owned(), sender);
        events
    }

    pub(crate) fn forget(&self, session: &str) {
        self.shared.lock().events.remove(session);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Ends the reading thread, and makes the browser exit.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock()
    }
}

/// Waits for a value; `None` if the time is over.
pub(crate) fn wait<T>(
    from: &Receiver<T>,
    until: Instant,
    stopped: &dyn Fn() -> bool,
) -> Result<Option<T>, BrowserError> {
    loop {
        if stopped() {
            return Err(BrowserError::Cancelled);
        }
        let left = until.saturating_duration_since(Instant::now());
        match from.recv_timeout(left.min(LOOK_TIME)) {
            Ok(came) => return Ok(Some(came)),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(BrowserError::Gone("it has ended".to_owned()));
            }
        }
    }
}

/// Reads messages until the end of the stream or an invalid message.
fn read(stream: UnixStream, shared: &Shared) {
    let mut stream = BufReader::with_capacity(64 * 1024, stream);
    let mut message = Vec::new();
    loop {
        message.clear();
        match (&mut stream).take(MAX_MESSAGE_BYTES).read_until(0, &mut message) {
            Ok(_) if message.pop() == Some(0) => {}
            Ok(_) | Err(_) => return,
        }
        if let Err(error) = pass_on(&message, shared) {
            tracing::debug!("the browser said what is no message: {error}");
            return;
        }
    }
}

fn pass_on(message: &[u8], shared: &Shared) -> serde_json::Result<()> {
    let message: Message<'_> = serde_json::from_slice(message)?;
    let value = |raw: Option<&RawValue>| raw.map_or(Ok(Value::Null), |raw| serde_json::from_str(raw.get()));
    let mut waiting = shared.lock();
    if let Some(answer) = message.id.and_then(|id| waiting.answers.remove(&id)) {
        let result = match message.error {
            Some(error) => Err(error.message),
            None => Ok(value(message.result)?),
        };
        let _ = answer.send(result);
    } else if let (Some(method), Some(session)) = (message.method, message.session)
        && let Some(events) = waiting.events.get(&session)
    {
        // Fails if the receiver no longer waits.
        let _ = events.send(Event { method, params: value(message.params)? });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
