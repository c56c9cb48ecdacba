//! Describes the arguments of a tool from their JSON Schema.

use std::fmt::Write as _;

use scorpiox_terminal::{one_line, rows};
use serde_json::{Map, Value};

/// Maximum width of a name and of a value, in columns.
const MAX_NAME: usize = 40;
const MAX_VALUE: usize = 60;
/// Maximum number of named values of an enumeration.
const MAX_VALUES: usize = 12;
/// Maximum number of rows of a description.
const MAX_ROWS: usize = 12;

/// Keywords that limit a value, each with the word before its value.
const LIMITS: [(&str, &str); 12] = [
    ("minimum", "at least "),
    ("exclusiveMinimum", "more than "),
    ("maximum", "at most "),
    ("exclusiveMaximum", "less than "),
    ("multipleOf", "a multiple of "),
    ("minLength", "characters: at least "),
    ("maxLength", "characters: at most "),
    ("pattern", "matches "),
    ("format", "format "),
    ("minItems", "entries: at least "),
    ("maxItems", "entries: at most "),
    ("const", "always "),
];

/// Appends the arguments: name, type, limits, default, and the author's description in marked rows.
pub(super) fn describe(text: &mut String, schema: &Value) {
    let Some(properties) = schema["properties"].as_object().filter(|properties| !properties.is_empty())
    else {
        text.push_str("  Arguments: none\n");
        return;
    };
    text.push_str("  Arguments:\n");
    for (name, property) in properties {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    {}: {}", one_line(name, MAX_NAME), kind(name, property, schema));
        if let Some(description) = property["description"].as_str() {
            rows(text, "      ", description, MAX_ROWS);
        }
    }
}

/// Describes type, necessity, default and limits of an argument.
fn kind(name: &str, property: &Value, schema: &Value) -> String {
    let mut parts = vec![type_of(property)];
    let is_required = is_required(name, schema);
    parts.extend(is_required.then(|| "required".to_owned()));
    let default = property.get("default").map(|value| format!("default {}", shown(value)));
    parts.extend(default);
    if let Some(values) = property["enum"].as_array() {
        let mut named: Vec<_> = values.iter().take(MAX_VALUES).map(shown).collect();
        if values.len() > MAX_VALUES {
            named.push(format!("and {} more", values.len() - MAX_VALUES));
        }
        parts.push(format!("one of {}", named.join(", ")));
    }
    let limits = LIMITS.iter().filter_map(|(keyword, words)| Some((words, property.get(keyword)?)));
    parts.extend(limits.map(|(words, value)| format!("{words}{}", shown(value))));
    parts.join("; ")
}

fn is_required(name: &str, schema: &Value) -> bool {
    schema["required"].as_array().is_some_and(|required| required.iter().any(|required| required == name))
}

fn type_of(property: &Value) -> String {
    let named = match &property["type"] {
        Value::String(name) => one_line(name, MAX_VALUE),
        Value::Array(names) => {
            let names: Vec<_> = names.iter().filter_map(Value::as_str).collect();
            one_line(&names.join(" or "), MAX_VALUE)
        }
        _ => "any value".to_owned(),
    };
    match property["items"]["type"].as_str() {
        Some(items) if named == "array" => format!("array of {}", one_line(items, MAX_VALUE)),
        _ => named,
    }
}

fn shown(value: &Value) -> String {
    one_line(&value.as_str().map_or_else(|| value.to_string(), str::to_owned), MAX_VALUE)
}

/// Returns arguments for a command line: those that the schema requires, each with an allowed value.
pub(super) fn example(schema: &Value) -> String {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let required = properties.iter().filter(|(name, _)| is_required(name, schema));
    let words: Vec<_> = required.map(|(name, property)| word(name, property)).collect();
    words.join(" ")
}

fn word(name: &str, property: &Value) -> String {
    let given = ["const", "default"].iter().find_map(|keyword| property.get(keyword));
    let given = given.or_else(|| property["enum"].get(0)).or_else(|| property["examples"].get(0));
    let value = match (given, property["type"].as_str()) {
        (Some(value), _) => value.clone(),
        (None, Some("integer" | "number")) => property.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        (None, Some("boolean")) => true.into(),
        (None, Some("array")) => Value::Array(Vec::new()),
        (None, Some("object")) => Value::Object(Map::new()),
        (None, _) => "TEXT".into(),
    };
    match value.as_str() {
        Some(text) => quoted(&format!("{name}={text}")),
        None => quoted(&format!("{name}:={value}")),
    }
}

/// Quotes a word for a shell, if it needs that.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_argument_has_its_type_default_and_limits() {
        let schema = json!({
            "properties": {
                "url": { "type": "string", "maxLength": 2000, "description": "The page\nDEFAULT: yours" },
                "wait": { "type": "integer", "minimum": 0, "maximum": 9, "default": 3 },
                "form": { "enum": ["text", "html"] },
                "tags": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["url"],
        });
        let mut text = String::new();
        describe(&mut text, &schema);
        assert_eq!(
            text,
            "  Arguments:\n    \
             form: any value; one of text, html\n    \
             tags: array of string\n    \
             url: string; required; characters: at most 2000\n      | The page\n      | DEFAULT: yours\n    \
             wait: integer; default 3; at least 0; at most 9\n"
        );
        let mut none = String::new();
        describe(&mut none, &json!({ "type": "object", "properties": {} }));
        assert_eq!(none, "  Arguments: none\n");
    }

    #[test]
    fn an_example_has_what_is_required_and_a_shell_reads_it() {
        let schema = json!({
            "properties": {
                "a": { "type": "string" },
                "b c": { "type": "string", "enum": ["it's"] },
                "n": { "type": "integer", "minimum": 5 },
                "o": { "type": "object" },
                "p": { "type": "boolean" },
            },
            "required": ["a", "b c", "n", "o"],
        });
        assert_eq!(example(&schema), r"a=TEXT 'b c=it'\''s' n:=5 'o:={}'");
    }
}
