//! A single call of a component's tool.

use std::sync::Arc;

use super::client::{Client, OfComponent};
use super::scope::Scope;
use super::session::Audience;
use scorpiox_capabilities::Capability;
use scorpiox_capabilities::contents::RichContent;
use scorpiox_capabilities::setup::{Caller, Setup};
use scorpiox_metering::records::CallError;
use scorpiox_runtime::bindings::any_tool::exports::scorpiox::tool::tool::{
    ToolError, ToolResult as WasmResult,
};
use scorpiox_runtime::bindings::any_tool::scorpiox::tool::types::Content as WasmContent;
use scorpiox_runtime::{Component, Fault, Finished};
use scorpiox_tools::{Failure, Output, OutputContent, Tool};

/// Tool, arguments, and caller of a tool call.
#[derive(Clone, Copy)]
pub(super) struct Invocation<'a> {
    pub(super) tool: &'a Tool,
    pub(super) arguments: &'a str,
    pub(super) client: &'a Client,
    /// Maximum length of the result's text in characters.
    pub(super) room: usize,
    pub(super) asked_by: Caller,
}

/// Runs a component's tool, which the component calls `inner`.
pub(super) fn run(
    scope: &Scope<'_>,
    component: &Component,
    inner: &str,
    invocation: &Invocation<'_>,
) -> Result<Finished<Result<WasmResult, ToolError>>, CallError> {
    let &Invocation { tool, arguments, client, room, asked_by } = invocation;
    let setup = Setup { room, asked_by, ..setup(scope, component, client)? };
    let called = scope.workspace().runtime().call_tool(component, &setup, inner, arguments);
    finished(scope, component, &tool.name, called)
}

/// Creates the setup of a component call for a client.
pub(super) fn setup(scope: &Scope<'_>, component: &Component, client: &Client) -> Result<Setup, CallError> {
    let progress = scope.progress.clone();
    let on_wait = Arc::new(move || progress.report("Waiting for others to finish writing"));
    let mut setup = scope.setup_for(scope.uses.clone(), on_wait);
    if component.grants.contains(&Capability::Progress) {
        let progress = scope.progress.clone();
        setup.on_progress = Arc::new(move |message: &str| progress.report(message));
    }
    if component.changes_things() {
        setup.read_only = scope.workspace().active_plan().map_err(CallError::PlanUnknown)?.is_some();
    }
    if ASKS.iter().any(|asks| component.grants.contains(asks)) {
        let uses = setup.uses.clone();
        setup.counterpart = Some(Arc::new(OfComponent { client: client.clone(), uses }));
    }
    Ok(setup)
}

/// Capabilities that involve the client.
const ASKS: [Capability; 4] =
    [Capability::Ask, Capability::Sampling, Capability::Inputs, Capability::Notices];

/// Converts the result of a component call under `name`, and logs faults.
pub(super) fn finished<T>(
    scope: &Scope<'_>,
    component: &Component,
    name: &str,
    called: Result<Finished<T>, Fault>,
) -> Result<Finished<T>, CallError> {
    let finished = called.map_err(|fault| {
        // A person reads the same as the result of their own command.
        let is_told = scope.session.audience == Audience::Person;
        if !is_told && !fault.is_cancel() && !matches!(fault, Fault::Lacks(_)) {
            tracing::warn!(tool = name, "call failed: {fault}");
        }
        let (tool, has_effects) = (scope.name(name).into_owned(), component.has_effects());
        CallError::Fault { tool, fault, has_effects }
    })?;
    if finished.timers_changed {
        scope.workspace().deliveries.set_timers_changed();
    }
    Ok(finished)
}

/// Converts the component's result to the common tool output.
pub(super) fn outcome(finished: Finished<Result<WasmResult, ToolError>>) -> Result<Output, CallError> {
    let Finished { value, attached, .. } = finished;
    value.map(|result| output(result, attached)).map_err(|error| CallError::Tool(failure(error)))
}

fn output(result: WasmResult, attached: Vec<RichContent>) -> Output {
    let content = result.content.into_iter().map(|content| match content {
        WasmContent::Text(text) => OutputContent::Text(text),
        WasmContent::Image(image) => OutputContent::Image { data: image.data, mime_type: image.mime_type },
        WasmContent::Document(document) => {
            OutputContent::Document { uri: document.uri, mime_type: document.mime_type, text: document.text }
        }
    });
    let content = content.chain(attached.into_iter().map(OutputContent::Attached)).collect();
    Output { content, structured: result.structured, is_error: false }
}

pub(super) fn failure(error: ToolError) -> Failure {
    match error {
        ToolError::InvalidInput(text) => Failure::InvalidInput(text),
        ToolError::Denied(text) => Failure::Denied(text),
        ToolError::NotFound(text) => Failure::NotFound(text),
        ToolError::TimedOut(text) => Failure::TimedOut(text),
        ToolError::Failed(text) => Failure::Failed(text),
        ToolError::Cancelled => Failure::Cancelled,
    }
}
