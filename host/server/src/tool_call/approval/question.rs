//! The question about a call, and the call as approvals keep it.

use scorpiox_approvals::{Extent, Wanted, shown};
use scorpiox_policy::{CallRule, exact_arguments};
use scorpiox_questions::{Answers, Asker, Questions};
use scorpiox_text::line::escaped;
use scorpiox_tools::{Kind, Tool};
use serde_json::json;

use crate::scope::Scope;

/// Labels of the answers.
pub(super) const ALLOW: &str = "Allow this call";
const ALLOW_SESSION: &str = "Allow it for this session";
const ALLOW_WORKSPACE: &str = "Allow it in this workspace";
const DENY: &str = "Deny";

/// Returns the call as approvals keep it.
pub(super) fn wanted(scope: &Scope<'_>, tool: &Tool, arguments: &str, rules: &[&CallRule]) -> Wanted {
    let hash = match &tool.kind {
        Kind::Native(_) => None,
        Kind::Wasm { component, .. } | Kind::Plugin { component, .. } => component.plugin.as_ref(),
    };
    let hash = hash.map_or_else(String::new, |plugin| plugin.hash.to_string());
    let arguments =
        exact_arguments(arguments).map_or_else(|| arguments.to_owned(), |exact| exact.to_string());
    bound(scope, tool.name.to_string(), hash, arguments, rules)
}

/// Returns a call of the session, with everything that an approval is bound to.
pub(super) fn bound(
    scope: &Scope<'_>,
    tool: String,
    component: String,
    arguments: String,
    rules: &[&CallRule],
) -> Wanted {
    let mut wanted = Wanted {
        workspace: scope.workspace().operator().site().workspace.to_string_lossy().into_owned(),
        principal: scope.session.principal_key().map(str::to_owned),
        caller: scope.session.principal.as_ref().map(|principal| principal.name.clone()),
        client: scope
            .session
            .client_name(scope.request)
            .map_or_else(String::new, |client| client.text.clone()),
        tool,
        component,
        arguments,
        rules: Vec::new(),
        is_strong: false,
        within_ms: 0,
        remember: Vec::new(),
    };
    wanted.ask_like(rules);
    wanted
}

/// Returns the question. Fails if the arguments cannot be shown completely.
pub(super) fn question(wanted: &Wanted, rules: &[&CallRule]) -> Result<Questions, String> {
    if exact_arguments(&wanted.arguments).is_none() {
        return Err(
            "its arguments are not clear: they are no JSON, have two members of a name, a number that does \
                    not fit, or too many values"
                .to_owned(),
        );
    }
    let shown = shown(&wanted.arguments)?;
    let asking: Vec<_> = rules
        .iter()
        .map(|rule| format!("Asked by {rule}{}{}.", rule.doubt(&wanted.arguments), reason(rule)))
        .map(|asking| escaped(&asking).into_owned())
        .collect();
    let text = format!("May {} run with these arguments?\n{shown}\n{}", wanted.tool, asking.join("\n"));
    let offers = |word: &str| wanted.remember.iter().any(|offered| offered == word);
    let mut options = vec![json!(ALLOW)];
    options.extend(offers("session").then(|| json!(ALLOW_SESSION)));
    options.extend(offers("workspace").then(|| json!(ALLOW_WORKSPACE)));
    options.push(json!({"label": DENY, "description": "Any other answer denies it, too."}));
    let questions = json!([{"question": text, "header": "Approval", "options": options}]);
    let questions = Questions::parse(&questions.to_string()).map_err(|error| error.to_string())?;
    // Questions are cleaned, and a person must not approve anything other than the text that was shown.
    if questions.as_slice().first().is_none_or(|question| question.text != text) {
        return Err("its arguments have characters that cannot be shown".to_owned());
    }
    Ok(questions.asked_by(Asker::Policy))
}

/// Returns the extent of the approval that the answers give; `None` if they deny.
pub(super) fn extent(said: &Answers) -> Option<Extent> {
    [(ALLOW, Extent::Once), (ALLOW_SESSION, Extent::Session), (ALLOW_WORKSPACE, Extent::Workspace)]
        .into_iter()
        .find_map(|(label, extent)| said.is_only(label).then_some(extent))
}

/// Returns the reason of a rule, as the end of a sentence.
fn reason(rule: &CallRule) -> String {
    rule.reason.as_deref().map_or_else(String::new, |reason| format!(": {reason}"))
}
