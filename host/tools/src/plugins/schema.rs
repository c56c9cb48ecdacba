//! Finds the parts of a schema that clients or their models' providers refuse. Many of them then refuse all
//! tools of the server.
//!
//! The rules are those of the strictest known clients. Authors see the result as notes; a schema that is
//! valid JSON Schema still runs.

use serde_json::{Map, Value};

/// Maximum number of reported faults of a plugin.
const MAX_FAULTS: usize = 12;
/// Maximum number of further faults whose places are listed.
const MAX_PLACES: usize = 40;
/// Maximum length of a member's name in a fault, and of a parameter's name in general.
const MAX_NAME: usize = 64;

/// Types of JSON Schema.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
/// Members that clients refuse at the top of a tool's arguments.
const NOT_AT_TOP: [&str; 5] = ["oneOf", "anyOf", "allOf", "not", "enum"];
/// Members whose value is a schema, a list of schemas, or an object of schemas.
const ONE: [&str; 10] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const LIST: [&str; 4] = ["oneOf", "anyOf", "allOf", "prefixItems"];
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Returns the faults of all tools' schemas, each with its place as a JSON Pointer.
pub fn schema_faults(tools: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut places = Vec::new();
    for tool in tools {
        let name = tool["name"].as_str().unwrap_or_default();
        for member in ["input_schema", "output_schema"] {
            let Some(schema) = tool[member].as_object() else { continue };
            let mut walk = Walk { root: &tool[member], found: Vec::new() };
            if member == "input_schema" {
                walk.top(schema);
            }
            walk.schema(schema, "");
            for (place, fault) in walk.found {
                if faults.len() < MAX_FAULTS {
                    faults.push(format!(
                        "Some clients refuse the {member} of {name}, and all tools with it: {place} {fault}"
                    ));
                } else {
                    places.push(format!("{place} (the {member} of {name})"));
                }
            }
        }
    }
    faults.extend(further(&places));
    faults
}

/// Lists the places of faults that are not described.
fn further(places: &[String]) -> Option<String> {
    let listed = places.iter().take(MAX_PLACES).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = places.len().saturating_sub(MAX_PLACES);
    match (places.len(), more) {
        (0, _) => None,
        (count, 0) => Some(format!("Some clients also refuse {count} more places of its schemas: {listed}.")),
        (count, more) => Some(format!(
            "Some clients also refuse {count} more places of its schemas: {listed}, and {more} more; correct these \
             first, and `scorpiox-code plugin test` lists the rest."
        )),
    }
}

struct Walk<'a> {
    root: &'a Value,
    /// Places and faults.
    found: Vec<(String, String)>,
}

