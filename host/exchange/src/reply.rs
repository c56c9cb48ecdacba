//! The channel for messages to a client. A transport implements it; the server does not depend on a specific
//! transport.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use scorpiox_audit::Trace;
use scorpiox_mcp::jsonrpc::Output;
use scorpiox_policy::access::AccessDenial;

/// Sends complete JSON-RPC messages to one client, in order. Each message is a line with its line feed.
pub trait Channel: Send + Sync {
    /// Sends a message immediately, together with all pending ones.
    fn send(&self, line: &[u8]);
    /// Sends a message that is shared with other clients. An implementation that queues it need not copy it.
    fn send_shared(&self, line: &Bytes) {
        self.send(line);
    }
    /// Sends a message before the transport waits for input.
    fn send_later(&self, line: &[u8]);
    /// Announces that the next answer denies a call to its principal, so that a transport can set a matching
    /// status.
    fn denies(&self, _denial: AccessDenial) {}
    /// Announces that the next answer refuses a call because of a limit, and when to retry.
    fn exceeds(&self, _retry_after: Duration) {}
    /// Reports the admission state of the request, so that a transport can set a matching status.
    fn admission(&self, _admission: Admission) {}
    /// Returns the trace of the request, if the transport knows it.
    fn trace(&self) -> Option<Trace> {
        None
    }
}

/// Admission state of a request: the decision whether it is served at all, for any sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The decision is pending.
    Pending,
    /// The request is served.
    Granted,
    /// This server currently serves no requests. Nothing ran, and another server may serve the request.
    Refused,
}

/// Channel for the messages of one request, or for the unsolicited messages of a session.
pub type Reply = Arc<dyn Channel>;

impl Channel for Output {
    fn send(&self, line: &[u8]) {
        Output::send(self, line);
    }

    fn send_later(&self, line: &[u8]) {
        Output::send_later(self, line);
    }
}
