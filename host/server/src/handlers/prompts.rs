//! `prompts/list`, `prompts/get`: each skill is a prompt that a person can pick.

use std::collections::BTreeMap;

use scorpiox_rpc::reply;
use serde::Serialize;
use serde_json::json;

use crate::client::Client;
use crate::component_call::Invocation;
use crate::scope::{Answer, Scope};
use crate::tool_call;
use crate::workspace::UNBOUND_CHARS;
use scorpiox_capabilities::setup::Caller;
use scorpiox_mcp::RpcError;
use scorpiox_mcp::content::Content;
use scorpiox_mcp::params::Text;
use scorpiox_mcp::result::Enveloped;
use scorpiox_records::CallError;
use scorpiox_runtime::bindings::skill_reader::exports::scorpiox::tool::skill_catalogue::Skill;
use scorpiox_skills::prompt::{self, Given, PromptArgument};
use scorpiox_tools::{Failure, OutputContent};

/// The tool whose component knows skills, and that invokes them.
const SKILL_TOOL: &str = "InvokeSkill";

/// How long a client may keep the list.
const TTL_MS: u64 = 5000;

#[derive(Serialize)]
struct Prompt {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    arguments: Vec<PromptArgument>,
}

pub(crate) fn list(scope: &Scope<'_>) -> Answer {
    let revision = scope.request.revision;
    let skills = skills(scope)?.into_iter().filter(|skill| skill.for_people);
    let prompts: Vec<_> = skills
        .map(|skill| Prompt {
            title: revision.features().titles.then(|| skill.name.clone()),
            description: scorpiox_text::clean(&skill.description).into_owned(),
            arguments: prompt::arguments(&skill),
            name: skill.name,
        })
        .collect();
    let result = Enveloped::cacheable(revision, TTL_MS, json!({ "prompts": prompts }));
    Ok(reply::result(&scope.request.id, &result))
}

/// The skills that there are, if they are served.
fn skills(scope: &Scope<'_>) -> Result<Vec<Skill>, RpcError> {
    let workspace = scope.workspace();
    let Some(component) = scope.session.tool(SKILL_TOOL).and(workspace.component(SKILL_TOOL)) else {
        return Ok(Vec::new());
    };
    let catalogue = workspace.runtime().skill_catalogue(component, &scope.setup());
    let (catalogue, _) =
        catalogue.map_err(|fault| RpcError::internal(format!("skills cannot be listed: {fault}")))?;
    Ok(catalogue.skills)
}

pub(crate) fn get(scope: &Scope<'_>) -> Answer {
    #[derive(Serialize)]
    struct Got<'a> {
        messages: [Message<'a>; 1],
    }
    #[derive(Serialize)]
    struct Message<'a> {
        role: &'static str,
        content: Content<'a>,
    }
    let params = &scope.request.params;
    let name = params.required::<Text<'_>>("name", "the name of a prompt")?.0;
    params.object("arguments")?;
    let given = params.optional::<Option<BTreeMap<_, _>>>("arguments", "an object of strings")?.flatten();
    let given = Given::new(given.unwrap_or_default());
    let names = if given.has_names() { names(scope, &name)? } else { Vec::new() };
    let arguments = given.text(&names).map_err(|error| RpcError::invalid_params(error.to_string()))?;
    let text = invoke(scope, &name, &arguments)?;
    let message = Message { role: "user", content: Content::text(scorpiox_text::clean(&text)) };
    let result = Enveloped::complete(scope.request.revision, Got { messages: [message] });
    Ok(reply::result(&scope.request.id, &result))
}

/// The names of a skill's arguments.
fn names(scope: &Scope<'_>, name: &str) -> Result<Vec<String>, RpcError> {
    let skill = skills(scope)?.into_iter().find(|skill| skill.name == name);
    Ok(skill.map(|skill| skill.arguments).unwrap_or_default())
}

/// The text that the tool gives for a skill.
fn invoke(scope: &Scope<'_>, name: &str, arguments: &str) -> Result<String, RpcError> {
    let tool = scope.session.tool(SKILL_TOOL).ok_or_else(|| {
        let shown: String = name.chars().take(100).collect();
        RpcError::invalid_params(format!("there is no prompt {shown:?}"))
    })?;
    let arguments = json!({ "skill_name": name, "arguments": arguments }).to_string();
    let client = Client::of(scope, SKILL_TOOL, &arguments)?;
    // A person picked it, and no client cuts a prompt.
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
