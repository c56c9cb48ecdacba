//! `subscriptions/listen` (2026-07-28): requests that stay open until the client cancels
//! them or the server ends.
//!
//! The server has no notifications to subscribe to yet; it acknowledges each request with
//! nothing honoured, and keeps it open as the revision wants.

use std::sync::{Mutex, PoisonError};

use scorpiox_rpc::{Id, Output, reply};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::inflight::{InFlight, Ticket};
use crate::cancel::Reason;
use crate::mcp::result::Surrounded;
use crate::mcp::{Revision, RpcError};

/// Most subscriptions that are open at once.
const MAX_OPEN: usize = 64;

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The open subscriptions.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(Mutex<Vec<(Id<'static>, Ticket)>>);

impl Subscriptions {
    /// Acknowledges a subscription and keeps it; gives the ticket back with an error.
    pub(crate) fn open(
        &self,
        id: &Id<'_>,
        ticket: Ticket,
        output: &Output,
    ) -> Result<(), (Ticket, RpcError)> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MAX_OPEN {
            let error = RpcError::invalid_request(format!("at most {MAX_OPEN} subscriptions can be open"));
            return Err((ticket, error));
        }
        let params = json!({ "_meta": { SUBSCRIPTION_ID: raw(id) }, "notifications": {} });
        output.send(&reply::notification("notifications/subscriptions/acknowledged", &params));
        open.push((id.clone().into_owned(), ticket));
        Ok(())
    }

    /// Forgets the subscriptions that the client cancelled.
    pub(crate) fn sweep(&self, inflight: &InFlight) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, ticket)| {
            let keep = ticket.cancel.reason() != Some(Reason::Client);
            if !keep {
                inflight.finish(ticket);
            }
            keep
        });
    }

    /// Answers all that are open: the server ends.
    pub(crate) fn close(&self, inflight: &InFlight, output: &Output) {
        for (id, ticket) in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if inflight.finish(&ticket) {
                output.send_later(&reply::result(&id, &closed(&id)));
            }
        }
    }
}

fn closed(id: &Id<'_>) -> Value {
    let mut result = json!(Surrounded::complete(Revision::V2026_07_28, json!({})));
    result["_meta"][SUBSCRIPTION_ID] = raw(id);
    result
}

fn raw(id: &Id<'_>) -> Value {
    serde_json::from_str::<Box<RawValue>>(id.as_json()).map_or(Value::Null, |raw| json!(raw))
}
