//! Prompts, resources and completions of plugins.
//!
//! Each request is a component call with its limits and grants, and is recorded in the audit by its method.

use std::sync::Arc;

use scorpiox_capabilities::contents::{check, check_resource};
use scorpiox_mcp::content::{Content, Embedded};
use scorpiox_mcp::jsonrpc::{code, reply};
use scorpiox_mcp::params::Text;
use scorpiox_mcp::result::Enveloped;
use scorpiox_mcp::{Params, RpcError};
use scorpiox_metering::records::CallError;
use scorpiox_runtime::bindings::prompting::scorpiox::tool::offers::{
    CompletionRequest, CompletionSubject, Completions, FilledPrompt, ReadError, Role,
};
use scorpiox_tools::Failure;
use scorpiox_tools::offers::render;
use scorpiox_tools::plugins::Offering;
use serde::Serialize;
use serde_json::json;

use super::prompts;
use crate::client::{Client, Unmarked};
use crate::component_call;
use crate::read_before;
use crate::scope::{Answer, Scope};

/// Time to live of a resource's contents in a client.
const TTL_MS: u64 = 5000;
/// Error code of older revisions for a missing resource.
const RESOURCE_NOT_FOUND: i32 = -32002;
/// Maximum number of completion values, as the protocol defines it.
const MAX_VALUES: usize = 100;
/// Maximum length of a completion value in characters.
const MAX_VALUE_CHARS: usize = 1000;
/// Maximum number of messages in a prompt.
const MAX_MESSAGES: usize = 100;

/// Records the plugin that a request reaches, with the rule by which it runs.
fn note(scope: &Scope<'_>, offering: &Offering) -> Result<(), RpcError> {
    let plugin = offering.served.plugin();
    if let Some(rule) = scope.workspace().plugins.rule_of(plugin) {
        scope.uses.allowed("plugins", plugin, rule);
    }
    read_before::keep_for(scope, &offering.component, plugin.as_str()).map_err(RpcError::internal)
}

/// Converts a call error to a protocol error, because these methods have no error results.
fn rpc_error(scope: &Scope<'_>, error: &CallError) -> RpcError {
    error.lacking(scope.request.revision).unwrap_or_else(|| match error {
        CallError::Tool(Failure::NotFound(why) | Failure::InvalidInput(why) | Failure::Denied(why)) => {
            RpcError::invalid_params(scorpiox_text::clean(why))
        }
        error => RpcError::internal(scorpiox_text::clean(&error.to_string())),
    })
}

/// Fills in a plugin's prompt, which the plugin calls `own`.
pub(super) fn get_prompt(
    scope: &Scope<'_>,
    offering: &Offering,
    own: &str,
    arguments: &[(String, String)],
) -> Answer {
    #[derive(Serialize)]
    struct Message<'a> {
        role: &'static str,
        content: Content<'a>,
    }
    note(scope, offering)?;
    let raw = scope.request.params.raw("arguments").map_or("{}", |raw| raw.get());
    let name = format!("prompts/get:{}.{own}", offering.served.plugin());
    let client = Client::of(scope, &name, raw, Unmarked::Taken)?;
    let fail = |error: &CallError| rpc_error(scope, error);
    let component = &offering.component;
    let setup = component_call::setup(scope, component, &client).map_err(|error| fail(&error))?;
    let called = scope.workspace().runtime().get_prompt(component, &setup, own, arguments);
    if let Some(asks) = client.input_required(scope) {
        return asks;
    }
    let finished = component_call::finished(scope, component, &name, called);
    let filled = finished
        .and_then(|finished| finished.value.map_err(|error| CallError::Tool(component_call::failure(error))));
    let FilledPrompt { description, messages } = filled.map_err(|error| fail(&error))?;
    if messages.is_empty() || messages.len() > MAX_MESSAGES {
        return Err(RpcError::internal(format!(
            "the plugin gave {} messages; a prompt has 1 to {MAX_MESSAGES}",
            messages.len()
        )));
    }
    for message in &messages {
        check(&message.content).map_err(|why| {
            RpcError::internal(format!("the plugin gave a message that cannot be shown: {why}"))
        })?;
    }
    let revision = scope.request.revision;
    let written: Vec<_> = messages
        .iter()
        .map(|message| Message {
            role: match message.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            },
            content: render::content(&message.content, revision, scope.request.traits),
        })
        .collect();
    let mut body = json!({ "messages": written });
    if let Some(description) = description {
        body["description"] = json!(scorpiox_text::clean(&description));
    }
    Ok(reply::result(&scope.request.id, &Enveloped::complete(revision, body)))
}

