//! `resources/list`, `resources/templates/list`, `resources/read`: resources of plugins and, in revisions
//! with the skills extension, files of skills.

use scorpiox_mcp::jsonrpc::reply;
use serde_json::{Value, json};

use super::{offers, skills};
use crate::list_changed::resources_digest;
use crate::scope::{Answer, Scope};
use scorpiox_capabilities::notices::List;
use scorpiox_mcp::RpcError;
use scorpiox_mcp::params::Text;
use scorpiox_mcp::result::Enveloped;
use scorpiox_tools::offers::{Resource, ResourceTemplate, scheme};

/// Time to live of a list in a client.
const TTL_MS: u64 = 5000;
/// URI scheme of skill files.
const SKILL: &str = "skill";

/// Returns `true` if these methods are available. Older revisions have them only if a plugin has resources.
fn is_there(scope: &Scope<'_>) -> bool {
    let has_any = || !scope.access().resourceful().is_empty();
    scope.request.revision.features().extensions || has_any()
}

fn refused(method: &str) -> RpcError {
    RpcError::method_not_found(method)
}

pub(crate) fn list(scope: &Scope<'_>) -> Answer {
    if !is_there(scope) {
        return Err(refused("resources/list"));
    }
    let revision = scope.request.revision;
    let offerings = scope.access().resourceful();
    scope.session.list_changed.listed(List::Resources, resources_digest(&offerings));
    let mut resources = if revision.features().extensions { skills::resources(scope)? } else { Vec::new() };
    for offering in &offerings {
        let of_plugin = offering.served.resources().map(|resource| {
            let Resource { uri, name, title, description, mime_type } = resource;
            let title = title.as_deref().filter(|_| revision.features().titles);
            with_about(
                json!({ "uri": uri, "name": name }),
                title,
                description.as_deref(),
                mime_type.as_deref(),
            )
        });
        resources.extend(of_plugin);
    }
    let result = Enveloped::cacheable(revision, TTL_MS, json!({ "resources": once(resources) }));
    Ok(reply::result(&scope.request.id, &result))
}

/// Removes duplicate URIs. A read of the URI decides which plugin owns it.
fn once(mut resources: Vec<Value>) -> Vec<Value> {
    let mut seen = std::collections::BTreeSet::new();
    resources.retain(|resource| seen.insert(resource["uri"].to_string()));
    resources
}

pub(crate) fn templates(scope: &Scope<'_>) -> Answer {
    if !is_there(scope) {
        return Err(refused("resources/templates/list"));
    }
    let revision = scope.request.revision;
    let mut templates = Vec::new();
    for offering in scope.access().resourceful() {
        let of_plugin = offering.served.templates().map(|template| {
            let ResourceTemplate { uri_template, name, title, description, mime_type } = template;
            let title = title.as_deref().filter(|_| revision.features().titles);
            let named = json!({ "uriTemplate": uri_template, "name": name });
            with_about(named, title, description.as_deref(), mime_type.as_deref())
        });
        templates.extend(of_plugin);
    }
    let result = Enveloped::cacheable(revision, TTL_MS, json!({ "resourceTemplates": templates }));
    Ok(reply::result(&scope.request.id, &result))
}

fn with_about(
    mut entry: Value,
    title: Option<&str>,
    description: Option<&str>,
    mime_type: Option<&str>,
) -> Value {
    for (member, said) in [("title", title), ("description", description), ("mimeType", mime_type)] {
        if let Some(said) = said {
            entry[member] = json!(said);
        }
    }
    entry
}

pub(crate) fn read(scope: &Scope<'_>) -> Answer {
    if !is_there(scope) {
        return Err(refused("resources/read"));
    }
    let uri = scope.request.params.required::<Text<'_>>("uri", "a resource's address")?.0;
    if scope.request.revision.features().extensions && scheme(&uri) == SKILL {
        return skills::read(scope, &uri);
    }
    offers::read(scope, &uri)
}

pub(crate) fn subscribe(scope: &Scope<'_>) -> Answer {
    if is_there(scope) { offers::subscribe(scope) } else { Err(refused("resources/subscribe")) }
}

pub(crate) fn unsubscribe(scope: &Scope<'_>) -> Answer {
    if is_there(scope) { offers::unsubscribe(scope) } else { Err(refused("resources/unsubscribe")) }
}

/// `completion/complete`. Also accepts prompts of skills, which have no values to complete.
pub(crate) fn complete(scope: &Scope<'_>) -> Answer {
    let completes =
        |offering: &std::sync::Arc<scorpiox_tools::plugins::Offering>| offering.served.completes();
    if scope.access().offerings().iter().any(completes) {
        offers::complete(scope)
    } else {
        Err(refused("completion/complete"))
    }
}
