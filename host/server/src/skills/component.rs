//! The component of a skill: its file, and the arguments of its tool.

use std::path::Path;

use scorpiox_capabilities::skills::{Invoked, Opened, Reading};
use scorpiox_plugin::{MANIFEST, MAX_MANIFEST_BYTES, Manifest};
use serde_json::{Map, Value, json};

/// Reads the `plugin.toml` next to a SKILL.md, if it exists and is valid.
pub fn manifest(reading: &Reading, skill: &Opened) -> Option<Manifest> {
    let bytes = reading.whole(skill, MANIFEST, MAX_MANIFEST_BYTES as u64).ok()?;
    Manifest::parse(&String::from_utf8(bytes).ok()?).ok()
}

/// Returns the component's file: the one that `plugin.toml` names, or the only one.
pub fn file(reading: &Reading, skill: &Opened) -> Option<String> {
    if reading.whole(skill, MANIFEST, MAX_MANIFEST_BYTES as u64).is_ok() {
        return Some(manifest(reading, skill)?.component);
    }
    let names = skill.folder().names().ok()?.flatten().filter_map(|name| name.into_string().ok());
    let mut found = names.filter(|name| Path::new(name).extension().is_some_and(|kind| kind == "wasm"));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// Converts the skill's arguments for the tool: an object whose keys are parameters is passed on; otherwise
/// they become a list of words, a single string, or nothing.
pub fn arguments(schema: &Value, invoked: &Invoked) -> Option<Value> {
    let properties = schema["properties"].as_object()?;
    let object = serde_json::from_str::<Map<String, Value>>(&invoked.arguments).ok();
    if let Some(object) = object.filter(|object| object.keys().all(|name| properties.contains_key(name))) {
        return Some(Value::Object(object));
    }
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
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use scorpiox_workspace_config::{Scope, Source};

    use super::*;

    fn given(schema: &Value, arguments: &str) -> Option<Value> {
        let source = Source {
            name: String::new(),
            path: PathBuf::new(),
            scope: Scope::User,
            file: "SKILL.md",
            plugin: None,
        };
        let words = arguments.split_whitespace().map(str::to_owned).collect();
        super::arguments(schema, &Invoked { source, arguments: arguments.to_owned(), words })
    }

    #[test]
    fn arguments_become_what_the_tool_takes() {
        let text = json!({ "properties": { "text": { "type": "string" }, "unit": { "type": "string" } }, "required": ["text"] });
        assert_eq!(given(&text, "one two"), Some(json!({ "text": "one two" })));
        let object = r#"{"text": "one two", "unit": "words"}"#;
        assert_eq!(given(&text, object), Some(json!({ "text": "one two", "unit": "words" })));
        let other = r#"{"colour": 1}"#;
        assert_eq!(given(&text, other), Some(json!({ "text": other })), "it is a text about something else");
        let args = json!({ "properties": { "args": { "type": "array", "items": { "type": "string" } } } });
        assert_eq!(given(&args, "a b"), Some(json!({ "args": ["a", "b"] })));
        assert_eq!(given(&args, r#"{"args": ["a b"]}"#), Some(json!({ "args": ["a b"] })));
        let two = json!({ "properties": { "a": {}, "b": {} }, "required": ["a", "b"] });
        assert_eq!(given(&two, "x"), None);
        assert_eq!(given(&json!({ "properties": {} }), " "), Some(json!({})));
    }
}
