//! Requests of this server to the client, in the revisions that have such.

use std::collections::HashMap;
use std::io::{self, PipeWriter};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use scorpiox_rpc::{Id, Output, reply};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use scorpiox_executor::Cancel;

/// How often who waits is told that it goes on.
const NEWS_TIME: Duration = Duration::from_secs(15);
/// Longest text of a client's error that is repeated, in characters.
const MAX_ERROR_CHARS: usize = 300;

/// Requests that the client has not answered.
#[derive(Default)]
pub(crate) struct Outgoing {
    last: AtomicU64,
    waiting: Mutex<HashMap<String, Waiting>>,
}

struct Waiting {
    answer: Arc<Mutex<Option<Result<Value, String>>>>,
    /// Closed to wake who waits.
    _bell: PipeWriter,
}

/// Why the client's answer is of no use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// The call that asks is to stop.
    Cancelled,
    /// The client refused, or said what is no answer.
    Failed(String),
}

impl Outgoing {
    /// Asks the client, and waits as long as it takes; `news` is told now and then that it does.
    pub(crate) fn ask(
        &self,
        output: &Output,
        method: &str,
        params: &impl Serialize,
        cancel: &Cancel,
        news: &dyn Fn(),
    ) -> Result<Value, Unanswered> {
        // A string that no client's own counter gives.
        let id = format!("scorpiox-{}", self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let failed = |error: io::Error| Unanswered::Failed(error.to_string());
        let (rung, bell) = io::pipe().map_err(failed)?;
        let answer = Arc::<Mutex<Option<Result<Value, String>>>>::default();
        self.lock().insert(id.clone(), Waiting { answer: Arc::clone(&answer), _bell: bell });
        output.send(&reply::request(&id, method, params));
        while !cancel.is_set() {
            let mut polled = vec![PollFd::new(&rung, PollFlags::IN)];
            let bell = cancel.bell();
            polled.extend(bell.as_ref().map(|bell| PollFd::new(bell, PollFlags::IN)));
            let time = Timespec::try_from(NEWS_TIME).unwrap_or_default();
            if poll(&mut polled, Some(&time)).is_ok_and(|ready| ready == 0) {
                news();
            }
            if let Some(answer) = answer.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return answer.map_err(Unanswered::Failed);
            }
        }
        if self.lock().remove(&id).is_some() {
            let params = json!({"requestId": id, "reason": "the call that asked was cancelled"});
            output.send(&reply::notification("notifications/cancelled", &params));
        }
        Err(Unanswered::Cancelled)
    }

    /// Takes the client's answer to a request; whether somebody waited for it.
    pub(crate) fn answered(&self, id: Option<&Id<'_>>, outcome: Result<&RawValue, &RawValue>) -> bool {
        let id = id.and_then(|id| serde_json::from_str::<String>(id.as_json()).ok());
        let Some(waiting) = id.and_then(|id| self.lock().remove(&id)) else { return false };
        let answer = match outcome {
            Ok(result) => serde_json::from_str(result.get()).map_err(|error| error.to_string()),
            Err(error) => Err(error_text(error)),
        };
        *waiting.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        true
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn error_text(error: &RawValue) -> String {
    let value: Value = serde_json::from_str(error.get()).unwrap_or_default();
    let text = value["message"].as_str().unwrap_or("it gave no reason");
    text.chars().filter(|c| !c.is_control()).take(MAX_ERROR_CHARS).collect()
}
