//! Requests in flight.
//!
//! Invariant: each request gets exactly one answer, and a request that the client cancelled gets none. A
//! [`Ticket`] is the permission to answer; finishing it tells whether the answer must be sent.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use scorpiox_mcp::jsonrpc::Id;

use scorpiox_executor::{Cancel, Reason};

/// The requests in flight.
#[derive(Debug, Default)]
pub struct InFlight(Mutex<Calls>);

#[derive(Debug, Default)]
struct Calls {
    by_id: HashMap<String, Call>,
    /// Reason to stop, once the client has disconnected or the server shuts down. New requests are cancelled
    /// immediately.
    stopping: Option<Reason>,
}

#[derive(Debug)]
struct Call {
    cancel: Cancel,
    /// Deadline of the request.
    until: Option<Instant>,
    /// `true` if the request stays open without being processed, such as a subscription.
    stays_open: bool,
}

/// Permission to answer one request.
#[derive(Debug)]
pub struct Ticket {
    key: String,
    /// Cancellation flag of the request.
    pub cancel: Cancel,
    /// Time of arrival.
    pub since: Instant,
    /// `true` if the request must be answered. Empty until that is decided.
    answered: OnceLock<bool>,
}

impl InFlight {
    /// Registers a request. Returns `None` if a request with the same ID is in flight.
    pub fn begin(&self, id: &Id<'_>) -> Option<Ticket> {
        let key = key(id);
        let cancel = Cancel::default();
        let mut calls = self.lock();
        if calls.by_id.contains_key(&key) {
            return None;
        }
        if let Some(reason) = calls.stopping {
            cancel.set(reason);
        }
        calls.by_id.insert(key.clone(), Call { cancel: cancel.clone(), until: None, stays_open: false });
        Some(Ticket { key, cancel, since: Instant::now(), answered: OnceLock::new() })
    }

    /// Removes the request, and returns `true` if it must be answered. The decision is final: a later cancel
    /// has no effect.
    pub fn finish(&self, ticket: &Ticket) -> bool {
        *ticket.answered.get_or_init(|| {
            self.lock().by_id.remove(&ticket.key);
            ticket.cancel.reason() != Some(Reason::Client)
        })
    }

    /// Cancels a request. Returns `true` if it is in flight.
    pub fn cancel(&self, id: &Id<'_>) -> bool {
        let calls = self.lock();
        let found = calls.by_id.get(&key(id));
        if let Some(call) = found {
            call.cancel.set(Reason::Client);
        }
        found.is_some()
    }

    /// Marks a request as open but not being processed.
    pub fn keep_open(&self, ticket: &Ticket) {
        if let Some(call) = self.lock().by_id.get_mut(&ticket.key) {
            call.stays_open = true;
        }
    }

    /// Returns `true` if no request is being processed.
    pub fn is_idle(&self) -> bool {
        self.lock().by_id.values().all(|call| call.stays_open)
    }

    /// Sets the deadline of a request; see [`Self::end_overdue`].
    pub fn bound(&self, ticket: &Ticket, until: Instant) {
        if let Some(call) = self.lock().by_id.get_mut(&ticket.key) {
            call.until = Some(until);
        }
    }

    /// Removes the deadline of a request.
    pub fn unbound(&self, ticket: &Ticket) {
        if let Some(call) = self.lock().by_id.get_mut(&ticket.key) {
            call.until = None;
        }
    }

    /// Cancels requests past their deadline. They are still answered.
    pub fn end_overdue(&self) {
        let calls = self.lock();
        let overdue = |call: &&Call| call.until.is_some_and(|until| until <= Instant::now());
        for call in calls.by_id.values().filter(overdue) {
            call.cancel.set(Reason::Overdue);
        }
    }

    /// Cancels all requests, because the client has disconnected. Requests registered later are cancelled,
    /// too.
    pub fn abandon_all(&self) {
        self.stop(Reason::Client);
    }

    /// Returns `true` if every request is answered.
    pub fn is_empty(&self) -> bool {
        self.lock().by_id.is_empty()
    }

    /// Stops all requests, because the server shuts down.
    pub fn stop_all(&self) {
        self.stop(Reason::Shutdown);
    }

    fn stop(&self, reason: Reason) {
        let mut calls = self.lock();
        // The first reason stays, as it does for each call.
        calls.stopping.get_or_insert(reason);
        calls.by_id.values().for_each(|call| call.cancel.set(reason));
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock()
    }
}

/// Normalizes an ID, so that all of its spellings are equal. A string starts with a quote and a number never
/// does, so they cannot collide.
fn key(id: &Id<'_>) -> String {
    let json = id.as_json();
    if !json.contains('\\') {
        return json.to_owned();
    }
    match serde_json::from_str::<String>(json) {
        Ok(text) => format!("\"{text}\""),
        Err(_) => json.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(json: &str) -> Id<'_> {
        Id::from_json(json).expect("id")
    }

    #[test]
    fn a_request_is_answered_once_and_its_id_is_free_again() {
        let calls = InFlight::default();
        let ticket = calls.begin(&id("1")).expect("free");
        assert!(calls.begin(&id("1")).is_none());
        assert!(calls.begin(&id("\"1\"")).is_some());
        assert!(calls.finish(&ticket));
        assert!(calls.begin(&id("1")).is_some());
    }

    #[test]
    fn a_cancelled_request_is_not_answered() {
        let calls = InFlight::default();
        let ticket = calls.begin(&id("\"\\u0061\"")).expect("free");
        assert!(calls.cancel(&id("\"a\"")), "the same id in another spelling");
        assert!(!calls.finish(&ticket));
        assert!(!calls.cancel(&id("\"a\"")));
    }

    #[test]
    fn a_request_that_is_overdue_is_ended_and_answered() {
        let calls = InFlight::default();
        let (bound, other) = (calls.begin(&id("1")).expect("free"), calls.begin(&id("2")).expect("free"));
        calls.bound(&bound, Instant::now());
        calls.end_overdue();
        assert_eq!((bound.cancel.reason(), other.cancel.reason()), (Some(Reason::Overdue), None));
        assert!(calls.finish(&bound));
    }

    #[test]
    fn requests_stopped_by_the_end_of_the_server_are_answered() {
        let calls = InFlight::default();
        let ticket = calls.begin(&id("1")).expect("free");
        calls.stop_all();
        assert!(ticket.cancel.is_set());
        assert!(calls.finish(&ticket));
        assert!(calls.begin(&id("2")).expect("free").cancel.is_set(), "too late to begin");
    }

    #[test]
    fn what_a_client_sent_that_is_gone_is_cancelled_also_where_it_is_registered_later() {
        let calls = InFlight::default();
        let before = calls.begin(&id("1")).expect("free");
        calls.abandon_all();
        calls.stop_all();
        let after = calls.begin(&id("2")).expect("free");
        for ticket in [before, after] {
            assert_eq!(ticket.cancel.reason(), Some(Reason::Client));
            assert!(!calls.finish(&ticket), "nobody reads an answer");
        }
        assert!(calls.is_empty());
    }
}
