//! Telling the client how far a request is.

use std::sync::Arc;

use parking_lot::Mutex;
use scorpiox_rpc::reply;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::reply::Reply;
use scorpiox_mcp::Revision;

/// Longest message, in characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// Progress of one request. Silent when the client did not ask for it, and after the
/// request was answered.
#[derive(Clone)]
pub struct Progress(Option<Arc<Reporter>>);

struct Reporter {
    reply: Reply,
    token: Box<RawValue>,
    with_message: bool,
    /// How many were sent, which rises by one each; `None` after the answer.
    sent: Mutex<Option<u64>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    progress_token: &'a RawValue,
    progress: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Progress {
    /// Progress of a request that asked with `token`, or of one that did not ask.
    pub fn new(reply: &Reply, revision: Revision, token: Option<&RawValue>) -> Self {
        Self(token.map(|token| {
            Arc::new(Reporter {
                reply: Arc::clone(reply),
                token: token.to_owned(),
                with_message: revision.features().progress_message,
                sent: Mutex::new(Some(0)),
            })
        }))
    }

    /// Whether the client asked.
    pub fn is_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Says what goes on.
    pub fn report(&self, message: &str) {
        let Some(reporter) = &self.0 else { return };
        let mut sent = reporter.sent.lock();
        let Some(count) = sent.as_mut() else { return };
        *count += 1;
        let message = scorpiox_text::clean(message).chars().take(MAX_MESSAGE_CHARS).collect();
        let params = Params {
            progress_token: &reporter.token,
            progress: *count,
            message: reporter.with_message.then_some(message),
        };
        // Sent under the lock: the answer cannot overtake it.
        reporter.reply.send(&reply::notification("notifications/progress", &params));
    }

    /// The request is about to be answered; nothing may follow.
    pub fn end(&self) {
        if let Some(reporter) = &self.0 {
            *reporter.sent.lock() = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scorpiox_rpc::{Output, memory};
    use std::io::Read;

    #[test]
    fn progress_rises_and_ends_with_the_answer() {
        let (writer, mut reader) = memory::pipe(10_000);
        let output: Reply = Arc::new(Output::new(writer));
        let token = RawValue::from_string("\"t\"".to_owned()).expect("JSON");
        let progress = Progress::new(&output, Revision::V2025_03_26, Some(&token));
        progress.report("one\x07");
        progress.report("two");
        progress.end();
        progress.report("three");
        Progress::new(&output, Revision::V2025_03_26, None).report("nobody asked");
        Progress::new(&output, Revision::V2024_11_05, Some(&token)).report("no message yet");
        drop((progress, output));
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("read");
        let line = |rest: &str| {
            format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":\"t\",{rest}}}}}\n"
            )
        };
        let expected = line("\"progress\":1,\"message\":\"one\"")
            + &line("\"progress\":2,\"message\":\"two\"")
            + &line("\"progress\":1");
        assert_eq!(text, expected);
    }
}
