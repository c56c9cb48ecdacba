//! Arguments that a tool does not have: told where the call failed, since that may be why, and where a command ran
//! otherwise than somebody thought.

use std::collections::BTreeMap;

use scorpiox_text::nearest;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::{Output, OutputContent, Tool};

/// Tools of which an argument would change what a command does.
const OF_COMMANDS: [&str; 2] = ["Bash", "BackgroundBash"];
/// Arguments that some models give with each command, for people: they change nothing.
const FOR_PEOPLE: [&str; 5] = ["description", "explanation", "reason", "title", "thought"];
/// Most that are named.
const MAX_NAMED: usize = 3;
/// Most characters of a name.
const MAX_NAME_CHARS: usize = 60;

/// Returns the outcome of a call; with the arguments that the tool does not have where it failed, or ran a command.
pub fn told(tool: &Tool, arguments: &str, outcome: Result<Output, String>) -> Result<Output, String> {
    match outcome {
        Ok(output) if !output.is_error && !OF_COMMANDS.contains(&&*tool.name) => Ok(output),
        Ok(mut output) => {
            let is_error = output.is_error;
            if let Some(OutputContent::Text(text)) = output.content.first_mut()
                // The output of a command may have the name by chance.
                && let Some(note) = note(tool, arguments, is_error.then_some(text))
            {
                text.push_str("\n\n");
                text.push_str(&note);
            }
            Ok(output)
        }
        Err(why) => Err(match note(tool, arguments, Some(&why)) {
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

/// Names the arguments that the tool does not have, but for those in its own `text` about an error.
#[allow(clippy::zero_sized_map_values, reason = "an object is read as a map")]
fn note(tool: &Tool, arguments: &str, text: Option<&str>) -> Option<String> {
    let definition = tool.fixed_definition()?;
    let schema: Schema = serde_json::from_str(definition.input_schema.get()).ok()?;
    if schema.properties.is_empty() || schema.others.is_some_and(|others| others.get() != "false") {
        return None;
    }
    // The values may be long, and are of no interest.
    let given: BTreeMap<String, IgnoredAny> = serde_json::from_str(arguments).ok()?;
    let is_for_people = |name: &str| OF_COMMANDS.contains(&&*tool.name) && FOR_PEOPLE.contains(&name);
    let is_news = |name: &&String| {
        let is_told = text.is_some_and(|text| text.contains(name.as_str()));
        !schema.properties.contains_key(*name) && !is_for_people(name) && !is_told
    };
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
