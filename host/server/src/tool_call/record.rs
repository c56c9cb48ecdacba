//! Fourth step: writes the audit line of the call.

use scorpiox_audit::Outcome;
use scorpiox_executor::Reason;
use scorpiox_mcp::RpcError;
use scorpiox_mcp::params::Text;
use scorpiox_metering::records::CallError;
use scorpiox_tools::{Output, Tool};

use super::absence::Absence;
use super::permit::Permit;
use super::run::Ran;
use crate::reply::Reply;
use crate::request::{CALL, Request};
use crate::scope::{self, Answer, Scope};
use crate::session::Session;

/// Recorded call.
pub(super) enum Recorded<'a> {
    /// The call asks its client for input first, with this answer.
    InputRequired(Answer),
    /// The call has a result.
    Ended(Ended<'a>),
}

/// Recorded call with a result.
pub(super) struct Ended<'a> {
    pub(super) scope: &'a Scope<'a>,
    pub(super) tool: &'a Tool,
    pub(super) arguments: &'a str,
    /// Result of the tool; an error instead if the policy requires an audit line and it could not be written.
    pub(super) outcome: Result<Output, CallError>,
    /// `true` if messages wait for a result; `None` if the call did not check the store.
    pub(super) messages_waiting: Option<bool>,
}

impl<'a> Permit<'a> {
    /// Writes the audit line. Fails if the client's revision has an error of its own for the result.
    pub(super) fn record(self, ran: Ran) -> Result<Recorded<'a>, RpcError> {
        let Self { scope, tool, arguments, client, recording, mut in_flight, .. } = self;
        let asks = client.input_required(scope);
        let ended = if asks.is_some() { Outcome::InputRequired } else { ended(scope, &ran.outcome) };
        in_flight.ended(&ended);
        let recorded = recording.finish(ended);
        if let (Ok(()), Some(answer)) = (&recorded, asks) {
            return Ok(Recorded::InputRequired(answer));
        }
        let outcome = recorded.and(ran.outcome);
        let error = outcome.as_ref().err().and_then(|error| error.lacking(scope.request.revision));
        let messages_waiting = ran.messages_waiting;
        error.map_or(Ok(Recorded::Ended(Ended { scope, tool, arguments, outcome, messages_waiting })), Err)
    }
}

fn ended(scope: &Scope<'_>, outcome: &Result<Output, CallError>) -> Outcome {
    match outcome {
        Ok(output) if !output.is_error => Outcome::Ok,
        Err(refusal) if refusal.is_refusal() => refusal.outcome(),
        outcome => stopped(scope)
            .unwrap_or_else(|| outcome.as_ref().map_or_else(CallError::outcome, |_| Outcome::Error)),
    }
}

/// Returns the outcome of a request that was stopped by its client, by shutdown, or by its deadline.
pub(crate) fn stopped(scope: &Scope<'_>) -> Option<Outcome> {
    scope.cancel().reason().map(|reason| match reason {
        Reason::Client | Reason::Shutdown => Outcome::Cancelled,
        Reason::Overdue => Outcome::Fault("overdue"),
        Reason::PolicyChanged => Outcome::Fault("policy-changed"),
    })
}

/// Records a call that never runs.
pub(crate) fn record_unrun(session: &Session, request: &Request<'_>, reply: &Reply, outcome: Outcome) {
    let uses = session.uses_of(request, reply);
    // The call did nothing, so there is no result to withhold if recording fails.
    if let Some(method) = request.recorded_as {
        let _ = session.begin_method(request, method, &uses).finish(outcome);
    }
    if !request.is_call {
        return;
    }
    let given = request.params.raw_object("arguments").ok().flatten();
    let name = request.params.required::<Text<'_>>("name", "").ok();
    let name = name.as_ref().map_or(CALL, |name| &name.0);
    let workspace = session.workspace();
    if let Some(tool) = scope::tool(&workspace, request, name) {
        drop(session.begin_call(request, &tool, given.as_deref().unwrap_or("{}"), &uses).finish(outcome));
    } else {
        let recording = session.begin_unknown(request, name, given.as_deref(), &uses);
        drop(Absence::of(session.access(&workspace), request, name).record(recording, name, None));
    }
}
