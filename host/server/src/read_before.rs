//! Files that calls read, for conditions with `after` of the policy.
//!
//! A call of a tool whose reads nobody observes (a command, a plugin with folders) is judged as if it had read all that
//! is open to it. The files that ReadDocs, ReadImage and skills read are observed one by one. A file with hard links may
//! have any name, and counts for each glob.
//!
//! Invariant: a read is kept in the store before it happens. From then on, no request of the same caller in the
//! workspace begins as if it had not happened, at whichever server, and those that run already in this process are
//! ended.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use scorpiox_approvals::Reader;
use scorpiox_audit::time::rfc3339;
use scorpiox_audit::{FileNames, FileWatch, Uses};
use scorpiox_capabilities::Capability;
use scorpiox_executor::Cancel;
use scorpiox_metering::records::CallError;
use scorpiox_policy::{Conditions, Policy, ReadBefore, Source, Unobserved};
use scorpiox_runtime::Component;
use scorpiox_tools::{Kind, Tool};
use scorpiox_workspace_config::{Operator, OperatorError};

use crate::Workspace;
use crate::request::Request;
use crate::scope::{self, Scope};
use crate::session::Session;

/// Capability in audit lines.
const CAPABILITY: &str = "read-before";

impl Workspace {
    /// Returns the ways in which calls of a tool read files without being observed.
    pub fn unobserved_reads(&self, tool: &Tool) -> Vec<Unobserved> {
        let component = match &tool.kind {
            Kind::Native(native) if native.reads_files() => return vec![Unobserved::Command],
            Kind::Native(_) => return Vec::new(),
            Kind::Wasm { component, .. } | Kind::Plugin { component, .. } => component,
        };
        let mut ways = ways_of(component);
        // A skill may bring a component without effects, which runs as an approved plugin.
        if component.grants.contains(&Capability::Skills) {
            let tools = self.plugins.tools();
            let plugins = tools.iter().filter_map(|tool| match &tool.kind {
                Kind::Plugin { component, .. } if !component.has_effects() => Some(ways_of(component)),
                _ => None,
            });
            ways.extend(plugins.flatten());
        }
        ways
    }
}

fn ways_of(component: &Component) -> Vec<Unobserved> {
    let mut ways = Vec::new();
    if component.grants.contains(&Capability::Shell) {
        ways.push(Unobserved::Command);
    }
    if component.approved.as_ref().is_some_and(|approved| !approved.folders.is_empty()) {
        ways.push(Unobserved::Plugin);
    }
    ways
}

fn reader(workspace: &Workspace, session: &Session) -> Reader {
    Reader {
        workspace: workspace.operator().site().workspace.to_string_lossy().into_owned(),
        principal: session.principal_key().map(str::to_owned),
    }
}

/// Returns the files that count as read when a request is judged: those that were read before, and those that the
/// request itself may read.
pub(crate) fn known(
    session: &Session,
    request: &Request<'_>,
    operator: &Operator,
) -> Result<ReadBefore, Arc<OperatorError>> {
    let policy = &operator.loaded()?.policy;
    if policy.globs_read_before().is_empty() {
        return Ok(ReadBefore::default());
    }
    let workspace = session.workspace();
    let known = workspace.approvals().read_before(&reader(&workspace, session));
    let mut known = known.map_err(|error| Arc::new(OperatorError::ReadsUnknown(error.to_string())))?;
    let name = request.params.required::<scorpiox_mcp::params::Text<'_>>("name", "the name of a tool").ok();
    let name = name.filter(|_| request.is_call);
    if let Some(tool) = name.and_then(|name| scope::tool(&workspace, request, &name.0)) {
        for way in workspace.unobserved_reads(&tool) {
            for glob in policy.reads_unobserved(way) {
                let this = || policy.reading_now(&tool.name, way);
                known.0.entry(glob.to_owned()).or_insert_with(this);
            }
        }
    }
    Ok(known)
}

fn unobserved<'p>(policy: &'p Policy, workspace: &Workspace, tool: &Tool) -> Vec<&'p str> {
    workspace.unobserved_reads(tool).into_iter().flat_map(|way| policy.reads_unobserved(way)).collect()
}

/// Keeps the files that a call may read without being observed, before it runs.
pub(crate) fn keep(scope: &Scope<'_>, tool: &Tool) -> Result<(), CallError> {
    let workspace = scope.workspace();
    let Ok(policy) = workspace.operator().policy() else { return Ok(()) };
    let globs = unobserved(policy, workspace, tool);
    Watch::of(scope, &tool.name).keep(&globs, &scope.uses).map(|_| ()).map_err(CallError::Policy)
}

/// Keeps the files that a plugin may read for a request other than a call. Fails if they are new: the request was not
/// judged as if they had been read.
pub(crate) fn keep_for(scope: &Scope<'_>, component: &Component, name: &str) -> Result<(), String> {
    let Ok(policy) = scope.workspace().operator().policy() else { return Ok(()) };
    let globs: Vec<_> = ways_of(component).into_iter().flat_map(|way| policy.reads_unobserved(way)).collect();
    let new = Watch::of(scope, name).keep(&globs, &scope.uses)?;
    match new.first() {
        None => Ok(()),
        Some(glob) => Err(format!(
            "{name} counts as reading files of \"{glob}\" from now on (`after` in the policy); repeat the request"
        )),
    }
}

