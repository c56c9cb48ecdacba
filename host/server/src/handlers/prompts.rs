//! `prompts/list`, `prompts/get`: each skill is a prompt that a person can pick.

use scorpiox_rpc::reply;
use serde::Serialize;
use serde_json::{Value, json};

use crate::call_error::CallError;
use crate::client::Client;
use crate::component_call::Invocation;
use crate::scope::{Answer, Scope};
use crate::tool_call;
use crate::workspace::UNBOUND_CHARS;
use scorpiox_mcp::content::Content;
use scorpiox_mcp::params::Text;
use scorpiox_mcp::result::Enveloped;
use scorpiox_mcp::{Params, RpcError};
use scorpiox_tools::{Failure, OutputContent};

/// The tool whose component knows skills, and that invokes them.
const SKILL_TOOL: &str = "InvokeSkill";

/// How long a client may keep the list.
const TTL_MS: u64 = 5000;

/// The one argument of a prompt.
const ARGUMENT: &str = "arguments";

#[derive(Serialize)]
struct Prompt {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    arguments: [Value; 1],
}

pub(crate) fn list(scope: &Scope<'_>) -> Answer {
    let revision = scope.request.revision;
    let mut prompts = Vec::new();
    if let Some(component) = scope.workspace().tool(SKILL_TOOL).and(scope.workspace().component(SKILL_TOOL)) {
        let setup = scope.setup();
        let (catalogue, _) = scope
            .workspace()
            .runtime()
            .skill_catalogue(component, &setup)
            .map_err(|fault| RpcError::internal(format!("skills cannot be listed: {fault}")))?;
        prompts.extend(catalogue.skills.into_iter().map(|skill| Prompt {
            title: revision.features().titles.then(|| skill.name.clone()),
            name: skill.name,
            description: scorpiox_text::clean(&skill.description).into_owned(),
            arguments: [json!({ "name": ARGUMENT, "description": "Arguments to pass to the skill", "required": false })],
        }));
    }
    let result = Enveloped::cacheable(revision, TTL_MS, json!({ "prompts": prompts }));
    Ok(reply::result(&scope.request.id, &result))
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
    let arguments = params.object("arguments")?.unwrap_or_else(Params::default);
    let arguments = arguments.optional::<Text<'_>>(ARGUMENT, "a string")?;
    let text = invoke(scope, &name, arguments.as_ref().map_or("", |text| &text.0))?;
    let message = Message { role: "user", content: Content::text(scorpiox_text::clean(&text)) };
    let result = Enveloped::complete(scope.request.revision, Got { messages: [message] });
    Ok(reply::result(&scope.request.id, &result))
}

/// The text that the tool gives for a skill.
fn invoke(scope: &Scope<'_>, name: &str, arguments: &str) -> Result<String, RpcError> {
    let tool = scope.workspace().tool(SKILL_TOOL).ok_or_else(|| {
        let shown: String = name.chars().take(100).collect();
        RpcError::invalid_params(format!("there is no prompt {shown:?}"))
    })?;
    let arguments = json!({ "skill_name": name, "arguments": arguments }).to_string();
    let client = Client::of(scope, SKILL_TOOL, &arguments)?;
    // A person picked it, and no client cuts a prompt.
    let invocation = Invocation { tool: &tool, arguments: &arguments, client: &client, room: UNBOUND_CHARS };
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
        Err(CallError::Tool(Failure::NotFound(text) | Failure::InvalidInput(text))) => {
            Err(RpcError::invalid_params(text))
        }
        Err(error) => Err(RpcError::internal(error.to_string())),
    }
}
