//! `tools/list`.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use scorpiox_mcp::jsonrpc::reply;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::Workspace;
use crate::scope::{Answer, Scope};
use scorpiox_capabilities::Capability;
use scorpiox_capabilities::notices;
use scorpiox_capabilities::setup::Setup;
use scorpiox_capabilities::skills::Reading;
use scorpiox_mcp::RpcError;
use scorpiox_mcp::client::with_prefix;
use scorpiox_mcp::result::Enveloped;
use scorpiox_runtime::bindings::any_tool::exports::scorpiox::tool::tool::ToolDefinition;
use scorpiox_runtime::bindings::skill_reader::exports::scorpiox::tool::skill_catalogue::Catalogue;
use scorpiox_runtime::{Component, Fault};
use scorpiox_tools::listing_cache::{self, Cached, Key};
use scorpiox_tools::{Definition, Kind, Marks};
use scorpiox_workspace_config::SkillsUnread;

/// Time to live of the list in a client. Skills can be added at any time.
const TTL_MS: u64 = 5000;
/// Maximum result size in characters that a server may request.
const MAX_SIZE_CHARS: u32 = 500_000;

/// A tool in the format of the revision.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    description: Cow<'a, str>,
    input_schema: Cow<'a, RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Annotations<'a>>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta>,
}

/// Metadata for clients that know these keys.
#[derive(Serialize)]
struct Meta {
    #[serde(rename = "anthropic/alwaysLoad", skip_serializing_if = "Option::is_none")]
    at_once: Option<bool>,
    #[serde(rename = "anthropic/maxResultSizeChars", skip_serializing_if = "Option::is_none")]
    size: Option<u32>,
}

impl Meta {
    fn of(marks: Marks) -> Option<Self> {
        let Marks { at_once, whole } = marks;
        (at_once || whole)
            .then(|| Self { at_once: at_once.then_some(true), size: whole.then_some(MAX_SIZE_CHARS) })
    }
}

/// A definition with the properties that depend on the tool's origin.
struct Of<'a> {
    definition: Definition,
    marks: Marks,
    is_others: bool,
    /// `true` if the definition never changes and all of its text is built in.
    is_fixed: bool,
    scope: &'a Scope<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_excessive_bools)] // the protocol's four hints
struct Annotations<'a> {
    title: &'a str,
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
    open_world_hint: bool,
}

#[derive(Serialize)]
struct List<'a> {
    tools: Vec<Listed<'a>>,
}

pub(crate) fn list(scope: &Scope<'_>) -> Answer {
    if scope.request.params.raw("cursor").is_some_and(|raw| !matches!(raw.get(), "null" | "\"\"")) {
        return Err(RpcError::invalid_params("cursor is not one of this server's: the list has one page"));
    }
    let revision = scope.request.revision;
    let definitions = definitions(scope)?;
    let tools = definitions.iter().map(Of::listed).collect();
    let result = Enveloped::cacheable(revision, TTL_MS, List { tools });
    Ok(reply::result(&scope.request.id, &result))
}

/// Returns the definitions of all listed tools, in order.
fn definitions<'a>(scope: &'a Scope<'a>) -> Result<Vec<Of<'a>>, RpcError> {
    let tools = scope.workspace().tools();
    let plain = scope.workspace().plain_names();
    let digest = scope.access().tools_digest(&tools, &plain);
    scope.session.list_changed.listed(notices::List::Tools, digest);
    let on = tools.iter().filter(|tool| scope.access().is_open(tool));
    // Looked up once for all tools that depend on skills.
    let found = OnceCell::new();
    let definitions = on.filter_map(|tool| {
        let found = match &tool.kind {
            Kind::Wasm { component, .. } if component.grants.contains(&Capability::Skills) => {
                found.get_or_init(|| with_skills(scope, component)).as_ref().ok().and_then(Option::as_deref)
            }
            _ => None,
        };
        let is_others = matches!(tool.kind, Kind::Plugin { .. });
        let is_fixed = found.is_none() && !is_others;
        let definition = match found {
            Some(found) => {
                found.listed.definitions.iter().find(|definition| definition.name == tool.name).cloned()
            }
            None => tool.fixed_definition(),
        };
        let mut definition = definition?;
        if let Some(name) = plain.get(&*tool.name) {
            definition.name = name.clone().into();
        }
        Some(Of { definition, marks: tool.marks, is_others, is_fixed, scope })
    });
    let definitions = definitions.collect();
    match found.into_inner() {
        Some(Err(unread)) => Err(RpcError::internal(format!("tools cannot be listed: {unread}"))),
        _ => Ok(definitions),
    }
}

