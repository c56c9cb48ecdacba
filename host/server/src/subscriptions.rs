//! `subscriptions/listen` (2026-07-28): requests that stay open until the client cancels
//! them or the server ends.
//!
//! What can be subscribed to is `toolsListChanged`; the acknowledgement leaves out all else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use scorpiox_executor::Reason;
use scorpiox_rpc::{Id, reply};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::inflight::{InFlight, Ticket};
use super::list_changed::TOOLS_LIST_CHANGED;
use super::reply::Reply;
use scorpiox_mcp::result::Enveloped;
use scorpiox_mcp::{Params, Revision, RpcError};

/// Most subscriptions that are open at once.
const MAX_OPEN: usize = 64;

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The open subscriptions.
#[derive(Default)]
pub(crate) struct Subscriptions {
    open: Mutex<Vec<Subscription>>,
    /// How many want to know of changed lists of tools. Apart, since the other is locked while the
    /// client is written to.
    want_tools: AtomicUsize,
}

struct Subscription {
    id: Id<'static>,
    /// Where the client is told, and answered in the end.
    reply: Reply,
    ticket: Ticket,
    wanted: Wanted,
}

/// What a client subscribes to, of what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wanted {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
}

impl Wanted {
    pub(crate) fn of(params: &Params<'_>) -> Result<Self, RpcError> {
        let filter = params.object("notifications")?.unwrap_or_default();
        let tools_list_changed = filter.optional("toolsListChanged", "true or false")?.unwrap_or(false);
        Ok(Self { tools_list_changed })
    }
}

impl Subscriptions {
    /// Acknowledges a subscription and keeps it; gives the ticket back with an error.
    #[allow(clippy::result_large_err, reason = "locks are large on macOS")]
    pub(crate) fn open(
        &self,
        id: &Id<'_>,
        wanted: Wanted,
        ticket: Ticket,
        reply: &Reply,
    ) -> Result<(), (Ticket, RpcError)> {
        let mut open = self.lock();
        if open.len() >= MAX_OPEN {
            let error = RpcError::invalid_request(format!("at most {MAX_OPEN} subscriptions can be open"));
            return Err((ticket, error));
        }
        let params = json!({ "_meta": { SUBSCRIPTION_ID: raw(id) }, "notifications": wanted });
        reply.send(&reply::notification("notifications/subscriptions/acknowledged", &params));
        open.push(Subscription { id: id.clone().into_owned(), reply: Arc::clone(reply), ticket, wanted });
        self.count(&open);
        Ok(())
    }

    /// Forgets the subscriptions that the client cancelled.
    pub(crate) fn sweep(&self, inflight: &InFlight) {
        let mut open = self.lock();
        open.retain(|Subscription { ticket, .. }| {
            let keep = ticket.cancel.reason() != Some(Reason::Client);
            if !keep {
                inflight.finish(ticket);
            }
            keep
        });
        self.count(&open);
    }

    fn count(&self, open: &[Subscription]) {
        let wanting = open.iter().filter(|subscription| subscription.wanted.tools_list_changed);
        self.want_tools.store(wanting.count(), Ordering::Release);
    }

    /// Whether anybody is to be told that the list of tools has changed.
    pub(crate) fn want_tools_list_changed(&self) -> bool {
        self.want_tools.load(Ordering::Acquire) > 0
    }

    /// Tells all who want to know that the list of tools has changed.
    pub(crate) fn tell_tools_list_changed(&self) {
        let open = self.lock();
        let wanting = open.iter().filter(|subscription| subscription.wanted.tools_list_changed);
        let told: Vec<_> =
            wanting.map(|subscription| (raw(&subscription.id), Arc::clone(&subscription.reply))).collect();
        drop(open);
        for (id, reply) in told {
            let params = json!({ "_meta": { SUBSCRIPTION_ID: id } });
            reply.send(&reply::notification(TOOLS_LIST_CHANGED, &params));
        }
    }

    /// Answers all that are open: the server ends.
    pub(crate) fn close(&self, inflight: &InFlight) {
        for Subscription { id, ticket, reply, .. } in self.lock().drain(..) {
            if inflight.finish(&ticket) {
                reply.send_later(&reply::result(&id, &closed(&id)));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Subscription>> {
        self.open.lock()
    }
}

fn closed(id: &Id<'_>) -> Value {
    let mut result = json!(Enveloped::complete(Revision::V2026_07_28, json!({})));
    result["_meta"][SUBSCRIPTION_ID] = raw(id);
    result
}

fn raw(id: &Id<'_>) -> Value {
    serde_json::from_str::<Box<RawValue>>(id.as_json()).map_or(Value::Null, |raw| json!(raw))
}
