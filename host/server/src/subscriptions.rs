//! `subscriptions/listen` (2026-07-28): requests that stay open until the client cancels them or the server
//! shuts down.
//!
//! Clients can subscribe to list changes and to changes of plugin resources. The acknowledgment omits
//! everything else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use scorpiox_executor::Reason;
use scorpiox_mcp::jsonrpc::{Id, reply};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::inflight::{InFlight, Ticket};
use super::list_changed::{LISTS, PerList};
use super::reply::Reply;
use scorpiox_capabilities::notices::List;
use scorpiox_exchange::news::RESOURCE_UPDATED;
use scorpiox_mcp::result::Enveloped;
use scorpiox_mcp::{Params, Revision, RpcError};

/// Maximum number of open subscriptions.
const MAX_OPEN: usize = 64;

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The open subscriptions.
#[derive(Default)]
pub(crate) struct Subscriptions {
    open: Mutex<Vec<Subscription>>,
    /// Number of subscriptions to each list. Separate, because `open` is locked while the client is written
    /// to.
    want_lists: PerList<AtomicUsize>,
}

struct Subscription {
    id: Id<'static>,
    /// Receives the notifications and the final answer.
    reply: Reply,
    ticket: Ticket,
    wanted: Wanted,
}

/// Maximum number of resources in a subscription.
const MAX_RESOURCES: usize = 256;

/// The existing lists and resources that a client subscribes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_excessive_bools)] // the protocol's members
pub(crate) struct Wanted {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_subscriptions: Vec<String>,
}

impl Wanted {
    /// Parses the parameters. `serves` tells which resources exist and can change.
    pub(crate) fn of(params: &Params<'_>, serves: impl Fn(&str) -> bool) -> Result<Self, RpcError> {
        let filter = params.object("notifications")?.unwrap_or_default();
        let flag = |name| Ok::<_, RpcError>(filter.optional(name, "true or false")?.unwrap_or(false));
        let uris = filter.optional::<Vec<String>>("resourceSubscriptions", "a list of addresses")?;
        let uris = uris.unwrap_or_default();
        if uris.len() > MAX_RESOURCES {
            return Err(RpcError::invalid_params(format!(
                "resourceSubscriptions has {} addresses; the limit is {MAX_RESOURCES}",
                uris.len()
            )));
        }
        Ok(Self {
            tools_list_changed: flag("toolsListChanged")?,
            prompts_list_changed: flag("promptsListChanged")?,
            resources_list_changed: flag("resourcesListChanged")?,
            resource_subscriptions: uris.into_iter().filter(|uri| serves(uri)).collect(),
        })
    }

    fn list(&self, list: List) -> bool {
        match list {
            List::Tools => self.tools_list_changed,
            List::Prompts => self.prompts_list_changed,
            List::Resources => self.resources_list_changed,
        }
    }
}

impl Subscriptions {
    /// Acknowledges and stores a subscription. Returns the ticket with an error.
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

    /// Removes the subscriptions that the client cancelled.
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
        for (list, want) in LISTS.into_iter().zip(&self.want_lists) {
            let wanting = open.iter().filter(|subscription| subscription.wanted.list(list));
            want.store(wanting.count(), Ordering::Release);
        }
    }

    /// Returns `true` if a subscription includes changes of this list.
    pub(crate) fn want(&self, list: List) -> bool {
        self.want_lists[list as usize].load(Ordering::Acquire) > 0
    }

    /// Returns `true` if a subscription includes changes of any list.
    pub(crate) fn want_any(&self) -> bool {
        LISTS.into_iter().any(|list| self.want(list))
    }

    /// Notifies the subscriptions to a list that it has changed.
    pub(crate) fn tell_list_changed(&self, list: List) {
        self.tell(|wanted| wanted.list(list), list.notification(), &json!({}));
    }

    /// Notifies the subscriptions to a resource that it has changed.
    pub(crate) fn tell_resource_updated(&self, uri: &str) {
        let wants = |wanted: &Wanted| wanted.resource_subscriptions.iter().any(|own| own == uri);
        self.tell(wants, RESOURCE_UPDATED, &json!({ "uri": uri }));
    }

    fn tell(&self, wants: impl Fn(&Wanted) -> bool, method: &str, params: &Value) {
        let open = self.lock();
        let wanting = open.iter().filter(|subscription| wants(&subscription.wanted));
        let told: Vec<_> =
            wanting.map(|subscription| (raw(&subscription.id), Arc::clone(&subscription.reply))).collect();
        drop(open);
        for (id, reply) in told {
            let mut params = params.clone();
            params["_meta"] = json!({ SUBSCRIPTION_ID: id });
            reply.send(&reply::notification(method, &params));
        }
    }

    /// Answers all open subscriptions, because the server shuts down.
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