/// Returns the listing of the skill component for the current skills. Returns `None` if there are no skills,
/// without calling the component, or if the component fails.
fn with_skills(scope: &Scope<'_>, component: &Component) -> Result<Option<Arc<Cached>>, SkillsUnread> {
    listed(scope.workspace(), component, &scope.setup(), scope.prefix())
}

/// Returns the skill listing of a workspace for clients with this tool prefix.
pub(super) fn listed(
    workspace: &Workspace,
    component: &Component,
    setup: &Setup,
    prefix: Option<&str>,
) -> Result<Option<Arc<Cached>>, SkillsUnread> {
    let sources = workspace.skills.sources()?;
    if sources.is_empty() {
        return Ok(None);
    }
    let reading = Reading::new(Arc::clone(setup.shell.operator()), setup.uses.clone());
    let key = Key::new(component.built_in, prefix, workspace.skills.required()?, &sources, &reading);
    if let Some(cached) = workspace.listing.get(&key) {
        return Ok(Some(cached));
    }
    let listed = workspace.runtime().list_tools(component, setup).and_then(|found| {
        let definitions: Vec<_> = found.into_iter().filter_map(usable).collect();
        // If one tool describes all skills, nothing is left for the instructions.
        if definitions.len() <= 1 && key.required().is_empty() {
            return Ok(listing_cache::Listed { definitions, ..Default::default() });
        }
        let (Catalogue { skills, more, .. }, _) = workspace.runtime().skill_catalogue(component, setup)?;
        let is_for_models =
            |name: &&String| skills.iter().any(|skill| skill.name == **name && skill.for_models);
        let required = key.required().iter().filter(is_for_models).cloned().collect();
        Ok(listing_cache::Listed { definitions, more, required })
    });
    match listed {
        Ok(listed) => Ok(Some(workspace.listing.put(key, listed))),
        Err(Fault::Skills(unread)) => Err(unread),
        Err(fault) => {
            if !fault.is_cancel() {
                tracing::error!(component = &*component.name, "its tools cannot be listed: {fault}");
            }
            Ok(None)
        }
    }
}

/// Converts a definition, if its schemas are valid JSON.
fn usable(found: ToolDefinition) -> Option<Definition> {
    let schema = |json: String| RawValue::from_string(json).ok();
    Some(Definition {
        input_schema: schema(found.input_schema)?,
        output_schema: match found.output_schema {
            Some(json) => Some(schema(json)?),
            None => None,
        },
        name: found.name.into(),
        title: found.title.into(),
        description: found.description,
        hints: scorpiox_tools::Hints {
            read_only: found.hints.read_only,
            destructive: found.hints.destructive,
            idempotent: found.hints.idempotent,
            open_world: found.hints.open_world,
        },
    })
}

impl Of<'_> {
    fn listed(&self) -> Listed<'_> {
        let Self { definition, marks, is_others, scope, .. } = self;
        let features = scope.request.revision.features();
        // Many clients treat an output schema without structured data as an error.
        let has_data = features.structured && (*is_others || scope.session.gives_data());
        Listed {
            name: scope.name(&definition.name),
            title: features.titles.then_some(&definition.title),
            description: self.with_refusal(self.renamed(scorpiox_text::clean(&definition.description))),
            input_schema: self.schema(),
            output_schema: definition.output_schema.as_deref().filter(|_| has_data),
            annotations: features.annotations.then_some(Annotations {
                title: &definition.title,
                read_only_hint: definition.hints.read_only,
                destructive_hint: definition.hints.destructive,
                idempotent_hint: definition.hints.idempotent,
                open_world_hint: definition.hints.open_world,
            }),
            meta: Meta::of(*marks).filter(|_| features.titles),
        }
    }

    /// Prepends the reason why calls will fail, if the policy cannot be used.
    fn with_refusal<'t>(&self, description: Cow<'t, str>) -> Cow<'t, str> {
        match self.scope.workspace().operator().policy() {
            Ok(_) => description,
            Err(error) => format!("{}\n\n{description}", scorpiox_text::clean(&error.to_string())).into(),
        }
    }

    /// Replaces the tool names in a text of a definition with the client's names. Text that a component lists
    /// for this client already has them.
    fn renamed<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        match self.scope.prefix().filter(|_| self.is_fixed) {
            Some(prefix) => with_prefix(prefix, &text, self.scope.workspace().registry().names()).into(),
            None => text,
        }
    }

    fn schema(&self) -> Cow<'_, RawValue> {
        let schema = &*self.definition.input_schema;
        match self.renamed(Cow::Borrowed(schema.get())) {
            Cow::Owned(renamed) => RawValue::from_string(renamed).map_or(Cow::Borrowed(schema), Cow::Owned),
            Cow::Borrowed(_) => Cow::Borrowed(schema),
        }
    }
}
