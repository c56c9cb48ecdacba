//! `prompts/list`, `prompts/get`: prompts of plugins, and each skill as a prompt that the user can pick.
//!
//! A skill keeps its name, regardless of plugin prompts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use scorpiox_mcp::jsonrpc::reply;
use serde::Serialize;
use serde_json::json;

use super::offers;
use crate::client::{Client, Unmarked};
use crate::component_call::Invocation;
use crate::scope::{Answer, Scope};
use crate::skills::prompt::{self, Given};
use crate::tool_call;
use crate::workspace::UNBOUND_CHARS;
use scorpiox_capabilities::notices::List;
use scorpiox_capabilities::setup::Caller;
use scorpiox_mcp::content::Content;
use scorpiox_mcp::params::Text;
use scorpiox_mcp::result::Enveloped;
use scorpiox_mcp::{Params, RpcError};
use scorpiox_metering::records::CallError;
use scorpiox_runtime::bindings::skill_reader::exports::scorpiox::tool::skill_catalogue::Skill;
use scorpiox_tools::plugins::Offering;
use scorpiox_tools::{Failure, OutputContent};

/// Tool that invokes skills, and whose component lists them.
const SKILL_TOOL: &str = "InvokeSkill";

/// Time to live of the list in a client.
const TTL_MS: u64 = 5000;

#[derive(Serialize)]
struct Prompt<A: Serialize> {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    arguments: A,
}

/// Prompts of skills and of plugins.
#[derive(Serialize)]
#[serde(untagged)]
enum Listed {
    OfSkill(Prompt<Vec<prompt::PromptArgument>>),
    OfPlugin(Prompt<Vec<scorpiox_tools::offers::PromptArgument>>),
}

pub(crate) fn list(scope: &Scope<'_>) -> Answer {
    let revision = scope.request.revision;
    let offerings = scope.access().offerings();
    scope.session.list_changed.listed(List::Prompts, scope.access().prompts_digest(&offerings));
    let skills = skills(scope)?;
    let names: BTreeSet<_> = skills.iter().map(|skill| skill.name.clone()).collect();
    let of_skills = skills.into_iter().filter(|skill| skill.for_people).map(|skill| {
        Listed::OfSkill(Prompt {
            title: revision.features().titles.then(|| skill.name.clone()),
            description: scorpiox_text::clean(&skill.description).into_owned(),
            arguments: prompt::arguments(&skill),
            name: skill.name,
        })
    });
    let of_plugins = of_plugins(&offerings, &names).into_iter().filter_map(|(name, offering, own)| {
        let prompt = offering.served.prompts().iter().find(|prompt| prompt.name == own)?.clone();
        if !scope.access().may_have(&offering, &prompt, None) {
            return None;
        }
        Some(Listed::OfPlugin(Prompt {
            title: prompt.title.filter(|_| revision.features().titles),
            description: prompt.description,
            arguments: prompt.arguments,
            name,
        }))
    });
    let prompts: Vec<_> = of_skills.chain(of_plugins).collect();
    let result = Enveloped::cacheable(revision, TTL_MS, json!({ "prompts": prompts }));
    Ok(reply::result(&scope.request.id, &result))
}

/// Returns the prompts of plugins in the order of the plugins: the client-visible name, the plugin, and the
/// plugin's own name for the prompt. An unprefixed name goes to the plugin that was approved first, and never
/// shadows a skill.
fn of_plugins(
    offerings: &[Arc<Offering>],
    skills: &BTreeSet<String>,
) -> Vec<(String, Arc<Offering>, String)> {
    let mut by_age: Vec<_> = offerings.iter().collect();
    by_age.sort_by_key(|offering| offering.decided_at);
    let mut plain = BTreeMap::new();
    for offering in by_age {
        for prompt in offering.served.prompts() {
            if let Some(name) = offering.served.plain_name(prompt).filter(|name| !skills.contains(*name)) {
                plain.entry(name.to_owned()).or_insert_with(|| offering.served.full_name(prompt));
            }
        }
    }
    let mut found = Vec::new();
    for offering in offerings {
        for prompt in offering.served.prompts() {
            let full = offering.served.full_name(prompt);
            let is_plain = plain.get(&prompt.name) == Some(&full);
            let name = if is_plain { prompt.name.clone() } else { full };
            if !skills.contains(&name) {
                found.push((name, Arc::clone(offering), prompt.name.clone()));
            }
        }
    }
    found
}

/// Owner of a prompt.
pub(super) enum Found {
    Skill,
    /// The plugin, and its own name for the prompt.
    OfPlugin(Arc<Offering>, String),
    Nothing,
}

/// Looks up a prompt by name.
pub(super) fn find(scope: &Scope<'_>, name: &str) -> Result<Found, RpcError> {
    let names: BTreeSet<_> = skills(scope)?.into_iter().map(|skill| skill.name).collect();
    if names.contains(name) {
        return Ok(Found::Skill);
    }
    Ok(of_plugin(scope, name, &names))
}

fn of_plugin(scope: &Scope<'_>, name: &str, skills: &BTreeSet<String>) -> Found {
    let offerings = scope.access().offerings();
    let found = of_plugins(&offerings, skills).into_iter().find(|(known, offering, own)| {
        // A prompt with an unprefixed name is also known by its full name.
        known == name
            || name
                .strip_prefix(offering.served.plugin().as_str())
                .is_some_and(|rest| rest.strip_prefix('.') == Some(own))
    });
    let is_open = |offering: &Offering, own: &str| {
        let prompt = offering.served.prompts().iter().find(|prompt| prompt.name == own);
        prompt.is_some_and(|prompt| scope.access().may_have(offering, prompt, Some(&scope.uses)))
    };
    match found {
        Some((_, offering, own)) if is_open(&offering, &own) => Found::OfPlugin(offering, own),
        _ => Found::Nothing,
    }
}

