//! `tools/call`.

use std::sync::Arc;
use std::time::Instant;

use scorpiox_ask::Questions;
use scorpiox_audit::{Outcome, Uses};
use scorpiox_capabilities::ask::Asked;
use scorpiox_capabilities::setup::Caller;
use scorpiox_executor::Reason;
use scorpiox_policy::Refusal;
use scorpiox_rpc::reply;
use scorpiox_text::nearest;

use super::client::{Client, Unmarked};
use super::component_call::{self, Invocation};
use super::plan_notes;
use super::rendering::{Body, Manner};
use super::reply::Reply;
use super::request::{CALL, Request};
use super::scope::{self, Answer, Scope};
use super::session::{Audience, Session};
use super::skill_component;
use scorpiox_records::{CallError, NO_POLICY, NOT_APPROVED, Recording};

use scorpiox_mcp::RpcError;
use scorpiox_mcp::params::Text;
use scorpiox_mcp::result::{Account, Enveloped};
use scorpiox_runtime::{Component, Fault};
use scorpiox_shell::Shell;
use scorpiox_tools::plugins::NotThere;
use scorpiox_tools::{Call, Kind, Output, Tool, ToolHost, unknown_arguments};
use scorpiox_usage::Exceeded;

pub(crate) fn call(scope: &Scope<'_>) -> Answer {
    let params = &scope.request.params;
    let refused = |name: &str, arguments, why| {
        scope.session.refuse_call(Some(scope.request), name, arguments, why, &Uses::default());
    };
    let name = params.required::<Text<'_>>("name", "the name of a tool");
    let name = name.inspect_err(|_| refused(CALL, None, INVALID))?.0;
    let arguments = params.raw_object("arguments").inspect_err(|_| refused(&name, None, INVALID))?;
    let arguments = arguments.as_deref();
    let found = scope::tool(scope.workspace(), scope.request, &name);
    // Also a call of what is no tool, and of one that its principal may not call.
    let known = found.as_ref().map_or(&*name, |tool| &tool.name);
    let admitted = scope.session.admit(known);
    let Some(tool) = found else { return Err(absent(scope, &name, arguments, admitted.err())) };
    // By its own name, whatever the client calls it.
    let begin = || scope.session.begin_call(scope.request, &tool, arguments.unwrap_or("{}"), &scope.uses);
    let mut in_flight = admitted.map_err(|exceeded| exceeded.answer(begin(), &tool.name, scope.reply))?;
    if let Some(denial) = scope.session.denial(&tool.name) {
        let note = |uses: &Uses| uses.denied("access", &tool.name, &denial.why, denial.decided_by);
        begin().refuse(NO_POLICY, Some(scope.reply), note)?;
        scope.reply.denies(denial.clone());
        return Err(RpcError::invalid_params(denial.why));
    }
    let arguments = arguments.unwrap_or("{}");
    let unmarked = match &tool.kind {
        Kind::Plugin { .. } => Unmarked::Taken,
        Kind::Native(_) | Kind::Wasm { .. } => Unmarked::Refused,
    };
    let client = Client::of(scope, &tool.name, arguments, unmarked);
    let client = client.inspect_err(|_| refused(&tool.name, Some(arguments), INVALID))?;
    let recording = scope.session.begin_call(scope.request, &tool, arguments, &scope.uses);
    bound(scope, &tool);
    let room = Manner::room(scope, &tool);
    let invocation = Invocation { tool: &tool, arguments, client: &client, room, asked_by: Caller::Model };
    let Ran { outcome, messages_waiting } = match recording.permit(scope.reply) {
        Ok(()) => run(scope, &invocation),
        Err(refusal) => refusal.into(),
    };
    let asks = client.input_required(scope);
    let ended = if asks.is_some() { Outcome::InputRequired } else { ended(scope, &outcome) };
    in_flight.ended(&ended);
    let recorded = recording.finish(ended);
    if let (Ok(()), Some(answer)) = (&recorded, asks) {
        return answer;
    }
    let outcome = recorded.and(outcome);
    if let Some(error) = outcome.as_ref().err().and_then(|error| error.lacking(scope.request.revision)) {
        return Err(error);
    }
    let account = (scope.session.audience == Audience::Person).then(|| account(scope, &outcome));
    let outcome = outcome.map_err(|error| sentence(scope, &tool, &error));
    let outcome = unknown_arguments::told(&tool, arguments, outcome);
    let body = Body::of(&outcome, Manner::of(scope, &tool), || scope.workspace().shell().place_for_text());
    let mut messages = Vec::new();
    // An answer that nobody gets must not take messages along.
    let takes_messages = scope.session.audience == Audience::Model && messages_waiting != Some(false);
    if takes_messages && scope.session.inflight.finish(scope.ticket) {
        let room = body.room_for_messages();
        messages = scope.workspace().deliveries.take(&scope.workspace().store, messages_waiting, room);
    }
    let result = Enveloped::accounted(scope.request.revision, account, body.with(&messages));
    Ok(reply::result(&scope.request.id, &result))
}

