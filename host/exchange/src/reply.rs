//! Where what a client is told goes. A transport makes it; the server does not know which one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use scorpiox_access::AccessDenial;
use scorpiox_audit::Trace;
use scorpiox_rpc::Output;

/// Takes whole JSON-RPC messages for one client, each a line with its line feed, and keeps their order.
pub trait Channel: Send + Sync {
    /// Sends a message now, with all that waited.
    fn send(&self, line: &[u8]);
    /// Sends a message that goes to others, too: what keeps it for later need not copy it.
    fn send_shared(&self, line: &Bytes) {
        self.send(line);
    }
    /// Sends a message soon: before the transport waits for anything.
    fn send_later(&self, line: &[u8]);
    /// The answer that follows refuses a call that its principal may not make: a transport may have a status for that.
    fn denies(&self, _denial: AccessDenial) {}
    /// The answer that follows refuses a call that a limit leaves no room for: when to try again.
    fn exceeds(&self, _retry_after: Duration) {}
    /// Says how far the decision is whether the request is served at all: a transport may have a status for that.
    fn admission(&self, _admission: Admission) {}
    /// The trace that the request is part of, where the transport was told of one.
    fn trace(&self) -> Option<Trace> {
        None
    }
}

/// The state of the decision about whether a request is served at all, whoever sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is waited for.
    Pending,
    /// The request is served.
    Granted,
    /// This server serves no request now: nothing of it ran, and another server may serve it.
    Refused,
}

/// The channel of one request's answer and of what is said before it, or of what a session is told unasked.
pub type Reply = Arc<dyn Channel>;

impl Channel for Output {
    fn send(&self, line: &[u8]) {
        Output::send(self, line);
    }

    fn send_later(&self, line: &[u8]) {
        Output::send_later(self, line);
    }
}