impl Walk<'_> {
    fn push(&mut self, place: String, fault: impl Into<String>) {
        self.found.push((place, fault.into()));
    }

    fn top(&mut self, schema: &Map<String, Value>) {
        for member in NOT_AT_TOP.into_iter().filter(|member| schema.contains_key(*member)) {
            self.push(
                format!("/{member}"),
                "stands at the top; describe the arguments in `properties` alone.",
            );
        }
    }

    fn schema(&mut self, schema: &Map<String, Value>, place: &str) {
        if let Some(kind) = schema.get("type") {
            self.kind(kind, &format!("{place}/type"));
        }
        if let Some(required) = schema.get("required") {
            self.required(required, schema.get("properties"), &format!("{place}/required"));
        }
        if let Some(list) = schema.get("enum").filter(|list| !list.is_array()) {
            self.push(format!("{place}/enum"), format!("is {}; write a list of values.", kind_of(list)));
        }
        if let Some(reference) = schema.get("$ref") {
            self.reference(reference, &format!("{place}/$ref"));
        }
        for member in ONE {
            let Some(inner) = schema.get(member) else { continue };
            // Older schemas have a list here.
            match inner.as_array().filter(|_| member == "items") {
                Some(list) => self.list(list, &format!("{place}/{member}")),
                None => self.inner(inner, &format!("{place}/{member}")),
            }
        }
        for member in LIST {
            let place = format!("{place}/{member}");
            match schema.get(member) {
                None => {}
                Some(Value::Array(list)) => self.list(list, &place),
                Some(other) => self.push(place, format!("is {}; write a list of schemas.", kind_of(other))),
            }
        }
        for member in NAMED {
            let place = format!("{place}/{member}");
            match schema.get(member) {
                None => {}
                Some(Value::Object(named)) => self.named(named, member, &place),
                Some(other) => self.push(place, format!("is {}; write an object.", kind_of(other))),
            }
        }
    }

    fn inner(&mut self, schema: &Value, place: &str) {
        match schema {
            Value::Object(schema) => self.schema(schema, place),
            Value::Bool(_) => {}
            other => self.push(place.to_owned(), format!("is {}; write a schema.", kind_of(other))),
        }
    }

    fn list(&mut self, list: &[Value], place: &str) {
        for (index, schema) in list.iter().enumerate() {
            self.inner(schema, &format!("{place}/{index}"));
        }
    }

    fn named(&mut self, named: &Map<String, Value>, member: &str, place: &str) {
        for (name, schema) in named {
            let place = format!("{place}/{}", shown(&name.replace('~', "~0").replace('/', "~1")));
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            if member == "properties"
                && !(name.chars().all(is_plain) && (1..=MAX_NAME).contains(&name.chars().count()))
            {
                let fix = "is a name with other characters than letters, digits, `_`, `.` and `-`, or not of 1 to 64.";
                self.push(place.clone(), fix);
            }
            self.inner(schema, &place);
        }
    }

    fn kind(&mut self, kind: &Value, place: &str) {
        let kinds = kind.as_array().map_or(std::slice::from_ref(kind), Vec::as_slice);
        for kind in kinds {
            if !kind.as_str().is_some_and(|kind| TYPES.contains(&kind)) {
                let fault = format!("is {}; write one of {}.", value(kind), TYPES.join(", "));
                self.push(place.to_owned(), fault);
            }
        }
        if kinds.is_empty() {
            self.push(place.to_owned(), "is an empty list; leave it out.");
        }
    }

    fn required(&mut self, required: &Value, properties: Option<&Value>, place: &str) {
        let Some(names) = required.as_array() else {
            let fault = format!("is {}; write a list of names, or leave it out.", kind_of(required));
            return self.push(place.to_owned(), fault);
        };
        for name in names {
            let is_known = name.as_str().is_some_and(|name| {
                properties.and_then(Value::as_object).is_some_and(|known| known.contains_key(name))
            });
            if !is_known {
                self.push(place.to_owned(), format!("has {}, which is not in `properties`.", value(name)));
            }
        }
    }

    fn reference(&mut self, reference: &Value, place: &str) {
        let target = reference.as_str().and_then(|text| text.strip_prefix('#'));
        let is_there = target.is_some_and(|target| {
            let target = target.replace("%24", "$");
            // Anchors are names without a slash.
            self.root.pointer(&target).is_some() || !target.is_empty() && has_anchor(self.root, &target)
        });
        if !is_there {
            let fault = format!("is {}, which is not in this schema; put it there.", value(reference));
            self.push(place.to_owned(), fault);
        }
    }
}

fn has_anchor(value: &Value, name: &str) -> bool {
    match value {
        Value::Object(members) => {
            members.get("$anchor").is_some_and(|anchor| anchor == name)
                || members.values().any(|inner| has_anchor(inner, name))
        }
        Value::Array(list) => list.iter().any(|inner| has_anchor(inner, name)),
        _ => false,
    }
}

/// Returns a value as JSON, cut to a displayable length.
fn value(value: &Value) -> String {
    shown(&value.to_string())
}

