//! Handles a single message.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use scorpiox_audit::{Outcome, Trace, Uses};
use scorpiox_executor::Reason;
use scorpiox_mcp::jsonrpc::{Id, Members, Message};

use super::dispatch::{self, Route};
use super::inflight::Ticket;
use super::progress::Progress;
use super::read_before;
use super::reply::Reply;
use super::request::Request;
use super::scope::{Answer, Scope};
use super::session::Session;
use super::subscriptions::Wanted;
use super::tool_call::{INVALID, record_unrun};
use scorpiox_mcp::error::BUSY;
use scorpiox_mcp::{Params, RpcError};

/// Next step for a message.
#[allow(clippy::large_enum_variant)] // destructured immediately, never stored
pub enum Step<'a> {
    /// Nothing: the message is handled and has no answer.
    Nothing,
    /// Send this answer.
    Answer(Vec<u8>),
    /// Run this request, which may take long, and send its result. A caller that runs it later from its
    /// message keeps only the ticket.
    Work(Work<'a>, Ticket),
}

/// A request that may take long.
pub struct Work<'a> {
    request: Request<'a>,
    handler: dispatch::Slow,
}

/// Outcome of a call that is refused because the server is at capacity.
const BUSY_CALL: Outcome = Outcome::Refused("server-busy");

