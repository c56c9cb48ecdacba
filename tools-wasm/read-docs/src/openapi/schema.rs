//! Schemas: a type in a few words, and the fields of objects.

use std::fmt::Write as _;

use crate::html::tree::Node;
use crate::tree::{element, simple, text};
use crate::value::Value;

use super::Writer;
use super::shared::name_of;

/// Maximum nesting depth of schemas that are described in words.
const MAX_WORDS_DEPTH: usize = 5;
/// Maximum nesting depth of fields.
const MAX_FIELDS_DEPTH: usize = 4;
/// Maximum number of fields of an object.
const MAX_FIELDS: usize = 200;
/// Maximum number of enumeration values and type alternatives.
const MAX_CHOICES: usize = 20;

impl Writer<'_> {
    /// Formats a named schema under a heading.
    pub(super) fn named_schema(&self, name: &str, schema: &Value<'_>) -> Vec<Node> {
        let mut nodes = vec![simple("h3", name)];
        let title = schema.text("title").filter(|title| *title != name);
        nodes.extend(self.prose(schema.text("description").or(title), 3));
        nodes.push(simple("p", format!("Type: {}", type_of(schema))));
        nodes.extend(self.fields(schema, 0));
        nodes
    }

    /// Lists the fields of an object, or of the objects in an array.
    pub(super) fn fields(&self, schema: &Value<'_>, depth: usize) -> Option<Node> {
        if depth >= MAX_FIELDS_DEPTH {
            return None;
        }
        let mut items = Vec::new();
        self.push_fields(schema, depth, &mut items);
        if items.is_empty() {
            return self.fields(schema.get("items")?, depth + 1);
        }
        Some(element("ul", items))
    }

    fn push_fields(&self, schema: &Value<'_>, depth: usize, items: &mut Vec<Node>) {
        let required: Vec<_> = schema
            .get("required")
            .map(Value::elements)
            .unwrap_or_default()
            .iter()
            .take(MAX_FIELDS)
            .filter_map(Value::as_text)
            .collect();
        let fields = schema.get("properties").map(Value::members).unwrap_or_default();
        for (name, field) in fields.iter().take(MAX_FIELDS) {
            items.push(self.field(name, field, required.contains(&name.as_ref()), depth));
        }
        if let Some(more) = fields.len().checked_sub(MAX_FIELDS).filter(|more| *more > 0) {
            items.push(simple("li", format!("and {more} more")));
        }
        // The parts of a composed type have fields too.
        let parts = schema.get("allOf").map(Value::elements).unwrap_or_default();
        if depth < MAX_FIELDS_DEPTH {
            for part in parts.iter().take(MAX_CHOICES) {
                self.push_fields(part, depth + 1, items);
            }
        }
    }

    fn field(&self, name: &str, field: &Value<'_>, is_required: bool, depth: usize) -> Node {
        let mut about = words(field, 0);
        let is_given = |name| field.is(name);
        let marks = [
            (is_required, "required"),
            (is_given("readOnly"), "read only"),
            (is_given("writeOnly"), "write only"),
            (is_given("deprecated"), "deprecated"),
        ];
        for (_, mark) in marks.into_iter().filter(|(is, _)| *is) {
            about.push_str(", ");
            about.push_str(mark);
        }
        let mut content = vec![simple("code", name), text(format!(" ({about})"))];
        self.describe(field, &mut content);
        content.extend(self.fields(field, depth + 1));
        element("li", content)
    }
}

/// Describes a type: `array of Pet`, `string (date-time), one of "a", "b"`.
pub(super) fn type_of(schema: &Value<'_>) -> String {
    words(schema, 0)
}

fn words(schema: &Value<'_>, depth: usize) -> String {
    if depth > MAX_WORDS_DEPTH {
        return "…".to_owned();
    }
    if let Some(reference) = schema.text("$ref") {
        return name_of(reference);
    }
    let mut text = kind(schema, depth).unwrap_or_else(|| "any".to_owned());
    if let Some(format) = schema.text("format") {
        let _ = write!(text, " ({format})");
    }
    if schema.is("nullable") {
        text.push_str(" or null");
    }
    if let Some(value) = schema.get("const") {
        let _ = write!(text, ", always {}", value.shown());
    }
    let choices = schema.get("enum").map(Value::elements).unwrap_or_default();
    if !choices.is_empty() {
        let shown: Vec<_> = choices.iter().take(MAX_CHOICES).map(Value::shown).collect();
        let more = if choices.len() > MAX_CHOICES { ", …" } else { "" };
        let _ = write!(text, ", one of {}{more}", shown.join(", "));
    }
    if let Some(value) = schema.get("default") {
        let _ = write!(text, ", default {}", value.shown());
    }
    text
}

fn kind(schema: &Value<'_>, depth: usize) -> Option<String> {
    const JOINTS: [(&str, &str); 3] = [("allOf", " and "), ("oneOf", " or "), ("anyOf", " or ")];
    for (name, joint) in JOINTS {
        let parts = schema.get(name).map(Value::elements).unwrap_or_default();
        if !parts.is_empty() {
            let shown: Vec<_> = parts.iter().take(MAX_CHOICES).map(|part| words(part, depth + 1)).collect();
            let more = if parts.len() > MAX_CHOICES { "…" } else { "" };
            return Some(shown.join(joint) + more);
        }
    }
    let given = schema.get("type");
    // `OpenAPI` 3.1 allows lists of types.
    let names: Vec<&str> = match given {
        Some(Value::List(names)) => names.iter().take(MAX_CHOICES).filter_map(Value::as_text).collect(),
        Some(name) => name.as_text().into_iter().collect(),
        None if schema.get("properties").is_some() || schema.get("additionalProperties").is_some() => {
            vec!["object"]
        }
        None if schema.get("items").is_some() => vec!["array"],
        None => return None,
    };
    let one = |name: &str| match name {
        "array" => match schema.get("items") {
            Some(items) => format!("array of {}", words(items, depth + 1)),
            None => "array".to_owned(),
        },
        "object" => match schema.get("additionalProperties") {
            Some(values @ Value::Map(_)) if schema.get("properties").is_none() => {
                format!("map of {}", words(values, depth + 1))
            }
            _ => "object".to_owned(),
        },
        name => name.to_owned(),
    };
    Some(names.iter().map(|name| one(name)).collect::<Vec<_>>().join(" or "))
}
