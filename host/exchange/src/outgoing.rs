//! Requests of this server to the client, in revisions that support them.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use scorpiox_mcp::jsonrpc::{Id, reply};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use scorpiox_executor::Cancel;

use crate::reply::Reply;

/// Interval between progress reports while a request is pending.
const NEWS_TIME: Duration = Duration::from_secs(15);
/// Maximum length of a repeated client error in characters.
const MAX_ERROR_CHARS: usize = 300;

/// Number of random bytes in a request ID.
const ID_BYTES: usize = 16;
/// Prefix of all request IDs. The IDs of a client's own counter never start with it.
const MARK: &str = "scorpiox-";
/// Request ID prefix of this process. It prevents this process from accepting an answer to another process
/// that asked the same client.
static PREFIX: LazyLock<String> = LazyLock::new(|| format!("{MARK}{:x}-", RandomState::new().hash_one(())));

/// Returns `true` if this process, or another one of this program, can have sent a request with that ID.
pub fn may_be_asked(id: &Id<'_>) -> bool {
    id.as_json().strip_prefix('"').is_some_and(|id| id.starts_with(MARK))
}

/// Returns `true` if a request with that ID may belong to another process of this program.
pub fn may_be_asked_elsewhere(id: &Id<'_>) -> bool {
    let id = id.as_json().strip_prefix('"').unwrap_or_default();
    id.starts_with(MARK) && !id.starts_with(&**PREFIX)
}

/// Requests that the client has not answered.
#[derive(Default)]
pub struct Outgoing {
    waiting: Mutex<HashMap<String, Sender<Answer>>>,
}

/// Answer of the client; `None` if the caller does not want an answer anymore.
type Answer = Option<Result<Value, String>>;

/// Reason why there is no usable answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// The requesting call was cancelled.
    Cancelled,
    /// The client refused, or its answer is invalid.
    Failed(String),
}

impl Outgoing {
    /// Sends a request to the client and waits indefinitely for the answer. Calls `news` periodically while
    /// waiting.
    pub fn ask(
        &self,
        to: &Reply,
        method: &str,
        params: &impl Serialize,
        cancel: &Cancel,
        news: &dyn Fn(),
    ) -> Result<Value, Unanswered> {
        // Random IDs are unpredictable, even to an observer of earlier ones.
        let secret = crate::seal::secret().map_err(Unanswered::Failed)?;
        let id = secret[..ID_BYTES].iter().fold(PREFIX.clone(), |id, byte| format!("{id}{byte:02x}"));
        let (answers, answer) = mpsc::channel();
        self.lock().insert(id.clone(), answers.clone());
        to.send(&reply::request(&id, method, params));
        // Receives the answer or the cancellation, whichever comes first.
        let _watch = cancel.watch(move || drop(answers.send(None)));
        while !cancel.is_set() {
            match answer.recv_timeout(NEWS_TIME) {
                Ok(Some(answer)) => return answer.map_err(Unanswered::Failed),
                Ok(None) => {}
                Err(RecvTimeoutError::Timeout) => news(),
                // Cannot happen while the watch holds a sender.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if self.lock().remove(&id).is_some() {
            let params = json!({"requestId": id, "reason": "the call that asked was cancelled"});
            to.send(&reply::notification("notifications/cancelled", &params));
        }
        Err(Unanswered::Cancelled)
    }

    /// Delivers the client's answer to a request. Returns `true` if the request was pending.
    pub fn answered(&self, id: Option<&Id<'_>>, outcome: Result<&RawValue, &RawValue>) -> bool {
        let id = id.and_then(|id| serde_json::from_str::<String>(id.as_json()).ok());
        let Some(answers) = id.and_then(|id| self.lock().remove(&id)) else { return false };
        let answer = match outcome {
            Ok(result) => serde_json::from_str(result.get()).map_err(|error| error.to_string()),
            Err(error) => Err(error_text(error)),
        };
        // The requesting call may have ended in the meantime.
        let _ = answers.send(Some(answer));
        true
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Sender<Answer>>> {
        self.waiting.lock()
    }
}

fn error_text(error: &RawValue) -> String {
    let value: Value = serde_json::from_str(error.get()).unwrap_or_default();
    let text = value["message"].as_str().unwrap_or("it gave no reason");
    text.chars().filter(|c| !c.is_control()).take(MAX_ERROR_CHARS).collect()
}
