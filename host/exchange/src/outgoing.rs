//! Requests of this server to the client, in the revisions that have such.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use scorpiox_rpc::{Id, reply};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use scorpiox_executor::Cancel;

use crate::reply::Reply;

/// How often who waits is told that it goes on.
const NEWS_TIME: Duration = Duration::from_secs(15);
/// Longest text of a client's error that is repeated, in characters.
const MAX_ERROR_CHARS: usize = 300;

/// Random bytes of an id.
const ID_BYTES: usize = 16;
/// What ids of requests begin with, as those do not that a client's own counter gives.
const MARK: &str = "scorpiox-";
/// The same with what tells this process: an answer to another one, which asked the same client before or beside it, is never
/// taken for one to this.
static PREFIX: LazyLock<String> = LazyLock::new(|| format!("{MARK}{:x}-", RandomState::new().hash_one(())));

/// Whether a request with that id may be another process' of this program.
pub fn may_be_asked_elsewhere(id: &Id<'_>) -> bool {
    let id = id.as_json().strip_prefix('"').unwrap_or_default();
    id.starts_with(MARK) && !id.starts_with(&**PREFIX)
}

/// Requests that the client has not answered.
#[derive(Default)]
pub struct Outgoing {
    waiting: Mutex<HashMap<String, Sender<Answer>>>,
}

/// What the client answered; none where nobody wants an answer any more.
type Answer = Option<Result<Value, String>>;

/// Why the client's answer is of no use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// The call that asks is to stop.
    Cancelled,
    /// The client refused, or said what is no answer.
    Failed(String),
}

impl Outgoing {
    /// Asks the client, and waits as long as it takes; `news` is told now and then that it does.
    pub fn ask(
        &self,
        to: &Reply,
        method: &str,
        params: &impl Serialize,
        cancel: &Cancel,
        news: &dyn Fn(),
    ) -> Result<Value, Unanswered> {
        // Nobody who has seen one can tell the next one.
        let secret = scorpiox_seal::secret().map_err(Unanswered::Failed)?;
        let id = secret[..ID_BYTES].iter().fold(PREFIX.clone(), |id, byte| format!("{id}{byte:02x}"));
        let (answers, answer) = mpsc::channel();
        self.lock().insert(id.clone(), answers.clone());
        to.send(&reply::request(&id, method, params));
        // Whichever comes first: the answer, or that nobody wants it.
        let _watch = cancel.watch(move || drop(answers.send(None)));
        while !cancel.is_set() {
            match answer.recv_timeout(NEWS_TIME) {
                Ok(Some(answer)) => return answer.map_err(Unanswered::Failed),
                Ok(None) => {}
                Err(RecvTimeoutError::Timeout) => news(),
                // Not while the sender is watching.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if self.lock().remove(&id).is_some() {
            let params = json!({"requestId": id, "reason": "the call that asked was cancelled"});
            to.send(&reply::notification("notifications/cancelled", &params));
        }
        Err(Unanswered::Cancelled)
    }

    /// Takes the client's answer to a request; whether somebody waited for it.
    pub fn answered(&self, id: Option<&Id<'_>>, outcome: Result<&RawValue, &RawValue>) -> bool {
        let id = id.and_then(|id| serde_json::from_str::<String>(id.as_json()).ok());
        let Some(answers) = id.and_then(|id| self.lock().remove(&id)) else { return false };
        let answer = match outcome {
            Ok(result) => serde_json::from_str(result.get()).map_err(|error| error.to_string()),
            Err(error) => Err(error_text(error)),
        };
        // Who asked may have gone away meanwhile.
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
