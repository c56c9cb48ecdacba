//! `tools/call`.

use std::sync::Arc;
use std::time::Instant;

use scorpiox_audit::{Outcome, Uses};
use scorpiox_executor::Reason;
use scorpiox_rpc::reply;

use super::brought;
use super::client::Client;
use super::context::Context;
use super::dispatch::{self, Answer, Request, Scope};
use super::plan_notes;
use super::records::{NO_POLICY, NOT_APPROVED, Recording};
use super::rendering::{Body, Manner};
use super::unknown_arguments;
use crate::bindings::any_tool::exports::scorpiox::tool::tool::{ToolError, ToolResult as WasmResult};
use crate::bindings::any_tool::scorpiox::tool::types::Content as WasmContent;
use crate::capabilities::Capability;
use crate::capabilities::ask::Counterpart;
use crate::mcp::RpcError;
use crate::mcp::params::Text;
use crate::mcp::result::Surrounded;
use crate::plugins::NotThere;
use crate::runtime::{Component, Finished};
use crate::tools::{Call, Failure, Kind, Output, OutputContent, Tool};

pub(crate) fn call(scope: &Scope<'_>) -> Answer {
    let params = &scope.request.params;
    let records = &scope.context.records;
    let refused = |name: &str, arguments, why| {
        records.refuse(Some(scope.request), name, arguments, why, &Uses::default());
    };
    let name = params.required::<Text<'_>>("name", "the name of a tool");
    let name = name.inspect_err(|_| refused(dispatch::CALL, None, INVALID))?.0;
    let arguments = params.raw_object("arguments").inspect_err(|_| refused(&name, None, INVALID))?;
    let Some(tool) = dispatch::tool(scope.context, scope.request, &name) else {
        refuse_unknown(scope.context, scope.request, &name, arguments);
        return Err(unknown_tool(scope, &name));
    };
    let arguments = arguments.unwrap_or("{}");
    let client = Client::of(scope, &tool.name, arguments);
    let client = client.inspect_err(|_| refused(&tool.name, Some(arguments), INVALID))?;
    let recording = scope.context.records.begin(scope.request, &tool, arguments, &scope.uses);
    bound(scope, &tool);
    let (outcome, messages_waiting) = match recording.permit() {
        Ok(()) => run(scope, &tool, arguments, &client, &recording),
        Err(refusal) => (Err(refusal), None),
    };
    let asks = client.input_required();
    let ended = if asks.is_some() { Outcome::InputRequired } else { ended(scope, &outcome, &recording) };
    let recorded = recording.finish(ended);
    if let (Ok(()), Some(answer)) = (&recorded, asks) {
        return answer;
    }
    let outcome = recorded.and(outcome);
    let outcome = outcome.map_err(|failure| overdue(scope, &tool, failure));
    let outcome = unknown_arguments::told(&tool, arguments, outcome);
    let body = Body::of(&outcome, Manner::of(scope, &tool), || scope.context.shell().place_for_text());
    let mut messages = Vec::new();
    // An answer that nobody gets must not take messages along.
    if messages_waiting != Some(false) && scope.context.inflight.finish(scope.ticket) {
        let room = body.room_for_messages();
        messages = scope.context.deliveries.take(&scope.context.database, messages_waiting, room);
    }
    let result = Surrounded::complete(scope.request.revision, body.with(&messages));
    Ok(reply::result(&scope.request.id, &result))
}

fn ended(scope: &Scope<'_>, outcome: &Result<Output, Failure>, recording: &Recording<'_>) -> Outcome {
    match outcome {
        Ok(output) if !output.is_error => Outcome::Ok,
        outcome => stopped(scope).unwrap_or_else(|| match outcome {
            Ok(_) => Outcome::Error,
            Err(_) => recording.failure(),
        }),
    }
}

/// How a request ended that was told to stop: by who wants no answer, or by this server, which gives one
/// in time.
pub(super) fn stopped(scope: &Scope<'_>) -> Option<Outcome> {
    scope.cancel().reason().map(|reason| match reason {
        Reason::Client | Reason::Shutdown => Outcome::Cancelled,
        Reason::Overdue => Outcome::Fault("overdue"),
    })
}

/// Records a call that does not come to its turn.
pub(crate) fn record_unrun(context: &Context, request: &Request<'_>, outcome: Outcome) {
    let (records, uses) = (&context.records, Uses::default());
    // It did nothing, so that nothing is withheld.
    if let Some(method) = request.recorded_as {
        let _ = records.begin_other(request, method, &uses).finish(outcome);
    }
    if !request.is_call {
        return;
    }
    let arguments = request.params.raw_object("arguments").ok().flatten();
    let name = request.params.required::<Text<'_>>("name", "").ok();
    let name = name.as_ref().map_or(dispatch::CALL, |name| &name.0);
    match dispatch::tool(context, request, name) {
        Some(tool) => drop(records.begin(request, &tool, arguments.unwrap_or("{}"), &uses).finish(outcome)),
        None => refuse_unknown(context, request, name, arguments),
    }
}