/// Returns the error for an unknown prompt.
pub(super) fn unknown(name: &str) -> RpcError {
    let shown: String = name.chars().take(100).collect();
    RpcError::invalid_params(format!("there is no prompt {shown:?}"))
}

/// Parses a member that is an object of strings.
pub(super) fn texts(params: &Params<'_>, member: &str) -> Result<Vec<(String, String)>, RpcError> {
    params.object(member)?;
    let given =
        params.optional::<Option<BTreeMap<String, Option<String>>>>(member, "an object of strings")?;
    let given = given.flatten().unwrap_or_default();
    Ok(given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
}

/// Returns all skills, if skills are served.
fn skills(scope: &Scope<'_>) -> Result<Vec<Skill>, RpcError> {
    let workspace = scope.workspace();
    let Some(component) = scope.access().tool(SKILL_TOOL).and(workspace.component(SKILL_TOOL)) else {
        return Ok(Vec::new());
    };
    let catalogue = workspace.runtime().skill_catalogue(component, &scope.setup());
    let (catalogue, _) =
        catalogue.map_err(|fault| RpcError::internal(format!("skills cannot be listed: {fault}")))?;
    Ok(catalogue.skills)
}

pub(crate) fn get(scope: &Scope<'_>) -> Answer {
    let params = &scope.request.params;
    let name = params.required::<Text<'_>>("name", "the name of a prompt")?.0;
    let given = texts(params, "arguments")?;
    // Without plugin prompts, the name must be a skill's, and the tool reports unknown skills.
    if !scope.access().offerings().is_empty() {
        match find(scope, &name)? {
            Found::Skill => {}
            Found::OfPlugin(offering, own) => return of_offering(scope, &offering, &own, &given),
            Found::Nothing => return Err(unknown(&name)),
        }
    }
    of_skill(scope, &name, given)
}

/// Returns a plugin's prompt after checking its arguments.
fn of_offering(scope: &Scope<'_>, offering: &Offering, own: &str, given: &[(String, String)]) -> Answer {
    let Some(prompt) = offering.served.prompts().iter().find(|prompt| prompt.name == own) else {
        return Err(unknown(own));
    };
    let known: Vec<_> = prompt.arguments.iter().map(|argument| argument.name.as_str()).collect();
    let takes = if known.is_empty() { "no arguments".to_owned() } else { known.join(", ") };
    if let Some((other, _)) = given.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        let shown: String = other.chars().take(60).collect();
        return Err(RpcError::invalid_params(format!(
            "there is no argument {shown:?}; the prompt takes {takes}"
        )));
    }
    let is_given = |name: &str| given.iter().any(|(given, _)| given == name);
    let missing = prompt.arguments.iter().find(|argument| argument.required && !is_given(&argument.name));
    if let Some(missing) = missing {
        return Err(RpcError::invalid_params(format!(
            "the argument {} is missing; the prompt takes {takes}",
            missing.name
        )));
    }
    offers::get_prompt(scope, offering, own, given)
}

fn of_skill(scope: &Scope<'_>, name: &str, given: Vec<(String, String)>) -> Answer {
    #[derive(Serialize)]
    struct Got<'a> {
        messages: [Message<'a>; 1],
    }
    #[derive(Serialize)]
    struct Message<'a> {
        role: &'static str,
        content: Content<'a>,
    }
    let given = Given::new(given.into_iter().map(|(name, value)| (name, Some(value))).collect());
    let names = if given.has_names() { names(scope, name)? } else { Vec::new() };
    let arguments = given.text(&names).map_err(|error| RpcError::invalid_params(error.to_string()))?;
    let text = invoke(scope, name, &arguments)?;
    let message = Message { role: "user", content: Content::text(scorpiox_text::clean(&text)) };
    let result = Enveloped::complete(scope.request.revision, Got { messages: [message] });
    Ok(reply::result(&scope.request.id, &result))
}

/// Returns the argument names of a skill.
fn names(scope: &Scope<'_>, name: &str) -> Result<Vec<String>, RpcError> {
    let skill = skills(scope)?.into_iter().find(|skill| skill.name == name);
    Ok(skill.map(|skill| skill.arguments).unwrap_or_default())
}

/// Returns the text that the tool produces for a skill.
fn invoke(scope: &Scope<'_>, name: &str, arguments: &str) -> Result<String, RpcError> {
    let tool = scope.access().tool(SKILL_TOOL).ok_or_else(|| unknown(name))?;
    let arguments = json!({ "skill_name": name, "arguments": arguments }).to_string();
    // A rule that asks is satisfied: a person chose the prompt.
    tool_call::required_approvals(scope, &tool, &arguments)
        .map_err(|error| RpcError::invalid_params(error.to_string()))?;
    let client = Client::of(scope, SKILL_TOOL, &arguments, Unmarked::Refused)?;
    // The user picked the skill, and no client truncates a prompt.
    let invocation = Invocation {
        tool: &tool,
        arguments: &arguments,
        client: &client,
        room: UNBOUND_CHARS,
        asked_by: Caller::Person,
    };
    match tool_call::run(scope, &invocation).outcome {
        Ok(output) => Ok(output
            .content
            .into_iter()
            .filter_map(|content| match content {
                OutputContent::Text(text) => Some(text),
                _ => None,
            })
            .collect::<Vec<_>>()
            .join("\n")),
        Err(CallError::Tool(
            Failure::NotFound(text) | Failure::InvalidInput(text) | Failure::Denied(text),
        )) => Err(RpcError::invalid_params(text)),
        Err(error) => Err(RpcError::internal(error.to_string())),
    }
}
