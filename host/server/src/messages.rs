//! What is done about one message.

use std::panic::{AssertUnwindSafe, catch_unwind};

use scorpiox_audit::{Outcome, Trace, Uses};
use scorpiox_executor::Reason;
use scorpiox_rpc::{Id, Members, Message};

use super::dispatch::{self, Route};
use super::inflight::Ticket;
use super::progress::Progress;
use super::reply::Reply;
use super::request::{CALL, Request};
use super::scope::{Answer, Scope};
use super::session::Session;
use super::subscriptions::Wanted;
use super::tool_call::{INVALID, record_unrun};
use scorpiox_mcp::error::BUSY;
use scorpiox_mcp::{Params, RpcError};

/// What to do about a message.
#[allow(clippy::large_enum_variant)] // taken apart at once, and never kept
pub enum Step<'a> {
    /// Nothing: it is done, and has no answer.
    Nothing,
    /// To send this answer.
    Answer(Vec<u8>),
    /// To run this, which may take long, and to send what comes of it. Who runs it later, from its message,
    /// keeps the ticket alone.
    Work(Work<'a>, Ticket),
}

/// A request that may take long.
pub struct Work<'a> {
    request: Request<'a>,
    handler: dispatch::Slow,
}

/// How a call ended that found no place.
const BUSY_CALL: Outcome = Outcome::Refused("server-busy");

impl Session {
    /// Takes one message of the client; what is said before its answer goes to `reply`.
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
                if method == CALL {
                    self.refuse_call(None, CALL, None, INVALID, &Uses::default());
                }
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
            record_unrun(self, &request, Outcome::Refused(INVALID));
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
        let serves = |uri: &str| self.offering_at(uri, None).is_some();
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

    /// Cancels the request that the parameters of a cancel name; whether it is in flight here.
    pub fn cancel(&self, params: Option<Members<'_>>) -> bool {
        let params = Params::new(params).unwrap_or_default();
        let id = params.raw("requestId").and_then(|raw| Id::from_json(raw.get()).ok());
        let is_here = id.is_some_and(|id| self.inflight.cancel(&id));
        if is_here {
            self.subscriptions.sweep(&self.inflight);
        }
        is_here
    }

    /// Runs a request; `None` when it must not be answered.
    pub fn perform(&self, work: &Work<'_>, ticket: &Ticket, reply: &Reply) -> Option<Vec<u8>> {
        let Work { request, handler } = work;
        let progress = Progress::new(reply, request.revision, request.meta.progress_token);
        let scope = Scope {
            session: self,
            request,
            ticket,
            reply,
            progress: &progress,
            uses: self.uses_of(request, reply),
        };
        // What was to stop before its turn does nothing.
        let answer = match ticket.cancel.reason() {
            Some(Reason::Client | Reason::Shutdown) => {
                record_unrun(self, request, Outcome::Cancelled);
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

    /// What a request touches: nothing yet, and whether it is part of something larger.
    fn uses_of(&self, request: &Request<'_>, reply: &Reply) -> Uses {
        let uses = Uses::default();
        let told = request.meta.trace_parent().and_then(Trace::parse).or_else(|| reply.trace());
        if let Some(trace) = told.or_else(|| self.workspace.records.begin_trace()) {
            uses.part_of(trace);
        }
        uses
    }

    /// Runs a request whose message was read before, and whose ticket was kept since.
    pub fn perform_again(&self, message: Message<'_>, ticket: &Ticket, reply: &Reply) -> Option<Vec<u8>> {
        let Message::Request { id, method, params } = message else { return None };
        let request = dispatch::read(id, &method, params, self.facts()).ok()?;
        let Route::Slow(handler) = dispatch::route(&method, request.revision)? else { return None };
        self.perform(&Work { request, handler }, ticket, reply)
    }

    /// Refuses a request that finds no place to run; its answer.
    pub fn refuse_busy(&self, work: &Work<'_>, ticket: &Ticket) -> Vec<u8> {
        record_unrun(self, &work.request, BUSY_CALL);
        self.inflight.finish(ticket);
        busy().reply(&work.request.id)
    }

    /// Forgets a request that nobody runs any more.
    pub fn forget(&self, ticket: &Ticket) {
        self.inflight.finish(ticket);
    }

    /// The answer to a request of a message that finds no place to run, where it expects one.
    pub(super) fn refuse_busy_message(&self, message: Message<'_>) -> Option<Vec<u8>> {
        let Message::Request { id, method, params } = message else { return None };
        if let Ok(request) = dispatch::read(id.clone(), &method, params, self.facts()) {
            record_unrun(self, &request, BUSY_CALL);
        }
        Some(busy().reply(&id))
    }
}

fn busy() -> RpcError {
    RpcError::new(BUSY, "too many requests are in flight; repeat this one when some have ended")
}

/// Turns a panic into an error answer: a defect in one request must not end the others.
fn guarded(handler: impl FnOnce() -> Answer) -> Answer {
    catch_unwind(AssertUnwindSafe(handler)).unwrap_or_else(|_| {
        Err(RpcError::internal("the server failed on this request; the details are on its standard error"))
    })
}
