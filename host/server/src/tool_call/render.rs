//! Fifth step: writes the answer.

use scorpiox_executor::Reason;
use scorpiox_mcp::jsonrpc::reply;
use scorpiox_mcp::result::{Account, Enveloped};
use scorpiox_metering::records::CallError;
use scorpiox_tools::{Kind, Output, OutputContent, Tool, unknown_arguments};

use super::record::{Ended, Recorded};
use crate::read_before;
use crate::rendering::{Body, Manner};
use crate::scope::{Answer, Scope};
use crate::session::Audience;

impl Recorded<'_> {
    /// Returns the answer of the call.
    pub(super) fn render(self) -> Answer {
        match self {
            Self::InputRequired(answer) => answer,
            Self::Ended(ended) => Ok(ended.render()),
        }
    }
}

impl Ended<'_> {
    fn render(self) -> Vec<u8> {
        let Self { scope, tool, arguments, outcome, messages_waiting } = self;
        let account = (scope.session.audience == Audience::Person).then(|| account(scope, &outcome));
        let outcome = outcome.map_err(|error| sentence(scope, tool, &error));
        let outcome = after_reads(scope, outcome);
        let outcome = unknown_arguments::told(tool, arguments, outcome);
        let body = Body::of(&outcome, Manner::of(scope, tool), || scope.workspace().shell().place_for_text());
        let mut messages = Vec::new();
        // An answer that is not sent must not consume messages.
        let takes_messages = scope.session.audience == Audience::Model && messages_waiting != Some(false);
        if takes_messages && scope.session.inflight.finish(scope.ticket) {
            let room = body.room_for_messages();
            messages = scope.workspace().deliveries.take(&scope.workspace().store, messages_waiting, room);
        }
        let result = Enveloped::accounted(scope.request.revision, account, body.with(&messages));
        reply::result(&scope.request.id, &result)
    }
}

fn account(scope: &Scope<'_>, outcome: &Result<Output, CallError>) -> Account {
    let error = outcome.as_ref().err().map(CallError::kind);
    Account { error, memory: scope.uses.memory(), touched: scope.uses.lines() }
}

/// Describes to the model why a call has no result, including a call that exceeded its deadline. Native tools
/// describe that themselves.
fn sentence(scope: &Scope<'_>, tool: &Tool, error: &CallError) -> String {
    let mut sentence = without_refusals(scope, tool, error);
    // A plugin may have hidden a refusal in its own error. Built-in tools report refusals themselves.
    if matches!(tool.kind, Kind::Plugin { .. }) && !error.is_refusal() {
        sentence.extend(scope.uses.refusals().iter().flat_map(|refusal| ["\n", refusal]));
    }
    sentence
}

/// Adds a note on each restriction that holds because of files that were read before, if something was refused.
fn after_reads(scope: &Scope<'_>, outcome: Result<Output, String>) -> Result<Output, String> {
    let notes = if scope.uses.was_denied() { read_before::notes(scope).join("\n") } else { String::new() };
    if notes.is_empty() {
        return outcome;
    }
    match outcome {
        Ok(mut output) => {
            output.content.push(OutputContent::Text(notes));
            Ok(output)
        }
        Err(sentence) => Err(format!("{sentence}\n{notes}")),
    }
}

fn without_refusals(scope: &Scope<'_>, tool: &Tool, error: &CallError) -> String {
    if scope.cancel().reason() == Some(Reason::PolicyChanged) && !matches!(tool.kind, Kind::Native(_)) {
        return format!(
            "{error} It was ended because the policy was changed while it ran, and may no longer allow it; repeat the call."
        );
    }
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
