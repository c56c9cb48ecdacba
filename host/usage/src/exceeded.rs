//! Limits that keep a call from beginning, and the answer to it.

use std::time::Duration;

use scorpiox_exchange::{Admission, Reply};
use scorpiox_mcp::RpcError;
use scorpiox_mcp::error::BUSY;
use scorpiox_records::Recording;
use scorpiox_rules::Source;
use serde_json::json;

/// A call that a limit leaves no room for.
const LIMIT: &str = "limit";

/// A limit that keeps a call from beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exceeded {
    /// A sentence that names the rule.
    pub why: String,
    /// The rule that decided.
    pub decided_by: Source,
    /// The time to wait before the next try.
    pub retry_after: Duration,
    /// It was used up. Else the store of this server cannot say what was used: another server may know.
    pub is_sure: bool,
}

impl Exceeded {
    /// Ends the recording of a call, or request, of this name; the answer to it. Where this server serves nothing it says so
    /// instead: the next server is asked then.
    pub fn answer(self, recording: Recording<'_>, name: &str, reply: &Reply) -> RpcError {
        let Self { why, decided_by, retry_after, is_sure } = self;
        let noted =
            recording.refuse(LIMIT, Some(reply), |uses| uses.denied("limits", name, &why, decided_by));
        if let Err(unserved) = noted {
            return unserved.into();
        }
        if is_sure {
            reply.exceeds(retry_after);
        } else {
            reply.admission(Admission::Refused);
        }
        RpcError::new(BUSY, why).with_data(json!({ "retryAfter": retry_after.as_secs() }))
    }
}
