//! Applies the `[[rules]]` of the policy to a call: refuses it, or asks a person before it runs.
//!
//! An approval holds for exactly the shown arguments, under the rules that asked. [`waiting`] gets the answer.

mod hosts;
mod question;
mod waiting;

use std::borrow::Cow;

use scorpiox_metering::records::CallError;
use scorpiox_policy::{CallDecision, CallFacts, CallRule, Channel, Covering, Source};
use scorpiox_tools::Tool;

use crate::read_before;
use crate::scope::Scope;

pub(super) use hosts::ask as ask_about_host;
pub(super) use waiting::obtain;

/// Returns the rules that require an approval of the call; empty if it may run. Fails if a rule refuses it.
pub(crate) fn required<'a>(
    scope: &'a Scope<'_>,
    tool: &Tool,
    arguments: &str,
) -> Result<Vec<&'a CallRule>, CallError> {
    let workspace = scope.workspace();
    // A policy that cannot be used refuses each call by itself.
    let Ok(policy) = workspace.operator().policy() else { return Ok(Vec::new()) };
    if policy.calls.0.is_empty() {
        return Ok(Vec::new());
    }
    let places = workspace.operator().places().map_err(|error| CallError::Policy(error.to_string()))?;
    let circumstances = if let Some(known) = scope.circumstances {
        Cow::Borrowed(known)
    } else {
        let found = scope.session.circumstances(scope.request, workspace.operator());
        Cow::Owned(found.map_err(|error| CallError::Policy(error.to_string()))?)
    };
    let original = workspace.plugins.authors_name(&tool.name);
    let call = CallFacts {
        tool: &tool.name,
        original: original.as_deref(),
        arguments,
        circumstances: &circumstances,
    };
    let covering = policy.calls.covering(&call, &places);
    for Covering { rule, then, .. } in covering.iter().filter(|covering| covering.rule.reports) {
        scope.uses.reported("rules", &tool.name, then.word(), &format!("rule {}", rule.name), rule.source);
    }
    let rules = match CallDecision::from(covering) {
        CallDecision::Unruled => return Ok(Vec::new()),
        CallDecision::Ask(rules) => rules,
        CallDecision::Deny(covering) => {
            let (rule, doubt) = (covering.rule, covering.because());
            let after = read_before::because(&rule.conditions, &circumstances.read_before);
            let after = after.unwrap_or_else(|| way_out(scope, rule).to_owned());
            return Err(refused(scope, tool, rule, "denied", &format!("{rule} denies it{doubt}{after}")));
        }
    };
    let caller = scope.session.principal.as_ref().map(|principal| principal.name.as_str());
    let is_unanswerable = |rule: &&&CallRule| {
        let is_strong = rule.channel_for(caller.is_some()) == Channel::Strong;
        is_strong && rule.answered_by(&policy.approvers, caller).next().is_none()
    };
    match rules.iter().find(is_unanswerable) {
        None => Ok(rules),
        Some(rule) if rule.channel == Channel::Weak => {
            let why = format!(
                "{rule} requires an approval. Over HTTP, an approver in the policy gives it ([approvers]), or with `self \
                 = true`, the caller"
            );
            Err(refused(scope, tool, rule, "nobody can be asked", &why))
        }
        Some(rule) => {
            let why = format!(
                "{rule} requires the answer of an approver, and the policy has none who may give it ([approvers])"
            );
            Err(refused(scope, tool, rule, "nobody can be asked", &why))
        }
    }
}

/// Fails unless a call may run without an approval, for a request about which nobody is asked. `instead` says which
/// call asks.
pub(crate) fn unasked(
    scope: &Scope<'_>,
    tool: &Tool,
    arguments: &str,
    instead: &str,
) -> Result<(), CallError> {
    match required(scope, tool, arguments)?.first() {
        None => Ok(()),
        Some(rule) => {
            let why = format!("{rule} requires an approval, and nobody is asked here; {instead}");
            Err(refused(scope, tool, rule, "nobody is asked", &why))
        }
    }
}

/// Returns how a rule that no approval overrules is changed, as the end of a sentence.
fn way_out(scope: &Scope<'_>, rule: &CallRule) -> &'static str {
    match rule.source {
        Source::Line(_) if scope.session.principal.is_none() => {
            ", and no approval allows it; the person can change that line"
        }
        _ => ", and no approval allows it",
    }
}

/// Checks that the policy of the call is still in force: it may have changed while a person was asked.
fn check_policy(scope: &Scope<'_>) -> Result<(), String> {
    if scope.workspace().is_in_force() {
        return Ok(());
    }
    Err("the policy was changed while the person was asked; call again".to_owned())
}

/// Records a refusal, and returns it as the result of the call.
fn refused(scope: &Scope<'_>, tool: &Tool, rule: &CallRule, outcome: &str, why: &str) -> CallError {
    scope.uses.denied("rules", &tool.name, &format!("rule {}: {outcome}", rule.name), rule.source);
    let reason =
        rule.reason.as_deref().map_or_else(String::new, |reason| format!(" (Its reason: {reason}.)"));
    CallError::Policy(format!("{} was not run: {why}.{reason}", tool.name))
}
