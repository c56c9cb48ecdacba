//! What is done about one message.

use std::panic::{AssertUnwindSafe, catch_unwind};

use scorpiox_audit::{Outcome, Uses};
use scorpiox_executor::Reason;
use scorpiox_rpc::{Id, Members, Message};

use super::Server;
use crate::mcp::error::BUSY;
use crate::mcp::{Params, RpcError};
use crate::server::dispatch::{self, Answer, Request, Route, Scope};
use crate::server::inflight::Ticket;
use crate::server::progress::Progress;
use crate::server::subscriptions::Wanted;
use crate::server::tool_call::{INVALID, record_unrun};

/// What to do about a message.
#[allow(clippy::large_enum_variant)] // taken apart at once, and never kept
pub(super) enum Step<'a> {
    Nothing,
    Answer(Vec<u8>),
    Work(Work<'a>),
}

/// A request for a thread of its own.
pub(super) struct Work<'a> {
    pub(super) request: Request<'a>,
    pub(super) handler: dispatch::Slow,
    pub(super) ticket: Ticket,
}

/// How a call ended that found no place.
pub(super) const BUSY_CALL: Outcome = Outcome::Refused("server-busy");

impl Server {
    pub(super) fn step<'a>(&self, message: Message<'a>) -> Step<'a> {
        match message {
            Message::Request { id, method, params } => self.request(&id, &method, params),
            Message::Notification { method, params } => {
                self.notification(&method, params);
                Step::Nothing
            }
            Message::Response { id, outcome } => {
                if !self.context.outgoing.answered(id.as_ref(), outcome) {
                    tracing::debug!("a response to no request of ours");
                }
                Step::Nothing
            }
        }
    }

    fn request<'a>(&self, id: &Id<'a>, method: &str, params: Option<Members<'a>>) -> Step<'a> {
        let request = match dispatch::read(id.clone(), method, params, self.context.session.facts()) {
            Ok(request) => request,
            Err(error) => {
                if method == dispatch::CALL {
                    self.context.records.refuse(None, dispatch::CALL, None, INVALID, &Uses::default());
                }
                return Step::Answer(error.reply(id));
            }
        };
        if !request.revision.features().handshake {
            self.callbacks.start();
        }
        let Some(route) = dispatch::route(method, request.revision) else {
            return Step::Answer(RpcError::method_not_found(method).reply(id));
        };
        if let Route::Quick(handler) = route {
            let answer = guarded(|| handler(&self.context, &request));
            return Step::Answer(answer.unwrap_or_else(|error| error.reply(id)));
        }
        let Some(ticket) = self.context.inflight.begin(id) else {
            record_unrun(&self.context, &request, Outcome::Refused(INVALID));
            let error = RpcError::invalid_request("a request with this id is still in flight");
            return Step::Answer(error.reply(id));
        };
        match route {
            Route::Slow(handler) => Step::Work(Work { request, handler, ticket }),
            _ => self.listen(&request, ticket),
        }
    }

    fn listen<'a>(&self, request: &Request<'a>, ticket: Ticket) -> Step<'a> {
        let Self { context, .. } = self;
        let id = &request.id;
        let opened = match Wanted::of(&request.params) {
            Ok(wanted) => context.subscriptions.open(id, wanted, ticket, &context.output),
            Err(error) => Err((ticket, error)),
        };
        match opened {
            Ok(()) => {
                context.tool_news.stir();
                Step::Nothing
            }
            Err((ticket, error)) => {
                self.context.inflight.finish(&ticket);
                Step::Answer(error.reply(id))
            }
        }
    }

    fn notification(&self, method: &str, params: Option<Members<'_>>) {
        match method {
            "notifications/initialized" => {
                self.context.session.update(|facts| facts.ready = facts.revision.is_some());
                self.callbacks.start();
                self.context.tool_news.stir();
            }
            "notifications/cancelled" => self.cancel(params),
            other => tracing::debug!("notification {other:?} is ignored"),
        }
    }

    fn cancel(&self, params: Option<Members<'_>>) {
        let params = Params::new(params).unwrap_or_default();
        let Some(Ok(id)) = params.raw("requestId").map(|raw| Id::from_json(raw.get())) else {
            tracing::debug!("a cancel without a request id");
            return;
        };
        if self.context.inflight.cancel(&id) {
            self.context.subscriptions.sweep(&self.context.inflight);
        }
    }

    /// Runs a handler; `None` when the request must not be answered.
    pub(super) fn perform(
        &self,
        request: &Request<'_>,
        handler: dispatch::Slow,
        ticket: &Ticket,
    ) -> Option<Vec<u8>> {
        let progress = Progress::new(&self.context.output, request.revision, request.meta.progress_token);
        let uses = Uses::default();
        let scope = Scope { context: &self.context, request, ticket, progress: &progress, uses };
        // A call that was cancelled before its turn does nothing.
        let answer = match ticket.cancel.reason() {
            Some(Reason::Client) => {
                record_unrun(&self.context, request, Outcome::Cancelled);
                Err(RpcError::internal("cancelled"))
            }
            _ => guarded(|| dispatch::handle(&scope, handler)),
        };
        progress.end();
        if self.context.deliveries.timers_changed() {
            self.callbacks.wake();
        }
        let answered = self.context.inflight.finish(ticket);
        answered.then(|| answer.unwrap_or_else(|error| error.reply(&request.id)))
    }
}

pub(super) fn busy() -> RpcError {
    RpcError::new(BUSY, "too many requests are in flight; repeat this one when some have ended")
}

/// Turns a panic into an error answer: a defect in one request must not end the others.
fn guarded(handler: impl FnOnce() -> Answer) -> Answer {
    catch_unwind(AssertUnwindSafe(handler)).unwrap_or_else(|_| {
        Err(RpcError::internal("the server failed on this request; the details are on its standard error"))
    })
}