/// Records a call of a tool that is not there, or that is closed: then with the rule that does, a line of the policy or
/// a plugin's approval.
fn refuse_unknown(context: &Context, request: &Request<'_>, name: &str, arguments: Option<&str>) {
    let uses = Uses::default();
    let prefix = dispatch::prefix(context, request);
    let bare = prefix.and_then(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    let closed = context.closed_by_policy(bare).filter(|_| context.knows(bare));
    let not_there = || [name, bare].into_iter().find_map(|name| context.plugins.why_not(name));
    let why = match closed {
        Some(refusal) => {
            uses.denied("tools", name, &refusal.why, refusal.decided_by);
            NO_POLICY
        }
        None => match not_there() {
            Some(NotThere { plugin, why, rule, is_by_policy }) => {
                uses.denied("plugins", &plugin, &why, rule);
                if is_by_policy { NO_POLICY } else { NOT_APPROVED }
            }
            None => UNKNOWN,
        },
    };
    context.records.refuse(Some(request), name, arguments, why, &uses);
}

/// A call that cannot be read.
pub(super) const INVALID: &str = "bad-request";
/// A call of a tool that there is none of, or that is switched off.
const UNKNOWN: &str = "unknown-tool";

/// Most tools that an error names.
const MAX_NAMED: usize = 40;

fn unknown_tool(scope: &Scope<'_>, name: &str) -> RpcError {
    let tools = scope.context.tools();
    let listed = |tool: &&Arc<Tool>| scope.context.is_on(tool) && !tool.is_conditional();
    let on: Vec<_> = tools.iter().filter(listed).map(|tool| scope.name(&tool.name)).collect();
    let shown: String = name.chars().take(100).collect();
    // The client may have been told of it by its name with a prefix.
    let bare = scope.prefix().and_then(|prefix| name.strip_prefix(prefix));
    let why_not = || [Some(name), bare].into_iter().flatten().find_map(|n| scope.context.plugins.why_not(n));
    let closed = scope.context.closed_by_policy(bare.unwrap_or(name));
    let closed = closed.filter(|_| scope.context.knows(bare.unwrap_or(name)));
    RpcError::invalid_params(if let Some(why) = closed {
        format!("{why}; nobody can call it")
    } else if let Some(why) = why_not() {
        format!("tool {shown:?} is not there: {}", why.why)
    } else if on.len() > MAX_NAMED {
        let named = on[..MAX_NAMED].join(", ");
        format!("tool {shown:?} is not known; there are {named} and {} more", on.len() - MAX_NAMED)
    } else if on.is_empty() {
        format!("tool {shown:?} is not known; all tools are switched off by the setting TOOLS")
    } else {
        format!("tool {shown:?} is not known; there are {}", on.join(", "))
    })
}

/// Runs one call, wherever the tool runs. Also whether messages wait for a result, where
/// the call looked into the database.
fn run(
    scope: &Scope<'_>,
    tool: &Tool,
    arguments: &str,
    client: &Client<'_>,
    recording: &Recording<'_>,
) -> (Result<Output, Failure>, Option<bool>) {
    match &tool.kind {
        Kind::Native(native) => {
            let call = Call {
                arguments,
                cancel: scope.cancel(),
                progress: scope.progress,
                client,
                room: Manner::room(scope, tool),
                answer_by: answer_by(scope),
                prefix: scope.prefix(),
                streams: scope.context.settings.streaming() && scope.progress.is_wanted(),
                uses: &recording.uses,
                host: scope.context,
            };
            (native.call(&call), None)
        }
        Kind::Wasm { component, .. } => {
            let (mut outcome, waiting) =
                run_component(scope, tool, component, [&tool.name, arguments], client, recording);
            if let Ok(output) = &mut outcome {
                plan_notes::add(scope, &tool.name, arguments, output);
            }
            (outcome, waiting)
        }
        Kind::Plugin { component, inner, .. } => {
            if let Some((plugin, rule)) = scope.context.plugins.runs_by(&tool.name) {
                recording.uses.allowed("plugins", plugin, rule);
            }
            run_component(scope, tool, component, [inner, arguments], client, recording)
        }
    }
}

/// When a client has to be answered that gets no word meanwhile.
fn answer_by(scope: &Scope<'_>) -> Option<Instant> {
    let within = scope.context.answer_within().filter(|_| !scope.progress.is_wanted())?;
    Some(scope.ticket.since + within)
}

/// Bounds a call of a tool that cannot let go of it: a client that gave it up would learn nothing.
fn bound(scope: &Scope<'_>, tool: &Tool) {
    let lets_go = matches!(&tool.kind, Kind::Native(native) if native.lets_go());
    if let Some(until) = answer_by(scope).filter(|_| !lets_go) {
        scope.context.inflight.bound(scope.ticket, until);
    }
}

/// Says of a call that was ended for it that it took too long. Native tools say so themselves, where it
/// fits what they say.
fn overdue(scope: &Scope<'_>, tool: &Tool, failure: Failure) -> Failure {
    let is_overdue = scope.cancel().reason() == Some(Reason::Overdue);
    match scope.context.answer_within() {
        Some(within) if is_overdue && !matches!(tool.kind, Kind::Native(_)) => Failure(format!(
            "{} It was ended after {} s, which is as long as a client waits that is not told of progress \
             (setting ANSWER_WITHIN).",
            failure.0,
            within.as_secs()
        )),
        _ => failure,
    }
}

/// Runs a tool of a component, which gets what it calls the tool itself, and the arguments.
pub(super) fn run_component(
    scope: &Scope<'_>,
    tool: &Tool,
    component: &Component,
    call: [&str; 2],
    client: &Client<'_>,
    recording: &Recording<'_>,
) -> (Result<Output, Failure>, Option<bool>) {
    match finish_component(scope, tool, component, call, client, recording) {
        Ok(finished) => {
            let mut outcome = finished.value.map(output).map_err(failure);
            if let (Ok(output), Some(invoked)) = (&mut outcome, finished.skills.invoked()) {
                brought::run(scope, invoked, client, recording, output);
            }
            (outcome, finished.messages_waiting)
        }
        Err(failure) => (Err(failure), None),
    }
}

fn finish_component(
    scope: &Scope<'_>,
    tool: &Tool,
    component: &Component,
    [inner, arguments]: [&str; 2],
    client: &Client<'_>,
    recording: &Recording<'_>,
) -> Result<Finished<Result<WasmResult, ToolError>>, Failure> {
    let progress = scope.progress.clone();
    let on_wait = Arc::new(move || progress.report("Waiting for another server to finish writing"));
    let mut setup = scope.setup_for(recording.uses.clone(), on_wait);
    setup.room = Manner::room(scope, tool);
    if component.grants.contains(&Capability::Progress) {
        let progress = scope.progress.clone();
        setup.on_progress = Arc::new(move |message: &str| progress.report(message));
    }
    if component.changes_things() {
        let plan = scope.context.active_plan();
        let plan =
            plan.map_err(|fault| Failure(format!("Whether a plan is active is not known: {fault}")))?;
        setup.read_only = plan.is_some();
    }
    let asks = [Capability::Ask, Capability::Sampling].iter().any(|asks| component.grants.contains(asks));
    let other_side = if asks { client.other_side(&setup.uses) } else { None };
    setup.counterpart = other_side.clone().map(|other| other as Arc<dyn Counterpart>);
    let called = scope.context.runtime.call_tool(component, &setup, inner, arguments);
    if let Some(other) = other_side {
        client.take_later(&other);
    }
    let finished = called.map_err(|fault| {
        recording.failed(&fault);
        if !fault.is_cancel() {
            tracing::warn!(tool = &*tool.name, "call failed: {fault}");
        }
        let rest =
            if component.has_effects() { "What it stored was not kept." } else { "Nothing was changed." };
        Failure(format!("{} has no result: {fault}. {rest}", scope.name(&tool.name)))
    })?;
    if finished.timers_changed {
        scope.context.deliveries.set_timers_changed();
    }
    Ok(finished)
}

fn output(result: WasmResult) -> Output {
    let content = result.content.into_iter().map(|content| match content {
        WasmContent::Text(text) => OutputContent::Text(text),
        WasmContent::Image(image) => OutputContent::Image { data: image.data, mime_type: image.mime_type },
        WasmContent::Document(document) => {
            OutputContent::Document { uri: document.uri, mime_type: document.mime_type, text: document.text }
        }
    });
    Output { content: content.collect(), structured: result.structured, is_error: false }
}

fn failure(error: ToolError) -> Failure {
    Failure(match error {
        ToolError::InvalidInput(text)
        | ToolError::Denied(text)
        | ToolError::NotFound(text)
        | ToolError::TimedOut(text)
        | ToolError::Failed(text) => text,
        ToolError::Cancelled => "The call was cancelled.".to_owned(),
    })
}