/// Returns the error for a URI without a resource.
pub(super) fn no_resource(scope: &Scope<'_>, uri: &str) -> RpcError {
    let code =
        if scope.request.revision.features().handshake { RESOURCE_NOT_FOUND } else { code::INVALID_PARAMS };
    let shown: String = uri.chars().take(200).collect();
    RpcError::new(code, format!("there is no resource {shown:?}")).with_data(json!({ "uri": uri }))
}

/// Reads a plugin's resource.
pub(super) fn read(scope: &Scope<'_>, uri: &str) -> Answer {
    let Some(offering) = scope.access().offering_at(uri, Some(&scope.uses)) else {
        return Err(no_resource(scope, uri));
    };
    note(scope, &offering)?;
    let client = Client::of(scope, "resources/read", uri, Unmarked::Taken)?;
    let component = &offering.component;
    let fail = |error: &CallError| rpc_error(scope, error);
    let setup = component_call::setup(scope, component, &client).map_err(|error| fail(&error))?;
    let called = scope.workspace().runtime().read_resource(component, &setup, uri);
    if let Some(asks) = client.input_required(scope) {
        return asks;
    }
    let name = offering.served.plugin().as_str();
    let finished = component_call::finished(scope, component, name, called).map_err(|error| fail(&error))?;
    let contents = finished.value.map_err(|error| match error {
        ReadError::NotFound => no_resource(scope, uri),
        ReadError::Denied(why) => {
            RpcError::invalid_params(scorpiox_text::clean(&why)).with_data(json!({ "uri": uri }))
        }
        ReadError::Failed(why) => RpcError::internal(scorpiox_text::clean(&why)),
    })?;
    // A client would take an empty list for an empty file.
    if contents.is_empty() {
        return Err(no_resource(scope, uri));
    }
    for content in &contents {
        // The plugin may also return resources below the URI, but no other plugin's resources.
        let is_own = offering.served.serves(&content.uri) || content.uri == uri;
        let checked = check_resource(content).and_then(|()| {
            if is_own { Ok(()) } else { Err(format!("{:?} is no address of the plugin", content.uri)) }
        });
        checked.map_err(|why| RpcError::internal(format!("the plugin gave what cannot be read: {why}")))?;
    }
    let contents: Vec<Embedded<'_>> = contents.iter().map(render::embedded).collect();
    let body = json!({ "contents": contents });
    Ok(reply::result(&scope.request.id, &Enveloped::cacheable(scope.request.revision, TTL_MS, body)))
}