/// Observes the files that a request reads, if the policy has conditions on them.
pub(crate) fn watch(scope: &Scope<'_>, name: &str) {
    let policy = scope.workspace().operator().policy();
    if policy.is_ok_and(|policy| !policy.globs_read_before().is_empty()) {
        scope.uses.watched_by(Arc::new(Watch::of(scope, name)));
    }
}

/// Returns a sentence on each restriction that holds because of files that were read before, for a request to which
/// something was refused.
pub(crate) fn notes(scope: &Scope<'_>) -> Vec<String> {
    let Ok(policy) = scope.workspace().operator().policy() else { return Vec::new() };
    if policy.restrictions.iter().all(|restriction| restriction.conditions.read_before.is_empty()) {
        return Vec::new();
    }
    let operator = scope.workspace().operator();
    let Ok(circumstances) = scope.session.circumstances(scope.request, operator) else { return Vec::new() };
    let numbers = operator.restrictions_for(&circumstances);
    let held = numbers.iter().filter_map(|&number| policy.restrictions.get(number));
    held.filter_map(|restriction| {
        let why = because(&restriction.conditions, &circumstances.read_before)?;
        Some(format!("{restriction} holds{why}."))
    })
    .collect()
}

/// Returns why a condition on files that were read before holds, with the command that ends that, as the continuation of
/// a sentence. `None` if there is no such condition.
pub fn because(conditions: &Conditions, known: &ReadBefore) -> Option<String> {
    let (glob, first) = conditions.first_read(known)?;
    Some(match first.at {
        Some(at) => format!(
            ", because {} read files of \"{glob}\" at {}, or could have; `scorpiox-code policy clear` forgets that",
            first.tool,
            rfc3339(at)
        ),
        None if first.is_unsandboxed => format!(
            ", because {} itself may read files of \"{glob}\": `deny` closes nothing to commands while policy.toml has \
             `allow_unsandboxed = true` in [shell]",
            first.tool
        ),
        None => format!(
            ", because {} itself may read files of \"{glob}\", unless `deny` closes them: `scorpiox-code policy deny \
             read {}`",
            first.tool,
            scorpiox_text::argument(glob).unwrap_or_else(|| "GLOB".to_owned())
        ),
    })
}

/// Observer of the files that one request reads.
struct Watch {
    workspace: Weak<Workspace>,
    reader: Reader,
    /// Name of the tool or the request.
    name: String,
    cancel: Cancel,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("reader", &self.reader)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Watch {
    fn of(scope: &Scope<'_>, name: &str) -> Self {
        Self {
            workspace: Arc::downgrade(scope.workspace()),
            reader: reader(scope.workspace(), scope.session),
            name: name.to_owned(),
            cancel: scope.cancel().clone(),
        }
    }

    /// Keeps globs whose files are about to be read, records those that are new, and ends what runs without them.
    fn keep(&self, globs: &[&str], uses: &Uses) -> Result<Vec<String>, String> {
        if globs.is_empty() {
            return Ok(Vec::new());
        }
        let workspace = self.workspace.upgrade().ok_or("the workspace is closed")?;
        let policy = workspace.operator().policy().map_err(|error| error.to_string())?;
        let new = workspace.approvals().reads(&self.reader, globs, &self.name);
        let new = new.map_err(|error| {
            format!(
                "the policy has `after`, and {} reads nothing, because reads cannot be kept: {error}",
                self.name
            )
        })?;
        for glob in &new {
            uses.allowed(CAPABILITY, glob, source(policy, glob));
        }
        if !new.is_empty() {
            workspace.end_others(&self.cancel, self.reader.principal.as_deref(), &new);
        }
        Ok(new)
    }
}

impl FileWatch for Watch {
    fn reads(&self, names: &FileNames, granted: &[PathBuf], uses: &Uses) -> Result<(), String> {
        let workspace = self.workspace.upgrade().ok_or("the workspace is closed")?;
        let operator = workspace.operator();
        let policy = operator.policy().map_err(|error| error.to_string())?;
        let places = operator.places_with(granted).map_err(|error| error.to_string())?;
        let globs = if names.has_others {
            policy.globs_read_before().into_keys().collect()
        } else {
            policy.reads_at(names.known.iter().map(PathBuf::as_path), granted, &places)
        };
        self.keep(&globs, uses).map(|_| ())
    }
}

/// Returns the source of the first condition with a glob.
fn source(policy: &Policy, glob: &str) -> Source {
    let has = |conditions: &Conditions| conditions.read_before.iter().any(|rule| rule.glob() == glob);
    let rules = policy.calls.0.iter().map(|rule| (&rule.conditions, rule.source));
    let restrictions =
        policy.restrictions.iter().map(|restriction| (&restriction.conditions, restriction.source));
    let found = rules.chain(restrictions).find(|(conditions, _)| has(conditions));
    found.map_or(Source::Builtin, |(_, source)| source)
}
