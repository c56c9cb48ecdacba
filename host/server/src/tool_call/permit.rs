//! Second step: decides whether the call may run. Every check that can refuse a call is here, in this order: the
//! limits of the principal, the existence of the tool, the access rules, the state that a retried request carries,
//! whether this server serves calls at all, the tool's own check of its arguments, and the rules about single
//! calls. Approvals are asked for before the third step.

use std::time::Instant;

use scorpiox_capabilities::setup::Caller;
use scorpiox_exchange::rounds::Unmarked;
use scorpiox_metering::records::{CallError, Recording};
use scorpiox_metering::usage::Admitted;
use scorpiox_policy::CallRule;
use scorpiox_tools::{Given, Kind, Tool};

use super::absence::Absence;
use super::approval;
use super::read::ToolCall;
use super::refusal::Refusal;
use super::run::{self, Ran};
use crate::client::{APPROVAL_TIME, Client};
use crate::component_call::Invocation;
use crate::read_before;
use crate::rendering::Manner;
use crate::scope::Scope;

/// Call that may run.
pub(super) struct Permit<'a> {
    pub(super) scope: &'a Scope<'a>,
    pub(super) tool: &'a Tool,
    pub(super) arguments: &'a str,
    pub(super) client: Client,
    pub(super) recording: Recording<'a>,
    /// Counts the call as in flight until it is dropped.
    pub(super) in_flight: Admitted,
    /// Reason why the call does not run, although its answer is a result.
    unserved: Option<CallError>,
    /// Rules that require an approval.
    asking: Vec<&'a CallRule>,
}

impl<'a> Permit<'a> {
    /// Checks the call.
    pub(super) fn obtain(scope: &'a Scope<'a>, call: &'a ToolCall<'a>) -> Result<Self, Refusal<'a>> {
        // Calls of unknown tools and of tools closed to the principal count against the limits too.
        let known = call.tool.as_ref().map_or(&*call.name, |tool| &tool.name);
        let admitted = scope.access().admit(known);
        let Some(tool) = call.tool.as_deref() else {
            let arguments = call.arguments.as_deref();
            let recording =
                scope.session.begin_unknown(scope.request, &call.name, arguments, &scope.uses).into();
            return Err(match admitted {
                Err(exceeded) => Refusal::OverLimit { recording, name: &call.name, exceeded },
                Ok(_) => Refusal::Absent {
                    recording,
                    name: &call.name,
                    absence: Absence::of(scope.access(), scope.request, &call.name),
                },
            });
        };
        // Recorded under the tool's registered name, even if the client calls it by another.
        let begin = || scope.session.begin_call(scope.request, tool, call.arguments(), &scope.uses);
        let in_flight = admitted.map_err(|exceeded| Refusal::OverLimit {
            recording: begin().into(),
            name: &tool.name,
            exceeded,
        })?;
        if let Some(denial) = scope.access().denial(&tool.name) {
            return Err(Refusal::Denied { recording: begin().into(), tool, denial });
        }
        let client = Client::of(scope, &tool.name, call.arguments(), unmarked(tool));
        let client = client.map_err(|error| Refusal::invalid(&tool.name, Some(call.arguments()), error))?;
        let recording = begin();
        set_deadline(scope, tool);
        let served = recording.permit(scope.reply);
        let required = || {
            check(scope, tool, call.arguments())?;
            approval::required(scope, tool, call.arguments())
        };
        let (asking, unserved) = match served.and_then(|()| required()) {
            Ok(asking) => (asking, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        Ok(Self { scope, tool, arguments: call.arguments(), client, recording, in_flight, unserved, asking })
    }

    /// Third step: runs the tool.
    pub(super) fn run(&mut self) -> Ran {
        if let Some(unserved) = self.unserved.take() {
            return unserved.into();
        }
        let &mut Self { scope, tool, arguments, ref client, ref asking, .. } = self;
        if !asking.is_empty()
            && let Err(why) = approve(scope, client, tool, arguments, asking)
        {
            return why.into();
        }
        read_before::watch(scope, &tool.name);
        if let Err(why) = read_before::keep(scope, tool) {
            return why.into();
        }
        let room = Manner::room(scope, tool);
        run::run(scope, &Invocation { tool, arguments, client, room, asked_by: Caller::Model })
    }
}

/// Fails for arguments with which a built-in tool runs no call, whatever rules say about them.
fn check(scope: &Scope<'_>, tool: &Tool, arguments: &str) -> Result<(), CallError> {
    let workspace = scope.workspace();
    let given = Given { arguments, workspace: &workspace.folder.path, prefix: scope.prefix() };
    match &tool.kind {
        Kind::Native(native) => native.check(&given).map_err(CallError::Tool),
        Kind::Wasm { .. } | Kind::Plugin { .. } => Ok(()),
    }
}

/// Returns the treatment of an answer in a retried request that the tool did not ask for.
fn unmarked(tool: &Tool) -> Unmarked {
    match &tool.kind {
        Kind::Plugin { .. } => Unmarked::Taken,
        Kind::Native(_) | Kind::Wasm { .. } => Unmarked::Refused,
    }
}

/// Returns the time by which a client without progress notifications has to be answered.
pub(super) fn answer_by(scope: &Scope<'_>) -> Option<Instant> {
    let within = scope.session.answer_within().filter(|_| !scope.progress.is_wanted())?;
    Some(scope.ticket.since + within)
}

/// Asks a person before a call runs, within the time that its client waits.
fn approve(
    scope: &Scope<'_>,
    client: &Client,
    tool: &Tool,
    arguments: &str,
    asking: &[&CallRule],
) -> Result<(), CallError> {
    let inflight = &scope.session.inflight;
    let until = Instant::now() + APPROVAL_TIME;
    inflight.bound(scope.ticket, answer_by(scope).map_or(until, |by| by.min(until)));
    let approved = approval::obtain(scope, client, tool, arguments, asking);
    inflight.unbound(scope.ticket);
    set_deadline(scope, tool);
    approved
}

/// Sets a deadline for a tool that cannot move to the background: a client that gives up would learn nothing.
fn set_deadline(scope: &Scope<'_>, tool: &Tool) {
    let lets_go = matches!(&tool.kind, Kind::Native(native) if native.lets_go());
    if let Some(until) = answer_by(scope).filter(|_| !lets_go) {
        scope.session.inflight.bound(scope.ticket, until);
    }
}
