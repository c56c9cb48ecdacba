//! Runs the component next to a skill's SKILL.md.
//!
//! Invariant: only a plugin that the user approved runs, from this program's own folder and with its own
//! grant. The file in the skill's folder only identifies the plugin.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use crate::skills::component::{arguments, file, manifest};
use scorpiox_plugin::{Fingerprint, MAX_COMPONENT_BYTES};
use serde_json::Value;

use super::component_call::{self, Invocation};
use super::scope::Scope;
use super::tool_call::required_approvals;
use scorpiox_capabilities::skills::{Invoked, Opened, Reading};
use scorpiox_metering::records::CallError;
use scorpiox_tools::{Failure, Kind, Output, OutputContent, Tool};

/// Runs the skill's component, if it has one, and appends the result to the skill's output.
pub(super) fn run(scope: &Scope<'_>, invoked: &Invoked, invocation: &Invocation<'_>, output: &mut Output) {
    let reading = Reading::new(Arc::clone(scope.setup().shell.operator()), scope.uses.clone());
    let Ok(skill) = reading.open(&invoked.source) else { return };
    let Some(component) = file(&reading, &skill) else { return };
    let skill_component =
        SkillComponent { folder: &invoked.source.path, component, reading: &reading, skill: &skill };
    let ran = approved(scope, &skill_component).and_then(|tool| call(scope, &tool, invoked, invocation));
    match ran {
        Ok(ran) => {
            let said = if ran.is_error { "it failed:" } else { "it gave:" };
            output.content.push(text(format!("The skill's component was run with the arguments; {said}")));
            output.content.extend(ran.content);
            output.is_error |= ran.is_error;
        }
        Err(why) => output.content.push(text(why.to_string())),
    }
}

fn not_run(why: String) -> CallError {
    CallError::Tool(Failure::Failed(why))
}

fn text(text: String) -> OutputContent {
    OutputContent::Text(text)
}

/// A component in a skill's folder.
struct SkillComponent<'a> {
    folder: &'a Path,
    /// File name in the folder.
    component: String,
    reading: &'a Reading,
    skill: &'a Opened,
}

impl SkillComponent<'_> {
    /// Returns the fingerprint of the file. Reads in chunks because anybody could have placed a large file
    /// there.
    fn fingerprint(&self) -> io::Result<Fingerprint> {
        let file = self.reading.file(self.skill, &self.component).map_err(io::Error::other)?;
        let size = file.metadata()?.len();
        if size > MAX_COMPONENT_BYTES {
            return Err(io::Error::other(format!("it has {size} bytes; the limit is {MAX_COMPONENT_BYTES}")));
        }
        Fingerprint::of_all(file.take(MAX_COMPONENT_BYTES))
    }
}

/// Returns the tool to call, of the approved plugin with exactly this component.
fn approved(scope: &Scope<'_>, skill_component: &SkillComponent<'_>) -> Result<Arc<Tool>, CallError> {
    let folder = skill_component.folder;
    let component = folder.join(&skill_component.component);
    let shown = component.display();
    let fingerprint = skill_component
        .fingerprint()
        .map_err(|error| not_run(format!("The skill's component {shown} cannot be read: {error}.")))?;
    let mut tools = scope.workspace().plugins.tools_of(&fingerprint);
    // The same component may be installed under several names.
    if let Some(name) = own_name(skill_component)
        && tools.iter().any(|tool| plugin(tool) == name)
    {
        tools.retain(|tool| plugin(tool) == name);
    }
    let is_on = |tool: &&Arc<Tool>| scope.access().is_open(tool);
    let run = tools.iter().filter(is_on).find(|tool| inner(tool) == "run");
    match (run, tools.as_slice()) {
        (Some(tool), _) => Ok(Arc::clone(tool)),
        (None, [only]) if scope.access().is_open(only) => Ok(Arc::clone(only)),
        (None, []) => Err(not_run(format!(
            "The skill brings a component, {shown}, which did not run: nobody approved it as it is now. The user can, with: \
             scorpiox-code plugin add {}",
            folder.display()
        ))),
        (None, several) => {
            let names: Vec<_> = several.iter().map(|tool| tool.name.as_ref()).collect();
            Err(not_run(format!(
                "The skill's component did not run, since it has several tools: call {}.",
                names.join(" or ")
            )))
        }
    }
}

/// Returns the default name of a skill's component as a plugin: the manifest's name, otherwise the skill's.
fn own_name(skill_component: &SkillComponent<'_>) -> Option<String> {
    let SkillComponent { folder, reading, skill, .. } = skill_component;
    match manifest(reading, skill) {
        Some(manifest) => Some(manifest.name.to_string()),
        None => folder.file_name().map(|name| name.to_string_lossy().into_owned()),
    }
}

/// Returns the name of the plugin that has a tool.
fn plugin(tool: &Tool) -> &str {
    tool.name.split_once('.').map_or("", |(plugin, _)| plugin)
}

fn inner(tool: &Tool) -> &str {
    match &tool.kind {
        Kind::Plugin { inner, .. } => inner,
        _ => "",
    }
}

fn call(
    scope: &Scope<'_>,
    tool: &Tool,
    invoked: &Invoked,
    invocation: &Invocation<'_>,
) -> Result<Output, CallError> {
    let Kind::Plugin { component, definition, inner, .. } = &tool.kind else {
        return Err(not_run(format!("{} is no plugin's.", tool.name)));
    };
    if component.has_effects() {
        // The client asked the user about the skill, not about the effects of this component.
        return Err(not_run(format!(
            "The skill's component is the plugin tool {}, which may do more than compute: call it by that name.",
            tool.name
        )));
    }
    if let Some((plugin, rule)) = scope.workspace().plugins.runs_by(&tool.name) {
        scope.uses.allowed("plugins", plugin, rule);
    }
    let schema: Value = serde_json::from_str(definition.input_schema.get()).unwrap_or_default();
    let arguments = arguments(&schema, invoked).ok_or_else(|| {
        not_run(format!("The skill's component takes arguments of its own: call the tool {}.", tool.name))
    })?;
    let arguments = arguments.to_string();
    if !required_approvals(scope, tool, &arguments)?.is_empty() {
        return Err(not_run(format!("A rule asks before {} runs: call it by that name.", tool.name)));
    }
    let invocation = Invocation { tool, arguments: &arguments, ..*invocation };
    let ran = component_call::run(scope, component, inner, &invocation).and_then(component_call::outcome);
    ran.map_err(|error| {
        not_run(format!("The skill's component was run with the arguments; it failed:\n{error}"))
    })
}