/// `completion/complete`.
pub(crate) fn complete(scope: &Scope<'_>) -> Answer {
    let params = &scope.request.params;
    let reference = params.object("ref")?.ok_or_else(|| {
        RpcError::invalid_params("ref is missing; it must be a prompt or a template of resources")
    })?;
    let argument = params.object("argument")?;
    let argument =
        argument.ok_or_else(|| RpcError::invalid_params("argument is missing; it must be an object"))?;
    let text = |of: &Params<'_>, name: &str| {
        Ok::<_, RpcError>(of.required::<Text<'_>>(name, "a string")?.0.into_owned())
    };
    let (name, value) = (text(&argument, "name")?, text(&argument, "value")?);
    let given = params.object("context")?.map(|context| prompts::texts(&context, "arguments")).transpose()?;
    let given = given.unwrap_or_default();
    let found = match &*text(&reference, "type")? {
        "ref/prompt" => {
            let prompt = text(&reference, "name")?;
            match prompts::find(scope, &prompt)? {
                // Skill arguments are free text, so there are no values to complete.
                prompts::Found::Skill => None,
                prompts::Found::OfPlugin(offering, own) => {
                    let knows = |known: &&scorpiox_tools::offers::Prompt| known.name == own;
                    let prompt = offering.served.prompts().iter().find(knows);
                    let has = |argument: &scorpiox_tools::offers::PromptArgument| argument.name == name;
                    let is_known = prompt.is_some_and(|prompt| prompt.arguments.iter().any(has));
                    is_known.then_some((offering, CompletionSubject::Prompt(own)))
                }
                prompts::Found::Nothing => return Err(prompts::unknown(&prompt)),
            }
        }
        "ref/resource" => {
            let template = text(&reference, "uri")?;
            let offerings = scope.access().resourceful();
            let lists = |offering: &&Arc<Offering>| {
                offering.served.templates().any(|own| own.uri_template == template)
            };
            let offering = offerings.iter().find(lists).ok_or_else(|| no_resource(scope, &template))?;
            Some((Arc::clone(offering), CompletionSubject::Template(template)))
        }
        other => {
            let shown: String = other.chars().take(60).collect();
            return Err(RpcError::invalid_params(format!(
                "ref.type is {shown:?}; it must be \"ref/prompt\" or \"ref/resource\""
            )));
        }
    };
    let completions = match found {
        Some((offering, subject)) => {
            completions(scope, &offering, &CompletionRequest { subject, name, value, given })?
        }
        None => Completions { values: Vec::new(), total: Some(0) },
    };
    let Completions { values, total } = completions;
    let count = values.len();
    let fits = |value: &String| value.chars().count() <= MAX_VALUE_CHARS;
    let values: Vec<_> = values
        .iter()
        .filter(|value| fits(value))
        .take(MAX_VALUES)
        .map(|value| scorpiox_text::clean(value))
        .collect();
    let total = total.map_or(count, |total| (total as usize).max(count));
    let body = json!({ "completion": { "values": values, "total": total, "hasMore": total > values.len() } });
    Ok(reply::result(&scope.request.id, &Enveloped::complete(scope.request.revision, body)))
}

fn completions(
    scope: &Scope<'_>,
    offering: &Offering,
    request: &CompletionRequest,
) -> Result<Completions, RpcError> {
    note(scope, offering)?;
    let component = &offering.component;
    let setup = scope.setup();
    let completed = scope.workspace().runtime().complete(component, &setup, request);
    let completed = completed.map_err(|fault| {
        RpcError::internal(format!("{} completed nothing: {fault}", offering.served.plugin()))
    })?;
    match completed {
        Some(Ok(completions)) => Ok(completions),
        Some(Err(why)) => Err(RpcError::invalid_params(scorpiox_text::clean(&why))),
        None => Ok(Completions { values: Vec::new(), total: Some(0) }),
    }
}

/// `resources/subscribe`, in the revisions that have it.
pub(crate) fn subscribe(scope: &Scope<'_>) -> Answer {
    let uri = scope.request.params.required::<Text<'_>>("uri", "a resource's address")?.0.into_owned();
    if scope.access().offering_at(&uri, None).is_none() {
        return Err(no_resource(scope, &uri));
    }
    scope.session.watched.add(uri).map_err(RpcError::invalid_request)?;
    Ok(reply::result(&scope.request.id, &json!({})))
}

/// `resources/unsubscribe`.
pub(crate) fn unsubscribe(scope: &Scope<'_>) -> Answer {
    let uri = scope.request.params.required::<Text<'_>>("uri", "a resource's address")?.0;
    scope.session.watched.remove(&uri);
    Ok(reply::result(&scope.request.id, &json!({})))
}
