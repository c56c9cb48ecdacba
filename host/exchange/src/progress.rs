//! Progress notifications of a request.

use std::sync::Arc;

use parking_lot::Mutex;
use scorpiox_mcp::jsonrpc::reply;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::reply::Reply;
use scorpiox_mcp::Revision;

/// Maximum length of a message in characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// Progress of one request. Sends nothing if the client did not ask for it, or after the request was
/// answered.
#[derive(Clone)]
pub struct Progress(Option<Arc<Reporter>>);

struct Reporter {
    reply: Reply,
    token: Box<RawValue>,
    with_message: bool,
    /// Number of notifications sent, which is also the progress value; `None` after the answer.
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
    /// Creates the progress of a request with an optional progress token.
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

    /// Returns `true` if the client asked for progress.
    pub fn is_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Sends a progress message.
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
        // Sent under the lock, so that the answer cannot overtake it.
        reporter.reply.send(&reply::notification("notifications/progress", &params));
    }

    /// Stops all further notifications, because the request is about to be answered.
    pub fn end(&self) {
        if let Some(reporter) = &self.0 {
            *reporter.sent.lock() = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scorpiox_mcp::jsonrpc::{Output, memory};
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