fn shown(text: &str) -> String {
    scorpiox_text::shorten(text.to_owned(), MAX_NAME)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(schema: &Value) -> Vec<String> {
        let found = schema_faults(&[json!({ "name": "a", "input_schema": schema })]);
        let prefix = "Some clients refuse the input_schema of a, and all tools with it: ";
        found.iter().map(|fault| fault.strip_prefix(prefix).unwrap_or(fault).to_owned()).collect()
    }

    #[test]
    fn a_plain_schema_has_no_fault() {
        let schema = json!({
            "type": "object", "required": ["city"], "additionalProperties": false,
            "properties": {
                "city": {"type": "string", "enum": ["a", "b"]},
                "at": {"anyOf": [{"type": "integer"}, {"type": ["null", "string"]}]},
                "place": {"$ref": "#/$defs/place"},
                "tree": {"type": "array", "items": {"$ref": "#"}},
                "named": {"$ref": "#spot"},
                "type": {"type": "string"},
                "required": {"type": "boolean", "default": null}
            },
            "$defs": {"place": {"type": "object"}, "other": {"$anchor": "spot"}}
        });
        assert_eq!(faults(&schema), Vec::<String>::new());
        assert_eq!(faults(&json!({"type": "object"})), Vec::<String>::new());
    }

    #[test]
    fn each_fault_is_named_with_its_place() {
        let of = |schema: Value| faults(&schema).join("\n");
        for (schema, expected) in [
            (json!({"type": "object", "oneOf": [{"type": "object"}]}), "/oneOf stands at the top;"),
            (json!({"type": "object", "enum": [1]}), "/enum stands at the top;"),
            (
                json!({"type": "object", "properties": {"a": {"type": "unknown"}}}),
                "/properties/a/type is \"unknown\"; write one of array, boolean,",
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": []}}}),
                "/properties/a/type is an empty list",
            ),
            (json!({"type": "object", "required": null}), "/required is null; write a list of names"),
            (
                json!({"type": "object", "properties": {"a": {"required": true}}}),
                "/properties/a/required is a boolean",
            ),
            (
                json!({"type": "object", "properties": {}, "required": ["b"]}),
                "/required has \"b\", which is not in `properties`.",
            ),
            (
                json!({"type": "object", "properties": {"the city": {}}}),
                "/properties/the city is a name with other characters",
            ),
            (
                json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}),
                "/properties/a/$ref is \"#/$defs/none\", which is not in this schema",
            ),
            (
                json!({"type": "object", "properties": {"a": {"items": [{"$ref": "https://example.com/a"}]}}}),
                "/properties/a/items/0/$ref is \"https://example.com/a\", which is not in this schema",
            ),
            (json!({"type": "object", "properties": null}), "/properties is null; write an object."),
            (json!({"type": "object", "properties": {"a": 1}}), "/properties/a is a number; write a schema."),
            (
                json!({"type": "object", "$defs": {"x": {"anyOf": {}}}}),
                "/$defs/x/anyOf is an object; write a list of schemas.",
            ),
        ] {
            let found = of(schema);
            assert!(found.starts_with(expected) && !found.contains('\n'), "{expected}: {found}");
        }
    }

    #[test]
    fn many_faults_are_counted() {
        let names: Map<String, Value> = (0..20).map(|n| (format!("a {n}"), json!({}))).collect();
        let found = faults(&json!({"type": "object", "properties": names}));
        assert_eq!(found.len(), MAX_FAULTS + 1);
        let last = &found[MAX_FAULTS];
        assert!(
            last.starts_with("Some clients also refuse 8 more places of its schemas: /properties/a "),
            "{last}"
        );
        assert_eq!(last.matches("(the input_schema of a)").count(), 8, "{last}");
        let names: Map<String, Value> = (0..90).map(|n| (format!("a {n}"), json!({}))).collect();
        let found = faults(&json!({"type": "object", "properties": names}));
        let last = &found[MAX_FAULTS];
        assert!(
            last.contains("78 more places") && last.contains(", and 38 more; correct these first"),
            "{last}"
        );
        let output = json!({"type": "object", "oneOf": [], "required": null});
        let found = schema_faults(&[json!({"name": "a", "output_schema": output})]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("the output_schema of a") && found[0].contains("/required is null"));
    }
}
