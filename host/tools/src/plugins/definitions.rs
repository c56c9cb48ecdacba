//! Validates the tool definitions of plugins before clients and users see them.

use scorpiox_mcp::jsonrpc::message::nested_beyond;
use scorpiox_plugin::{MAX_TOOLS, PluginName};
use serde_json::Value;

const MAX_TITLE_CHARS: usize = 100;
const MAX_DESCRIPTION_CHARS: usize = 4096;
const MAX_SCHEMA_BYTES: usize = 64 * 1024;
/// Maximum nesting depth of a schema. Client parsers reject the complete list at 128 levels.
const MAX_SCHEMA_DEPTH: usize = 64;
/// Maximum number of displayed characters of an invalid name.
const MAX_SHOWN_CHARS: usize = 64;

/// An invalid definition, which no client receives.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadDefinition {
    /// No tools.
    #[error("it has no tools")]
    None,
    /// Too many tools for a model to choose from.
    #[error("it has {count} tools; the limit is {limit}: {}", more_tools(*count))]
    TooMany {
        /// Number of tools.
        count: usize,
        /// Maximum number in this plugin.
        limit: usize,
    },
    /// A name that clients or users would misread.
    #[error("a tool has the name {name}; {rule}; see `rename`")]
    Name {
        /// The name, escaped.
        name: String,
        /// Description of valid names.
        rule: String,
    },
    /// Two tools have the same name.
    #[error("two tools have the name {0}")]
    Twice(String),
    /// A member is missing or has the wrong type.
    #[error("the definition of {tool} has no usable {member}")]
    Member {
        /// Name of the tool.
        tool: String,
        /// Name of the member.
        member: &'static str,
    },
    /// A member is too long.
    #[error("the {member} of {tool} has {size} {unit}; the limit is {most}")]
    TooLong {
        /// Name of the tool.
        tool: String,
        /// Name of the member.
        member: &'static str,
        /// Length of the member.
        size: usize,
        /// Maximum length.
        most: usize,
        /// Unit of the lengths.
        unit: &'static str,
    },
    /// A schema whose nesting would keep clients from parsing the list.
    #[error("the {member} of {tool} is nested deeper than {MAX_SCHEMA_DEPTH} levels")]
    Deep {
        /// Name of the tool.
        tool: String,
        /// Name of the member.
        member: &'static str,
    },
    /// A character that controls a terminal, or that hides or reorders text.
    #[error("the {member} of {tool} has the invisible character {character}")]
    Deceptive {
        /// Name of the tool.
        tool: String,
        /// Name of the member.
        member: &'static str,
        /// The character, escaped.
        character: String,
    },
}

/// Describes the functions beyond the limit of a plugin in which `count` could be tools.
pub fn surplus(count: usize, limit: usize) -> Option<String> {
    let surplus = count.checked_sub(limit).filter(|surplus| *surplus > 0)?;
    Some(format!(
        "{surplus} more functions are no tools: {count} could be, and the limit is {limit}. {}.",
        more_tools(count)
    ))
}

/// Returns the ways to offer more tools than the limit of a plugin that has `count` of them.
fn more_tools(count: usize) -> String {
    if count <= MAX_TOOLS {
        format!(
            "`--max-tools {count}`, or max_tools = {count} in plugin.toml, allows all of them, and `select` chooses some"
        )
    } else {
        format!("`select` in plugin.toml chooses some, and max_tools allows up to {MAX_TOOLS}")
    }
}

/// Validates the tool definitions of a plugin with at most `limit` tools.
pub(super) fn check(definitions: &[Value], plugin: &PluginName, limit: usize) -> Result<(), BadDefinition> {
    if definitions.is_empty() {
        return Err(BadDefinition::None);
    }
    if definitions.len() > limit {
        return Err(BadDefinition::TooMany { count: definitions.len(), limit });
    }
    let mut names = Vec::new();
    for definition in definitions {
        let name = check_one(definition, plugin)?;
        if names.contains(&name) {
            return Err(BadDefinition::Twice(name.to_owned()));
        }
        names.push(name);
    }
    Ok(())
}

/// Validates the definition of a tool, and returns the tool's name.
pub(super) fn check_one<'d>(definition: &'d Value, plugin: &PluginName) -> Result<&'d str, BadDefinition> {
    let name = definition["name"].as_str().unwrap_or_default();
    if !plugin.fits_tool(name) {
        let shown: String = name.chars().take(MAX_SHOWN_CHARS).collect();
        let name = format!("{:?}", shown.escape_debug().to_string());
        return Err(BadDefinition::Name { name, rule: plugin.tool_name_rule() });
    }
    text(name, "title", definition, MAX_TITLE_CHARS)?;
    text(name, "description", definition, MAX_DESCRIPTION_CHARS)?;
    schema(name, "input_schema", definition)?;
    if !definition["output_schema"].is_null() {
        schema(name, "output_schema", definition)?;
    }
    Ok(name)
}

