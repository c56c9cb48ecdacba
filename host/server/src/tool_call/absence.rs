//! Tools that are unknown or not available to a client.

use std::sync::Arc;

use scorpiox_mcp::RpcError;
use scorpiox_metering::records::{CallError, NO_POLICY, NOT_APPROVED, Recording};
use scorpiox_policy::{Policy, Refusal, Source};
use scorpiox_runtime::PluginIdentity;
use scorpiox_text::{argument, nearest};
use scorpiox_tools::Tool;
use scorpiox_tools::plugins::NotThere;

use crate::read_before;
use crate::reply::Reply;
use crate::request::Request;
use crate::scope::{self, Scope};
use crate::session::Access;

/// Reason why no tool of a name is available.
pub(super) enum Absence {
    /// The policy closes the tool.
    Closed(Refusal, Option<Box<PluginIdentity>>),
    /// The tool belongs to a plugin that may not run.
    NotThere(NotThere),
    Unknown,
}

impl Absence {
    pub(super) fn of(access: Access<'_>, request: &Request<'_>, name: &str) -> Self {
        let workspace = access.workspace;
        // The client may know the tool under its prefixed name.
        let prefix = scope::prefix(workspace, request);
        let bare = prefix.and_then(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
        let closed = workspace.closed_by_policy(bare).filter(|_| workspace.knows(bare));
        // A principal that may not call a plugin's tools learns nothing about the plugin.
        let not_there = || {
            let mut open = [name, bare].into_iter().filter(|name| access.denial(name).is_none());
            open.find_map(|name| workspace.plugins.why_not(name))
        };
        let closed = closed.map(|refusal| Self::Closed(refusal, workspace.plugins.identity(bare)));
        closed.or_else(|| not_there().map(Self::NotThere)).unwrap_or(Self::Unknown)
    }

    /// Records the call with the rule that closes the tool: a policy line or a plugin approval.
    pub(super) fn record(
        &self,
        mut call: Recording<'_>,
        name: &str,
        reply: Option<&Reply>,
    ) -> Result<(), CallError> {
        match self {
            Self::Closed(Refusal { why, decided_by }, plugin) => {
                call.plugin.clone_from(plugin);
                call.refuse(NO_POLICY, reply, |uses| uses.denied("tools", name, why, *decided_by))
            }
            Self::NotThere(NotThere { plugin, why, rule, is_by_policy, identity }) => {
                call.plugin.clone_from(identity);
                let kind = if *is_by_policy { NO_POLICY } else { NOT_APPROVED };
                call.refuse(kind, reply, |uses| uses.denied("plugins", plugin, why, rule.clone()))
            }
            Self::Unknown => call.refuse(UNKNOWN, reply, |_| ()),
        }
    }
}

/// Audit reason of a call of a tool that does not exist or is switched off.
const UNKNOWN: &str = "unknown-tool";

/// Maximum number of tools that an error message lists.
const MAX_NAMED: usize = 40;

/// Returns the command by which the person at the machine opens a tool, as the end of a sentence. The caller over HTTP is
/// another one, and the administrator's file is not the person's.
fn remedy(scope: &Scope<'_>, name: &str, refusal: &Refusal) -> String {
    let is_over_http = scope.uses.client().is_some_and(|client| client.principal.is_some());
    let bare = scope.prefix().and_then(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    match argument(bare) {
        Some(tool)
            if matches!(refusal.decided_by, Source::Line(_)) && !is_over_http && is_of_file(scope, bare) =>
        {
            format!("; the person can open it: `scorpiox-code policy allow tool {tool}`")
        }
        _ => String::new(),
    }
}

/// Returns `true` if the files themselves close a tool, and not a restriction or a repository's file.
fn is_of_file(scope: &Scope<'_>, name: &str) -> bool {
    let workspace = scope.workspace();
    let original = workspace.plugins.authors_name(name);
    let closes = |policy: &Policy| policy.widest().tools.check_tool_as(name, original.as_deref()).is_err();
    workspace.operator().policy().is_ok_and(closes)
}

/// Returns the answer to a call of a tool that is not available, with the names of those that are.
pub(super) fn unknown_tool(scope: &Scope<'_>, name: &str, absence: Absence) -> RpcError {
    let tools = scope.workspace().tools();
    let listed = |tool: &&Arc<Tool>| scope.access().is_open(tool) && !tool.is_conditional();
    let on: Vec<_> = tools.iter().filter(listed).map(|tool| scope.name(&tool.name)).collect();
    let shown: String = name.chars().take(100).collect();
    RpcError::invalid_params(match absence {
        Absence::Closed(refusal, _) => {
            let notes = read_before::notes(scope).join(" ");
            let between = if notes.is_empty() { "" } else { ". " };
            format!("{refusal}; nobody can call it{}{between}{notes}", remedy(scope, name, &refusal))
        }
        Absence::NotThere(NotThere { why, .. }) => format!("tool {shown:?} is not available: {why}"),
        Absence::Unknown if on.is_empty() => {
            format!("tool {shown:?} is not known; all tools are switched off by the setting TOOLS")
        }
        Absence::Unknown => {
            let near = nearest(name, on.iter().map(|name| &**name));
            let near = near.map_or_else(|| ".".to_owned(), |near| format!("; did you mean {near}?"));
            let more = on.len().saturating_sub(MAX_NAMED);
            let named = on.iter().take(MAX_NAMED).map(|name| &**name).collect::<Vec<_>>().join(", ");
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("tool {shown:?} is not known{near} Known tools: {named}{more}")
        }
    })
}