/// Refuses a call of what is no tool, or none for this client.
fn absent(scope: &Scope<'_>, name: &str, arguments: Option<&str>, over_limit: Option<Exceeded>) -> RpcError {
    let recording = scope.session.begin_unknown(scope.request, name, arguments, &Uses::default());
    if let Some(exceeded) = over_limit {
        return exceeded.answer(recording, name, scope.reply);
    }
    let absence = Absence::of(scope.session, scope.request, name);
    match absence.record(recording, name, Some(scope.reply)) {
        Ok(()) => unknown_tool(scope, name, absence),
        Err(error) => error.into(),
    }
}

fn account(scope: &Scope<'_>, outcome: &Result<Output, CallError>) -> Account {
    let error = outcome.as_ref().err().map(CallError::kind);
    Account { error, memory: scope.uses.memory(), touched: scope.uses.lines() }
}

fn ended(scope: &Scope<'_>, outcome: &Result<Output, CallError>) -> Outcome {
    match outcome {
        Ok(output) if !output.is_error => Outcome::Ok,
        Err(refusal) if refusal.is_refusal() => refusal.outcome(),
        outcome => stopped(scope)
            .unwrap_or_else(|| outcome.as_ref().map_or_else(CallError::outcome, |_| Outcome::Error)),
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
pub(crate) fn record_unrun(session: &Session, request: &Request<'_>, outcome: Outcome) {
    let uses = Uses::default();
    // It did nothing, so that nothing is withheld.
    if let Some(method) = request.recorded_as {
        let _ = session.begin_method(request, method, &uses).finish(outcome);
    }
    if !request.is_call {
        return;
    }
    let given = request.params.raw_object("arguments").ok().flatten();
    let name = request.params.required::<Text<'_>>("name", "").ok();
    let name = name.as_ref().map_or(CALL, |name| &name.0);
    if let Some(tool) = scope::tool(&session.workspace, request, name) {
        drop(session.begin_call(request, &tool, given.as_deref().unwrap_or("{}"), &uses).finish(outcome));
    } else {
        let recording = session.begin_unknown(request, name, given.as_deref(), &uses);
        drop(Absence::of(session, request, name).record(recording, name, None));
    }
}

/// Why there is no tool of a name.
enum Absence {
    /// The policy closes it.
    Closed(Refusal),
    /// It is a plugin's that may not run.
    NotThere(NotThere),
    Unknown,
}

impl Absence {
    fn of(session: &Session, request: &Request<'_>, name: &str) -> Self {
        let workspace = &session.workspace;
        // The client may have been told of it by its name with a prefix.
        let prefix = scope::prefix(workspace, request);
        let bare = prefix.and_then(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
        let closed = workspace.closed_by_policy(bare).filter(|_| workspace.knows(bare));
        // Who may not call a plugin's tools learns nothing of it.
        let not_there = || {
            let mut open = [name, bare].into_iter().filter(|name| session.denial(name).is_none());
            open.find_map(|name| workspace.plugins.why_not(name))
        };
        closed.map(Self::Closed).or_else(|| not_there().map(Self::NotThere)).unwrap_or(Self::Unknown)
    }

    /// Records a call of it, with the rule that closes it: a line of the policy, or a plugin's approval.
    fn record(&self, call: Recording<'_>, name: &str, reply: Option<&Reply>) -> Result<(), CallError> {
        match self {
            Self::Closed(Refusal { why, decided_by }) => {
                call.refuse(NO_POLICY, reply, |uses| uses.denied("tools", name, why, *decided_by))
            }
            Self::NotThere(NotThere { plugin, why, rule, is_by_policy }) => {
                let kind = if *is_by_policy { NO_POLICY } else { NOT_APPROVED };
                call.refuse(kind, reply, |uses| uses.denied("plugins", plugin, why, rule.clone()))
            }
            Self::Unknown => call.refuse(UNKNOWN, reply, |_| ()),
        }
    }
}

/// A call that cannot be read.
pub(super) const INVALID: &str = "bad-request";
/// A call of a tool that there is none of, or that is switched off.
const UNKNOWN: &str = "unknown-tool";

/// Most tools that an error names.
const MAX_NAMED: usize = 40;

fn unknown_tool(scope: &Scope<'_>, name: &str, absence: Absence) -> RpcError {
    let tools = scope.workspace().tools();
    let listed = |tool: &&Arc<Tool>| scope.session.is_open(tool) && !tool.is_conditional();
    let on: Vec<_> = tools.iter().filter(listed).map(|tool| scope.name(&tool.name)).collect();
    let shown: String = name.chars().take(100).collect();
    RpcError::invalid_params(match absence {
        Absence::Closed(why) => format!("{why}; nobody can call it"),
        Absence::NotThere(NotThere { why, .. }) => format!("tool {shown:?} is not available: {why}"),
        Absence::Unknown if on.is_empty() => {
            format!("tool {shown:?} is not known; all tools are switched off by the setting TOOLS")
        }
        Absence::Unknown => {
            let near = nearest(name, on.iter().map(|name| &**name));
            let near = near.map_or_else(|| ".".to_owned(), |near| format!("; did you mean {near}?"));
            let more = on.len().saturating_sub(MAX_NAMED);
            let named = on.iter().take(MAX_NAMED).map(|name| &**name).collect::<Vec<_>>().join(", ");
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("tool {shown:?} is not known{near} Known tools: {named}{more}")
        }
    })
}

/// What became of it.
pub(super) struct Ran {
    pub(super) outcome: Result<Output, CallError>,
    /// Whether messages wait for a result, where the call looked into the store.
    messages_waiting: Option<bool>,
}

impl From<CallError> for Ran {
    fn from(error: CallError) -> Self {
        Self { outcome: Err(error), messages_waiting: None }
    }
}

/// Runs a tool that is permitted, wherever it runs.
pub(super) fn run(scope: &Scope<'_>, invocation: &Invocation<'_>) -> Ran {
    let &Invocation { tool, arguments, client, room, .. } = invocation;
    match &tool.kind {
        Kind::Native(native) => {
            let call = Call {
                arguments,
                cancel: scope.cancel(),
                room,
                answer_by: answer_by(scope),
                prefix: scope.prefix(),
                streams: scope.workspace().settings.streaming() && scope.progress.is_wanted(),
                uses: &scope.uses,
                host: &HostOf { scope, client },
                answer_within: scope.session.answer_within(),
            };
            Ran { outcome: native.call(&call).map_err(CallError::Tool), messages_waiting: None }
        }
        Kind::Wasm { component, .. } => {
            let mut ran = run_component(scope, component, &tool.name, invocation);
            if let Ok(output) = &mut ran.outcome {
                plan_notes::add(scope, &tool.name, arguments, output);
            }
            ran
        }
        Kind::Plugin { component, inner, .. } => {
            if let Some((plugin, rule)) = scope.workspace().plugins.runs_by(&tool.name) {
                scope.uses.allowed("plugins", plugin, rule);
            }
            run_component(scope, component, inner, invocation)
        }
    }
}

/// What a native tool may use.
struct HostOf<'a> {
    scope: &'a Scope<'a>,
    client: &'a Client,
}

impl ToolHost for HostOf<'_> {
    fn shell(&self) -> &Shell {
        self.scope.workspace().shell()
    }

    fn active_plan(&self) -> Result<Option<String>, Fault> {
        self.scope.workspace().active_plan()
    }

    fn ask(&self, questions: &Questions, rule: &'static str) -> Asked {
        self.client.ask(questions, &self.scope.uses, rule)
    }

    fn report(&self, message: &str) {
        self.scope.progress.report(message);
    }
}

/// When a client has to be answered that gets no word meanwhile.
fn answer_by(scope: &Scope<'_>) -> Option<Instant> {
    let within = scope.session.answer_within().filter(|_| !scope.progress.is_wanted())?;
    Some(scope.ticket.since + within)
}

/// Bounds a call of a tool that cannot let go of it: a client that gave it up would learn nothing.
fn bound(scope: &Scope<'_>, tool: &Tool) {
    let lets_go = matches!(&tool.kind, Kind::Native(native) if native.lets_go());
    if let Some(until) = answer_by(scope).filter(|_| !lets_go) {
        scope.session.inflight.bound(scope.ticket, until);
    }
}

/// Why a call has no result, for the model. Also of a call that was ended for it that it took too long; native
/// tools say so themselves, where it fits what they say.
fn sentence(scope: &Scope<'_>, tool: &Tool, error: &CallError) -> String {
    let mut sentence = without_refusals(scope, tool, error);
    // Its author may have made anything of a refusal. The program's own tools say themselves what was refused.
    if matches!(tool.kind, Kind::Plugin { .. }) && !error.is_refusal() {
        sentence.extend(scope.uses.refusals().iter().flat_map(|refusal| ["\n", refusal]));
    }
    sentence
}

fn without_refusals(scope: &Scope<'_>, tool: &Tool, error: &CallError) -> String {
    let is_overdue = scope.cancel().reason() == Some(Reason::Overdue);
    match scope.session.answer_within() {
        Some(within) if is_overdue && !matches!(tool.kind, Kind::Native(_)) => format!(
            "{error} It was ended after {} s, which is as long as a client waits that is not told of progress \
             (setting ANSWER_WITHIN).",
            within.as_secs()
        ),
        _ => error.to_string(),
    }
}

/// Runs a tool of a component, which calls it `inner`.
fn run_component(scope: &Scope<'_>, component: &Component, inner: &str, invocation: &Invocation<'_>) -> Ran {
    match component_call::run(scope, component, inner, invocation) {
        Ok(finished) => {
            let (messages_waiting, invoked) = (finished.messages_waiting, finished.skills.invoked().cloned());
            let mut outcome = component_call::outcome(finished);
            if let (Ok(output), Some(invoked)) = (&mut outcome, invoked) {
                skill_component::run(scope, &invoked, invocation, output);
            }
            Ran { outcome, messages_waiting }
        }
        Err(error) => error.into(),
    }
}