fn text(tool: &str, member: &'static str, definition: &Value, most: usize) -> Result<(), BadDefinition> {
    let tool = tool.to_owned();
    let Some(text) = definition[member].as_str() else { return Err(BadDefinition::Member { tool, member }) };
    let size = text.chars().count();
    if size > most {
        return Err(BadDefinition::TooLong { tool, member, size, most, unit: "characters" });
    }
    match text.chars().find(|c| scorpiox_text::is_deceptive(*c)) {
        Some(found) => {
            Err(BadDefinition::Deceptive { tool, member, character: found.escape_unicode().to_string() })
        }
        None => Ok(()),
    }
}

fn schema(tool: &str, member: &'static str, definition: &Value) -> Result<(), BadDefinition> {
    let tool = tool.to_owned();
    let schema = &definition[member];
    if schema["type"] != "object" {
        return Err(BadDefinition::Member { tool, member });
    }
    let json = schema.to_string();
    if json.len() > MAX_SCHEMA_BYTES {
        let (size, most, unit) = (json.len(), MAX_SCHEMA_BYTES, "bytes");
        return Err(BadDefinition::TooLong { tool, member, size, most, unit });
    }
    if nested_beyond(json.as_bytes(), MAX_SCHEMA_DEPTH).is_some() {
        return Err(BadDefinition::Deep { tool, member });
    }
    // JSON escapes control characters; this checks the unescaped characters.
    match json.chars().find(|c| scorpiox_text::is_deceptive(*c)) {
        Some(found) => {
            Err(BadDefinition::Deceptive { tool, member, character: found.escape_unicode().to_string() })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(name: &str, description: &str) -> Value {
        json!({
            "name": name, "title": "T", "description": description, "input_schema": {"type": "object"},
            "output_schema": null,
        })
    }

    /// Checks the definitions as those of a plugin with the longest name.
    fn checked(definitions: &[Value]) -> Result<(), BadDefinition> {
        check(definitions, &PluginName::try_from("x".repeat(24)).expect("a name"), 64)
    }

    fn error(definition: Value) -> String {
        checked(&[definition]).expect_err("an error").to_string()
    }

    #[test]
    fn too_many_tools_are_counted_and_can_be_allowed() {
        let many = |count| (0..count).map(|n| definition(&format!("f{n}"), "")).collect::<Vec<_>>();
        assert_eq!(checked(&many(64)), Ok(()));
        assert_eq!(
            checked(&many(95)).expect_err("an error").to_string(),
            "it has 95 tools; the limit is 64: `--max-tools 95`, or max_tools = 95 in plugin.toml, allows all of them, \
             and `select` chooses some"
        );
        let beyond = checked(&many(300)).expect_err("an error").to_string();
        assert!(
            beyond.starts_with("it has 300 tools;") && beyond.ends_with("max_tools allows up to 256"),
            "{beyond}"
        );
    }

    #[test]
    fn plain_definitions_are_taken() {
        assert_eq!(
            checked(&[definition("forecast", "The weather.\nTomorrow's."), definition("b.c-d_1", "")]),
            Ok(())
        );
    }

    #[test]
    fn what_would_mislead_is_refused_and_shown_escaped() {
        assert_eq!(checked(&[]), Err(BadDefinition::None));
        assert_eq!(
            checked(&[definition("a", ""), definition("a", "")]),
            Err(BadDefinition::Twice("a".into()))
        );
        assert!(error(definition("", "")).starts_with("a tool has the name \"\";"));
        assert!(error(definition("a b", "")).contains("\"a b\""));
        assert!(error(definition("a\u{202e}b", "")).contains("u{202e}"));
        assert!(error(definition(&"x".repeat(40), "")).contains("1 to 39 letters"));
        for hidden in ['\u{1b}', '\u{200b}', '\u{202e}', '\u{e0041}', '\u{7f}'] {
            let text = error(definition("a", &format!("x{hidden}y")));
            assert!(text.contains("the description of a has the invisible character \\u{"), "{text}");
        }
        assert_eq!(
            error(definition("a", &"x".repeat(1_000_000))),
            "the description of a has 1000000 characters; the limit is 4096"
        );
        let mut schema = definition("a", "");
        schema["input_schema"] = json!({"type": "string"});
        assert_eq!(error(schema.clone()), "the definition of a has no usable input_schema");
        schema["input_schema"] = json!({"type": "object", "description": "a\u{200b}"});
        assert!(error(schema.clone()).contains("input_schema of a has the invisible character \\u{200b}"));
        let nested =
            (0..64).fold(json!({"type": "object"}), |inner, _| json!({"type": "object", "not": inner}));
        schema["input_schema"] = nested;
        assert_eq!(error(schema), "the input_schema of a is nested deeper than 64 levels");
    }
}