impl Session {
    /// Handles one message of the client. Messages that precede its answer are sent to `reply`.
    pub fn step<'a>(&self, message: Message<'a>, reply: &Reply) -> Step<'a> {
        match message {
            Message::Request { id, method, params } => self.request(&id, &method, params, reply),
            Message::Notification { method, params } => {
                self.notification(&method, params);
                Step::Nothing
            }
            Message::Response { id, outcome } => {
                if !self.outgoing.answered(id.as_ref(), outcome) {
                    tracing::debug!("a response to no request of ours");
                }
                Step::Nothing
            }
        }
    }

    fn request<'a>(&self, id: &Id<'a>, method: &str, params: Option<Members<'a>>, reply: &Reply) -> Step<'a> {
        let request = match dispatch::read(id.clone(), method, params, self.facts()) {
            Ok(request) => request,
            Err(error) => {
                self.refuse_unread(method, None);
                return Step::Answer(error.reply(id));
            }
        };
        if !request.revision.features().handshake {
            self.workspace.callbacks.start();
        }
        let Some(route) = dispatch::route(method, request.revision) else {
            return Step::Answer(RpcError::method_not_found(method).reply(id));
        };
        if let Route::Quick(handler) = route {
            let answer = guarded(|| handler(self, &request));
            return Step::Answer(answer.unwrap_or_else(|error| error.reply(id)));
        }
        let Some(ticket) = self.inflight.begin(id) else {
            record_unrun(self, &request, reply, Outcome::Refused(INVALID));
            let error = RpcError::invalid_request("a request with this id is still in flight");
            return Step::Answer(error.reply(id));
        };
        match route {
            Route::Slow(handler) => Step::Work(Work { request, handler }, ticket),
            _ => self.listen(&request, ticket, reply),
        }
    }

    fn listen<'a>(&self, request: &Request<'a>, ticket: Ticket, reply: &Reply) -> Step<'a> {
        let id = &request.id;
        let workspace = self.workspace();
        let serves = |uri: &str| self.access(&workspace).offering_at(uri, None).is_some();
        self.inflight.keep_open(&ticket);
        let opened = match Wanted::of(&request.params, serves) {
            Ok(wanted) => self.subscriptions.open(id, wanted, ticket, reply),
            Err(error) => Err((ticket, error)),
        };
        match opened {
            Ok(()) => {
                self.list_changed.stir();
                Step::Nothing
            }
            Err((ticket, error)) => {
                self.inflight.finish(&ticket);
                Step::Answer(error.reply(id))
            }
        }
    }

    fn notification(&self, method: &str, params: Option<Members<'_>>) {
        match method {
            "notifications/initialized" => {
                self.update(|facts| facts.ready = facts.revision.is_some());
                self.workspace.callbacks.start();
                self.list_changed.stir();
            }
            "notifications/cancelled" => _ = self.cancel(params),
            other => tracing::debug!("notification {other:?} is ignored"),
        }
    }

    /// Cancels the request that the parameters of a cancel notification name. Returns `true` if it is in
    /// flight here.
    pub fn cancel(&self, params: Option<Members<'_>>) -> bool {
        let params = Params::new(params).unwrap_or_default();
        let id = params.raw("requestId").and_then(|raw| Id::from_json(raw.get()).ok());
        let is_here = id.is_some_and(|id| self.inflight.cancel(&id));
        if is_here {
            self.subscriptions.sweep(&self.inflight);
        }
        is_here
    }

    /// Runs a request. Returns `None` if it must not be answered.
    pub fn perform(&self, work: &Work<'_>, ticket: &Ticket, reply: &Reply) -> Option<Vec<u8>> {
        let Work { request, handler } = work;
        let progress = Progress::new(reply, request.revision, request.meta.progress_token);
        let sender = self.sender(request);
        let running =
            self.workspace.begin_request(&ticket.cancel, self.principal_key(), &sender, |operator| {
                self.circumstances(request, operator)
            });
        let workspace = &running.workspace;
        let uses = self.uses_of(request, reply);
        uses.under(Arc::clone(&workspace.in_force) as _);
        let scope = Scope {
            session: self,
            workspace: Arc::clone(workspace),
            circumstances: running.circumstances.as_ref(),
            request,
            ticket,
            reply,
            progress: &progress,
            uses,
        };
        if let Some(method) = request.recorded_as {
            read_before::watch(&scope, method);
        }
        // A request that was stopped while queued does nothing.
        let answer = match ticket.cancel.reason() {
            Some(Reason::Client | Reason::Shutdown) => {
                record_unrun(self, request, reply, Outcome::Cancelled);
                Err(RpcError::internal("the server ended before this request came to its turn"))
            }
            _ => guarded(|| dispatch::handle(&scope, *handler)),
        };
        progress.end();
        if self.workspace.deliveries.timers_changed() {
            self.workspace.callbacks.wake();
        }
        let answered = self.inflight.finish(ticket);
        answered.then(|| answer.unwrap_or_else(|error| error.reply(&request.id)))
    }

    /// Creates an empty usage record of a request, as a part of its trace if it has one.
    pub(crate) fn uses_of(&self, request: &Request<'_>, reply: &Reply) -> Uses {
        let uses = Uses::default();
        let told = request.meta.trace_parent().and_then(Trace::parse).or_else(|| reply.trace());
        if let Some(trace) = told.or_else(|| self.workspace.records.begin_trace()) {
            uses.part_of(trace);
        }
        uses
    }

    /// Runs a request whose message was parsed before and whose ticket was kept.
    pub fn perform_again(&self, message: Message<'_>, ticket: &Ticket, reply: &Reply) -> Option<Vec<u8>> {
        let Message::Request { id, method, params } = message else { return None };
        let request = dispatch::read(id, &method, params, self.facts()).ok()?;
        let Route::Slow(handler) = dispatch::route(&method, request.revision)? else { return None };
        self.perform(&Work { request, handler }, ticket, reply)
    }

    /// Refuses a request because the server is at capacity, and returns the answer.
    pub fn refuse_busy(&self, work: &Work<'_>, ticket: &Ticket, reply: &Reply) -> Vec<u8> {
        record_unrun(self, &work.request, reply, BUSY_CALL);
        self.inflight.finish(ticket);
        busy().reply(&work.request.id)
    }

    /// Drops a request that will not run.
    pub fn forget(&self, ticket: &Ticket) {
        self.inflight.finish(ticket);
    }

    /// Returns the answer to a message that is refused because the server is at capacity, if it is a request.
    pub(super) fn refuse_busy_message(&self, message: Message<'_>, reply: &Reply) -> Option<Vec<u8>> {
        let Message::Request { id, method, params } = message else { return None };
        if let Ok(request) = dispatch::read(id.clone(), &method, params, self.facts()) {
            record_unrun(self, &request, reply, BUSY_CALL);
        }
        Some(busy().reply(&id))
    }
}

fn busy() -> RpcError {
    RpcError::new(BUSY, "too many requests are in flight; repeat this one when some have ended")
}

/// Turns a panic into an error answer, so that a defect in one request does not affect other requests.
fn guarded(handler: impl FnOnce() -> Answer) -> Answer {
    catch_unwind(AssertUnwindSafe(handler)).unwrap_or_else(|_| {
        Err(RpcError::internal("the server failed on this request; the details are on its standard error"))
    })
}
