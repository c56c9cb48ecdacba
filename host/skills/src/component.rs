//! The component that a skill brings: which file it is, and what its tool is called with.

use std::path::Path;

use scorpiox_capabilities::skills::{Invoked, Opened, Reading};
use scorpiox_plugin::{MANIFEST, MAX_MANIFEST_BYTES, Manifest};
use serde_json::{Value, json};

/// The component's file: what `plugin.toml` names, or the only one.
pub fn file(reading: &Reading, skill: &Opened) -> Option<String> {
    if let Ok(manifest) = reading.whole(skill, MANIFEST, MAX_MANIFEST_BYTES as u64) {
        return Some(Manifest::parse(&String::from_utf8(manifest).ok()?).ok()?.component);
    }
    let names = skill.folder().names().ok()?.flatten().filter_map(|name| name.into_string().ok());
    let mut found = names.filter(|name| Path::new(name).extension().is_some_and(|kind| kind == "wasm"));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The skill's arguments as the tool takes them: words, one text, none, or an object as it is.
pub fn arguments(schema: &Value, invoked: &Invoked) -> Option<Value> {
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
