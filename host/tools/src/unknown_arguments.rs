//! Arguments that a tool does not have: told where the call failed, since that may be why.

use std::collections::BTreeMap;

use scorpiox_text::nearest;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::{Output, OutputContent, Tool};

/// Most that are named.
const MAX_NAMED: usize = 3;
/// Most characters of a name.
const MAX_NAME_CHARS: usize = 60;

/// What came of a call; of one that failed also which arguments the tool does not have.
pub fn told(tool: &Tool, arguments: &str, outcome: Result<Output, String>) -> Result<Output, String> {
    match outcome {
        Ok(output) if !output.is_error => Ok(output),
        Ok(mut output) => {
            if let Some(OutputContent::Text(text)) = output.content.first_mut()
                && let Some(note) = note(tool, arguments, text)
            {
                text.push_str("\n\n");
                text.push_str(&note);
            }
            Ok(output)
        }
        Err(why) => Err(match note(tool, arguments, &why) {
            Some(note) => format!("{why} {note}"),
            None => why,
        }),
    }
}

/// The names in a schema, and whether there may be others.
#[derive(Deserialize)]
struct Schema {
    #[serde(default)]
    properties: BTreeMap<String, Box<RawValue>>,
    #[serde(rename = "additionalProperties", default)]
    others: Option<Box<RawValue>>,
}

/// Of the arguments that the tool has not said anything about itself.
#[allow(clippy::zero_sized_map_values, reason = "an object is read as a map")]
fn note(tool: &Tool, arguments: &str, text: &str) -> Option<String> {
    let definition = tool.fixed_definition()?;
    let schema: Schema = serde_json::from_str(definition.input_schema.get()).ok()?;
    if schema.properties.is_empty() || schema.others.is_some_and(|others| others.get() != "false") {
        return None;
    }
    // The values may be long, and are of no interest.
    let given: BTreeMap<String, IgnoredAny> = serde_json::from_str(arguments).ok()?;
    let is_news = |name: &&String| !schema.properties.contains_key(*name) && !text.contains(name.as_str());
    let unknown: Vec<_> = given.keys().filter(is_news).collect();
    let known: Vec<_> = schema.properties.keys().map(String::as_str).collect();
    let said = |name: &&String| {
        let shown: String = name.chars().take(MAX_NAME_CHARS).flat_map(char::escape_debug).collect();
        match nearest(name, known.iter().copied()) {
            Some(meant) => format!("`{shown}`: did you mean `{meant}`?"),
            None => format!("`{shown}`."),
        }
    };
    let named: Vec<_> = unknown.iter().take(MAX_NAMED).map(said).collect();
    (!named.is_empty()).then(|| {
        format!("{} has no argument {} It has {}.", tool.name, named.join(" and no "), known.join(", "))
    })
}
