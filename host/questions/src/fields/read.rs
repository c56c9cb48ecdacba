//! Parses a form schema.

use serde_json::{Map, Value};

use super::{Field, Fields, FieldsError, MAX_FIELDS, MAX_OPTIONS, MAX_SCHEMA_BYTES, wrong};

/// Maximum length of a field name in characters.
const MAX_NAME_CHARS: usize = 64;
/// Members that every field may have.
const COMMON: [&str; 4] = ["type", "title", "description", "default"];

impl Fields {
    /// Parses a schema.
    pub fn parse(json: &str) -> Result<Self, FieldsError> {
        if json.len() > MAX_SCHEMA_BYTES {
            return wrong(format!("the schema has {} bytes; the limit is {MAX_SCHEMA_BYTES}", json.len()));
        }
        let schema: Value = match serde_json::from_str(json) {
            Ok(schema) => schema,
            Err(error) => return wrong(format!("the schema is not JSON: {error}")),
        };
        let Some(members) = schema.as_object() else { return wrong("the schema is not an object") };
        only(members, &["$schema", "type", "properties", "required"], "the schema")?;
        if schema["type"] != "object" {
            return wrong("the schema's type is not \"object\"");
        }
        if let Some(found) = deceptive(&schema) {
            let shown = found.escape_unicode();
            return wrong(format!("the schema has the invisible character {shown}; take it out"));
        }
        let Some(properties) = schema["properties"].as_object() else {
            return wrong("the schema has no properties; give each field of the form one");
        };
        if properties.is_empty() || properties.len() > MAX_FIELDS {
            return wrong(format!("the schema has {} properties; give 1 to {MAX_FIELDS}", properties.len()));
        }
        let mut is_newer = false;
        let mut all = Vec::new();
        for (name, property) in properties {
            all.push((name.clone(), field(name, property, &mut is_newer)?));
        }
        let required = required(&schema, properties)?;
        let form = Self { all, required, is_newer, schema: String::new() };
        form.check_defaults(properties)?;
        // Inside strings these characters are escaped.
        Ok(Self { schema: json.replace(['\n', '\r', '\t'], " "), ..form })
    }
}

/// Returns a character that hides or reorders text, from any string of a value.
fn deceptive(value: &Value) -> Option<char> {
    let in_text = |text: &str| text.chars().find(|c| scorpiox_text::is_deceptive(*c));
    match value {
        Value::String(text) => in_text(text),
        Value::Array(items) => items.iter().find_map(deceptive),
        Value::Object(members) => {
            members.iter().find_map(|(name, value)| in_text(name).or_else(|| deceptive(value)))
        }
        _ => None,
    }
}

fn only(members: &Map<String, Value>, known: &[&str], what: &str) -> Result<(), FieldsError> {
    match members.keys().find(|name| !known.contains(&name.as_str())) {
        Some(other) => wrong(format!("{what} has {other:?}; forms have {}", known.join(", "))),
        None => Ok(()),
    }
}

fn required(schema: &Value, properties: &Map<String, Value>) -> Result<Vec<String>, FieldsError> {
    let Some(required) = schema.get("required") else { return Ok(Vec::new()) };
    let names: Option<Vec<String>> = required
        .as_array()
        .and_then(|names| names.iter().map(|name| Some(name.as_str()?.to_owned())).collect());
    let Some(names) = names else { return wrong("required is not a list of names") };
    match names.iter().find(|name| !properties.contains_key(*name)) {
        Some(other) => wrong(format!("required has {other:?}, which is no property")),
        None => Ok(names),
    }
}

