//! `prompts/list`, `prompts/get`: each skill is a prompt that a person can pick.

use scorpiox_rpc::reply;
use serde::Serialize;
use serde_json::{Value, json};

use crate::bindings::any_tool::exports::scorpiox::tool::tool::ToolError;
use crate::bindings::any_tool::scorpiox::tool::types::Content as WasmContent;
use crate::mcp::content::Content;
use crate::mcp::params::Text;
use crate::mcp::result::Surrounded;
use crate::mcp::{Params, RpcError};
use crate::server::dispatch::{Answer, Scope};

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
    if let Some(component) = scope.context.tool(SKILL_TOOL).and(scope.context.component(SKILL_TOOL)) {
        let setup = scope.setup();
        let (catalogue, _) = scope
            .context
            .runtime
            .skill_catalogue(component, &setup)
            .map_err(|fault| RpcError::internal(format!("skills cannot be listed: {fault}")))?;
        prompts.extend(catalogue.skills.into_iter().map(|skill| Prompt {
            title: revision.features().titles.then(|| skill.name.clone()),
            name: skill.name,
            description: scorpiox_text::clean(&skill.description).into_owned(),
            arguments: [json!({ "name": ARGUMENT, "description": "Arguments to pass to the skill", "required": false })],
        }));
    }
    let result = Surrounded::cacheable(revision, TTL_MS, json!({ "prompts": prompts }));
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
    let result = Surrounded::complete(scope.request.revision, Got { messages: [message] });
    Ok(reply::result(&scope.request.id, &result))
}

/// The text that the tool gives for a skill.
fn invoke(scope: &Scope<'_>, name: &str, arguments: &str) -> Result<String, RpcError> {
    let unknown = || {
        RpcError::invalid_params(format!(
            "there is no prompt {:?}",
            name.chars().take(100).collect::<String>()
        ))
    };
    let component =
        scope.context.tool(SKILL_TOOL).and(scope.context.component(SKILL_TOOL)).ok_or_else(unknown)?;
    let setup = scope.setup();
    let call = json!({ "skill_name": name, "arguments": arguments }).to_string();
    let finished = scope
        .context
        .runtime
        .call_tool(component, &setup, SKILL_TOOL, &call)
        .map_err(|fault| RpcError::internal(format!("the skill has no result: {fault}")))?;
    match finished.value {
        Ok(result) => Ok(result
            .content
            .into_iter()
            .filter_map(|content| match content {
                WasmContent::Text(text) => Some(text),
                _ => None,
            })
            .collect::<Vec<_>>()
            .join("\n")),
        Err(ToolError::NotFound(text) | ToolError::InvalidInput(text)) => Err(RpcError::invalid_params(text)),
        Err(_) => Err(RpcError::internal("the skill cannot be read")),
    }
}
