//! Applies the `[[rules]]` of the policy to a call: refuses it, or asks a person before it runs.
//!
//! An approval holds for one call with exactly the shown arguments, under the rules that asked.

use std::time::Instant;

use scorpiox_capabilities::ask::Asked;
use scorpiox_executor::Reason;
use scorpiox_metering::records::CallError;
use scorpiox_policy::{CallDecision, CallFacts, CallRule};
use scorpiox_questions::{Asker, Questions};
use scorpiox_text::line::escaped_json;
use scorpiox_tools::{Failure, Tool};
use serde_json::{Map, json};

use crate::client::Client;
use crate::scope::Scope;

/// Maximum length of the shown arguments, in characters. A person approves only what is shown completely.
const MAX_SHOWN_CHARS: usize = 1500;
/// Maximum number of blanks in a row, plus one.
const MAX_BLANKS: usize = 32;
/// Labels of the answers.
const ALLOW: &str = "Allow this call";
const DENY: &str = "Deny";

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
    let circumstances = scope.session.circumstances(scope.request, workspace.operator());
    let circumstances = circumstances.map_err(|error| CallError::Policy(error.to_string()))?;
    let original = workspace.plugins.authors_name(&tool.name);
    let call = CallFacts {
        tool: &tool.name,
        original: original.as_deref(),
        arguments,
        circumstances: &circumstances,
    };
    let rules = match policy.calls.decide(&call, &places) {
        CallDecision::Unruled => return Ok(Vec::new()),
        CallDecision::Ask(rules) => rules,
        CallDecision::Deny(rule) => {
            return Err(refused(scope, tool, rule, "denied", &format!("{rule} denies it")));
        }
    };
    // Callers of a team's server do not approve their own calls, unless the rule says so.
    match rules.iter().find(|rule| !rule.can_be_approved(scope.session.principal.is_some())) {
        None => Ok(rules),
        Some(rule) => {
            let why = format!(
                "{rule} requires an approval, and over HTTP only a rule with `self = true` lets the caller give it"
            );
            Err(refused(scope, tool, rule, "nobody can be asked", &why))
        }
    }
}

/// Checks that the policy of the call is still in force: it may have changed while a person was asked.
pub(super) fn check_policy(scope: &Scope<'_>) -> Result<(), String> {
    if scope.workspace().is_in_force() {
        return Ok(());
    }
    Err("the policy was changed while the person was asked; call again".to_owned())
}

/// Asks a person whether the call may run.
pub(super) fn obtain(
    scope: &Scope<'_>,
    client: &Client,
    tool: &Tool,
    arguments: &str,
    rules: &[&CallRule],
) -> Result<(), CallError> {
    let Some(first) = rules.first() else { return Ok(()) };
    let questions = question(&tool.name, arguments, rules).map_err(|why| {
        refused(scope, tool, first, "cannot be shown", &format!("{first} asks first, and {why}"))
    })?;
    let principal = scope.session.principal_key();
    let Some(_open) = scope.workspace().app().approvals.begin(principal) else {
        let why =
            format!("{first} asks first, and too many questions are open; call again when they are answered");
        return Err(refused(scope, tool, first, "too many questions", &why));
    };
    let begun = Instant::now();
    let said = match client.approve(&questions, &scope.uses, "rules") {
        Asked::Answered(answers) => answers,
        Asked::Cancelled if scope.cancel().reason() == Some(Reason::Overdue) => {
            let within = begun.elapsed().as_secs();
            let why = format!(
                "{first} asks first, and nobody answered within {within} s (for a client that is not told of progress, \
                 the setting ANSWER_WITHIN). Call it again to ask again"
            );
            return Err(refused(scope, tool, first, "no answer", &why));
        }
        Asked::Cancelled if scope.cancel().reason() == Some(Reason::PolicyChanged) => {
            let why = "the policy was changed while the person was asked; call again";
            return Err(refused(scope, tool, first, "the policy changed", why));
        }
        // If the client asks later, the answer of the call is the question, whatever its result.
        Asked::Cancelled | Asked::Later => return Err(CallError::Tool(Failure::Cancelled)),
        Asked::NoWay(why) => {
            let why = format!(
                "{first} asks first, and nobody could be asked ({why}). The person can be asked by a client with forms \
                 (elicitation), in tmux, or in a window of a terminal or desktop"
            );
            return Err(refused(scope, tool, first, "nobody can be asked", &why));
        }
    };
    check_policy(scope).map_err(|why| refused(scope, tool, first, "the policy changed", &why))?;
    let waited = begun.elapsed().as_secs();
    if said.is_only(ALLOW) {
        for rule in rules {
            let what = format!("rule {}, waited {waited} s", rule.name);
            scope.uses.allowed("approval", what, rule.source);
        }
        return Ok(());
    }
    let words = said.in_own_words().map_or_else(String::new, |words| format!(" and said: {words}"));
    let why = format!("{first} asked the person, who denied it{words}");
    Err(refused(scope, tool, first, "the person denied it", &why))
}

