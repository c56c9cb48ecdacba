//! What a skill brings to be run: a component beside its SKILL.md.
//!
//! Invariant: what runs is a plugin that a person approved, from this program's own folder and with its
//! own grant. The file in the skill's folder only says which one it is.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use scorpiox_plugin::{Fingerprint, MANIFEST, MAX_COMPONENT_BYTES, MAX_MANIFEST_BYTES, Manifest};
use serde_json::{Value, json};

use super::call_error::CallError;
use super::component_call::{self, Invocation};
use super::scope::Scope;
use scorpiox_capabilities::skills::{Invoked, Opened, Reading};
use scorpiox_tools::{Failure, Kind, Output, OutputContent, Tool};

/// Runs what the skill brings, if it brings something; what that gave is put behind the skill.
pub(super) fn run(scope: &Scope<'_>, invoked: &Invoked, invocation: &Invocation<'_>, output: &mut Output) {
    let reading = Reading::new(Arc::clone(scope.setup().shell.operator()), scope.uses.clone());
    let Ok(skill) = reading.open(&invoked.source) else { return };
    let Some(component) = component(&reading, &skill) else { return };
    let skill_component =
        SkillComponent { folder: &invoked.source.path, component, reading: &reading, skill: &skill };
    let ran = approved(scope, &skill_component).and_then(|tool| call(scope, &tool, invoked, invocation));
    match ran {
        Ok(ran) => {
            output
                .content
                .push(text("The skill's component was run with the arguments; it gave:".to_owned()));
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
    /// Its name in the folder.
    component: String,
    reading: &'a Reading,
    skill: &'a Opened,
}

impl SkillComponent<'_> {
    /// What its file is. Read piece by piece: anybody may have put there something large.
    fn fingerprint(&self) -> io::Result<Fingerprint> {
        let file = self.reading.file(self.skill, &self.component).map_err(io::Error::other)?;
        let size = file.metadata()?.len();
        if size > MAX_COMPONENT_BYTES {
            return Err(io::Error::other(format!("it has {size} bytes; the limit is {MAX_COMPONENT_BYTES}")));
        }
        Fingerprint::of_all(file.take(MAX_COMPONENT_BYTES))
    }
}

/// The component's file: what `plugin.toml` names, or the only one.
fn component(reading: &Reading, skill: &Opened) -> Option<String> {
    if let Ok(manifest) = reading.whole(skill, MANIFEST, MAX_MANIFEST_BYTES as u64) {
        return Some(Manifest::parse(&String::from_utf8(manifest).ok()?).ok()?.component);
    }
    let names = skill.folder().names().ok()?.flatten().filter_map(|name| name.into_string().ok());
    let mut found = names.filter(|name| Path::new(name).extension().is_some_and(|kind| kind == "wasm"));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The tool to be called of the approved plugin with this very component.
fn approved(scope: &Scope<'_>, skill_component: &SkillComponent<'_>) -> Result<Arc<Tool>, CallError> {
    let folder = skill_component.folder;
    let component = folder.join(&skill_component.component);
    let shown = component.display();
    let fingerprint = skill_component
        .fingerprint()
        .map_err(|error| not_run(format!("The skill's component {shown} cannot be read: {error}.")))?;
    let tools = scope.workspace().plugins.tools_of(&fingerprint);
    let is_on = |tool: &&Arc<Tool>| scope.workspace().is_on(tool);
    let run = tools.iter().filter(is_on).find(|tool| inner(tool) == "run");
    match (run, tools.as_slice()) {
        (Some(tool), _) => Ok(Arc::clone(tool)),
        (None, [only]) if scope.workspace().is_on(only) => Ok(Arc::clone(only)),
        (None, []) => Err(not_run(format!(
            "The skill brings a component, {shown}, which did not run: nobody approved it as it is now. The user can, with: \
             scorpiox-code plugin add {}",
            folder.display()
        ))),
        (None, several) => {
            let names: Vec<_> = several.iter().map(|tool| tool.name.as_ref()).collect();
            Err(not_run(format!("The skill's component has the tools {}.", names.join(", "))))
        }
    }
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
        // A client asked the person about the skill, not about what this may do.
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
    let invocation = Invocation { tool, arguments: &arguments, ..*invocation };
    component_call::outcome(component_call::run(scope, component, inner, &invocation)?.value)
}

/// The skill's arguments as the tool takes them: words, one text, none, or an object as it is.
fn arguments(schema: &Value, invoked: &Invoked) -> Option<Value> {
    let properties = schema["properties"].as_object()?;
    if let Some(args) = properties.get("args")
        && args["items"]["type"] == "string"
    {
        return Some(json!({ "args": invoked.words }));
    }
    let required: Vec<_> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match required.as_slice() {
        [] if invoked.arguments.trim().is_empty() => Some(json!({})),
        [only] if properties.get(*only).is_some_and(|property| property["type"] == "string") => {
            Some(json!({ *only: invoked.arguments }))
        }
        _ => serde_json::from_str(&invoked.arguments).ok().filter(Value::is_object),
    }
}
