//! Exceeded limits, and the response to the caller.

use std::time::Duration;

use crate::records::Recording;
use scorpiox_exchange::{Admission, Reply};
use scorpiox_mcp::RpcError;
use scorpiox_mcp::error::BUSY;
use scorpiox_policy::rule::Source;
use serde_json::json;

/// Reason of a refusal due to a limit.
const LIMIT: &str = "limit";

/// Limit that prevents a call from starting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exceeded {
    /// Sentence that names the rule.
    pub why: String,
    /// Rule that decided.
    pub decided_by: Source,
    /// Delay before the next attempt.
    pub retry_after: Duration,
    /// `true` if the limit is used up; `false` if this server cannot read the usage from the store, but
    /// another server may.
    pub is_sure: bool,
}

impl Exceeded {
    /// Ends the recording of the call or request `name`, and returns the error response. If this server
    /// serves no calls, it reports that instead, so that the client tries the next server.
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