/// Returns the reason of a rule, as the end of a sentence.
fn reason(rule: &CallRule) -> String {
    rule.reason.as_deref().map_or_else(String::new, |reason| format!(": {reason}"))
}

/// Records a refusal, and returns it as the result of the call.
fn refused(scope: &Scope<'_>, tool: &Tool, rule: &CallRule, outcome: &str, why: &str) -> CallError {
    scope.uses.denied("rules", &tool.name, &format!("rule {}: {outcome}", rule.name), rule.source);
    let reason =
        rule.reason.as_deref().map_or_else(String::new, |reason| format!(" (Its reason: {reason}.)"));
    CallError::Policy(format!("{} was not run: {why}.{reason}", tool.name))
}

/// Returns the question. Fails if the arguments cannot be shown completely.
fn question(tool: &str, arguments: &str, rules: &[&CallRule]) -> Result<Questions, String> {
    let asking: Vec<_> = rules.iter().map(|rule| format!("Asked by {rule}{}.", reason(rule))).collect();
    let members: Map<String, serde_json::Value> =
        serde_json::from_str(arguments).map_err(|_| "its arguments are no JSON object".to_owned())?;
    let shown: Vec<_> = members.iter().map(|(key, value)| shown(key, value)).collect();
    let shown = if shown.is_empty() { "no arguments".to_owned() } else { shown.join("\n") };
    if shown.contains(&" ".repeat(MAX_BLANKS)) {
        return Err(format!("its arguments have {MAX_BLANKS} blanks in a row, which would hide the rest"));
    }
    let chars = shown.chars().count();
    if chars > MAX_SHOWN_CHARS {
        return Err(format!(
            "its arguments have {chars} characters, but at most {MAX_SHOWN_CHARS} can be shown to the person; make the \
             call smaller"
        ));
    }
    let text = format!("May {tool} run with these arguments?\n{shown}\n{}", asking.join("\n"));
    let deny = json!({"label": DENY, "description": "Any other answer denies it, too."});
    let questions = json!([{"question": text, "header": "Approval", "options": [ALLOW, deny]}]);
    let questions = Questions::parse(&questions.to_string()).map_err(|error| error.to_string())?;
    // Questions are cleaned, and a person must not approve anything other than the text that was shown.
    if questions.as_slice().first().is_none_or(|question| question.text != text) {
        return Err("its arguments have characters that cannot be shown".to_owned());
    }
    Ok(questions.asked_by(Asker::Policy))
}

/// Returns `false` for characters that many fonts show as nothing: outside of the usual planes, only emoji and
/// ideographs are certain to be seen.
fn has_glyph(c: char) -> bool {
    matches!(c, '\0'..='\u{ffff}' | '\u{1f000}'..='\u{1faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns an argument on one line, without characters that hide or reorder others.
fn shown(key: &str, value: &serde_json::Value) -> String {
    let member = json!({ key: value }).to_string();
    let line = escaped_json(&member);
    let line = line.strip_prefix('{').and_then(|line| line.strip_suffix('}')).unwrap_or(&line);
    line.chars().fold(String::new(), |mut shown, c| {
        if has_glyph(c) {
            shown.push(c);
        } else {
            shown.extend(c.escape_unicode());
        }
        shown
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_may_be_seen_as_nothing_are_escaped() {
        let given = "a\u{1d159}\u{13441}é漢😀";
        assert_eq!(shown("x", &json!(given)), r#""x":"a\u{1d159}\u{13441}é漢😀""#);
    }
}