fn field(name: &str, property: &Value, is_newer: &mut bool) -> Result<Field, FieldsError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(is_plain) {
        return wrong(format!(
            "{name:?} is no name of a field; take 1 to {MAX_NAME_CHARS} letters, digits, hyphens, underscores and dots"
        ));
    }
    let Some(members) = property.as_object() else { return wrong(format!("{name} is not an object")) };
    for text in ["title", "description"] {
        if members.get(text).is_some_and(|text| !text.is_string()) {
            return wrong(format!("the {text} of {name} is no text"));
        }
    }
    let allow = |more: &[&str]| only(members, &[&COMMON[..], more].concat(), name);
    match property["type"].as_str() {
        Some("string") if members.contains_key("oneOf") => {
            allow(&["oneOf"])?;
            *is_newer = true;
            Ok(Field::OneOf(titled(name, &property["oneOf"])?))
        }
        Some("string") if members.contains_key("enum") => {
            allow(&["enum", "enumNames"])?;
            let options = texts(name, &property["enum"])?;
            if let Some(names) = members.get("enumNames")
                && texts(name, names)?.len() != options.len()
            {
                return wrong(format!("{name} has another number of enumNames than of options"));
            }
            Ok(Field::OneOf(options))
        }
        Some("string") => {
            allow(&["minLength", "maxLength", "format"])?;
            let formats = ["email", "uri", "date", "date-time"];
            if members.get("format").is_some_and(|format| !formats.iter().any(|known| format == known)) {
                return wrong(format!("the format of {name} is none of {}", formats.join(", ")));
            }
            let (least, most) = (count(name, members, "minLength")?, count(name, members, "maxLength")?);
            Ok(Field::Text { least: least.unwrap_or(0), most: most.unwrap_or(usize::MAX) })
        }
        Some(kind @ ("number" | "integer")) => {
            allow(&["minimum", "maximum"])?;
            let bound = |which: &str| match members.get(which) {
                None => Ok(None),
                Some(value) => value
                    .as_f64()
                    .map(Some)
                    .ok_or_else(|| FieldsError(format!("the {which} of {name} is no number"))),
            };
            Ok(Field::Number {
                is_whole: kind == "integer",
                least: bound("minimum")?,
                most: bound("maximum")?,
            })
        }
        Some("boolean") => allow(&[]).map(|()| Field::Truth),
        Some("array") => {
            allow(&["items", "minItems", "maxItems"])?;
            *is_newer = true;
            let items = &property["items"];
            let Some(inner) = items.as_object() else { return wrong(format!("{name} has no items")) };
            let options = if inner.contains_key("anyOf") {
                only(inner, &["anyOf"], name)?;
                titled(name, &items["anyOf"])?
            } else {
                only(inner, &["type", "enum"], name)?;
                texts(name, &items["enum"])?
            };
            let (least, most) = (count(name, members, "minItems")?, count(name, members, "maxItems")?);
            Ok(Field::SeveralOf { options, least: least.unwrap_or(0), most: most.unwrap_or(usize::MAX) })
        }
        _ => wrong(format!("the type of {name} is none of string, number, integer, boolean, array")),
    }
}

fn count(name: &str, members: &Map<String, Value>, which: &str) -> Result<Option<usize>, FieldsError> {
    let Some(value) = members.get(which) else { return Ok(None) };
    match value.as_u64().and_then(|count| usize::try_from(count).ok()) {
        Some(count) => Ok(Some(count)),
        None => wrong(format!("the {which} of {name} is no count")),
    }
}

/// Parses options that are strings.
fn texts(name: &str, list: &Value) -> Result<Vec<String>, FieldsError> {
    options(name, list, |option| option.as_str().map(str::to_owned))
}

/// Parses options with titles.
fn titled(name: &str, list: &Value) -> Result<Vec<String>, FieldsError> {
    options(name, list, |option| {
        let members = option.as_object()?;
        let is_known = members.keys().all(|member| member == "const" || member == "title");
        (is_known && option["title"].is_string()).then(|| option["const"].as_str().map(str::to_owned))?
    })
}

fn options(
    name: &str,
    list: &Value,
    read: impl Fn(&Value) -> Option<String>,
) -> Result<Vec<String>, FieldsError> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    if list.is_empty() || list.len() > MAX_OPTIONS {
        return wrong(format!("{name} has {} options; give 1 to {MAX_OPTIONS}", list.len()));
    }
    let read: Option<Vec<_>> = list.iter().map(read).collect();
    read.ok_or_else(|| FieldsError(format!("an option of {name} is no text, or has no const and title")))
}
