//! Reports arguments that a tool does not have, if they may explain a failure, or if a call may have had another
//! effect than intended.

use std::collections::{BTreeMap, BTreeSet};

use scorpiox_text::nearest;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::{Output, OutputContent, Tool};

/// Tools whose unknown arguments might have been meant to change a command's behavior.
const OF_COMMANDS: [&str; 2] = ["Bash", "BackgroundBash"];
/// Tools that start, end or show something in another way than intended, if they do not have an argument.
const OF_EFFECT: [&str; 6] =
    ["Bash", "BackgroundBash", "InvokeSkill", "KillBgTask", "ReadBgOutput", "SetCallback"];
/// Arguments that some models add to commands for the user's information. They change nothing.
const FOR_PEOPLE: [&str; 5] = ["description", "explanation", "reason", "title", "thought"];
/// Argument of commands, and other words for it.
const COMMAND: &str = "command";
const FOR_COMMANDS: [&str; 3] = ["cmd", "script", "code"];
/// Maximum number of names reported.
const MAX_NAMED: usize = 3;
/// Maximum length of a name in characters.
const MAX_NAME_CHARS: usize = 60;

/// Returns the outcome of a call, with a note on unknown arguments if it failed or had an effect.
pub fn told(tool: &Tool, arguments: &str, outcome: Result<Output, String>) -> Result<Output, String> {
    match outcome {
        Ok(output) if !output.is_error && !OF_EFFECT.contains(&&*tool.name) => Ok(output),
        Ok(mut output) => {
            let is_error = output.is_error;
            if let Some(OutputContent::Text(text)) = output.content.first_mut()
                // The output of a command may contain the name by chance.
                && let Some(note) = note(tool, arguments, is_error.then_some(text))
            {
                text.push_str("\n\n");
                text.push_str(&note);
            }
            Ok(output)
        }
        Err(why) => Err(match note(tool, arguments, Some(&why)) {
            Some(note) => format!("{} {note}", as_sentence(why)),
            None => why,
        }),
    }
}

/// Ends a message with a period, unless it already ends with punctuation.
fn as_sentence(mut message: String) -> String {
    if !message.ends_with(['.', '!', '?']) {
        message.push('.');
    }
    message
}

/// Names of the properties in a schema, and the rule for additional ones.
#[derive(Deserialize)]
struct Schema {
    #[serde(default)]
    properties: BTreeMap<String, Box<RawValue>>,
    #[serde(rename = "additionalProperties", default)]
    others: Option<Box<RawValue>>,
}

/// Reports whether an error speaks of an argument, and not only of another whose name contains its name.
fn names(text: &str, argument: &str) -> bool {
    let quoted = |quote: char| text.contains(&format!("{quote}{argument}{quote}"));
    ['`', '"', '\''].into_iter().any(quoted) || text.contains(&format!("{argument} is not known"))
}

/// Returns the argument that an unknown name probably stands for: one of a similar spelling, the usual word for a
/// command, or the only one that has all its words, or whose words it has.
fn meant<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let words = |name: &str| name.to_ascii_lowercase().split('_').map(str::to_owned).collect::<BTreeSet<_>>();
    let given = words(name);
    let shares = |known: &&&str| {
        let known = words(known);
        known.is_subset(&given) || given.is_subset(&known)
    };
    let only = |mut found: Vec<&&'a str>| if found.len() == 1 { found.pop().copied() } else { None };
    let command = FOR_COMMANDS.contains(&&*name.to_ascii_lowercase());
    let command = known.iter().find(|known| command && **known == COMMAND).copied();
    nearest(name, known.iter().copied()).or(command).or_else(|| only(known.iter().filter(shares).collect()))
}

/// Names the unknown arguments, except those that the tool's own error `text` mentions.
#[allow(clippy::zero_sized_map_values, reason = "an object is read as a map")]
fn note(tool: &Tool, arguments: &str, text: Option<&str>) -> Option<String> {
    let definition = tool.fixed_definition()?;
    let schema: Schema = serde_json::from_str(definition.input_schema.get()).ok()?;
    if schema.properties.is_empty() || schema.others.is_some_and(|others| others.get() != "false") {
        return None;
    }
    // The values may be long and are not needed.
    let given: BTreeMap<String, IgnoredAny> = serde_json::from_str(arguments).ok()?;
    let is_for_people = |name: &str| OF_COMMANDS.contains(&&*tool.name) && FOR_PEOPLE.contains(&name);
    let is_news = |name: &&String| {
        let is_told = text.is_some_and(|text| names(text, name));
        !schema.properties.contains_key(*name) && !is_for_people(name) && !is_told
    };
    let unknown: Vec<_> = given.keys().filter(is_news).collect();
    let known: Vec<_> = schema.properties.keys().map(String::as_str).collect();
    let said = |name: &&String| {
        let shown: String = name.chars().take(MAX_NAME_CHARS).flat_map(char::escape_debug).collect();
        match meant(name, &known) {
            Some(meant) => format!("`{shown}`: did you mean `{meant}`?"),
            None => format!("`{shown}`"),
        }
    };
    let named: Vec<_> = unknown.iter().take(MAX_NAMED).map(said).collect();
    (!named.is_empty()).then(|| {
        let mut named = named.join(" and no ");
        if !named.ends_with('?') {
            named.push('.');
        }
        format!("{} has no argument {named} It has {}.", tool.name, known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::{as_sentence, meant, names};

    #[test]
    fn an_error_about_another_argument_is_none_about_this() {
        assert!(!names("skill_name is missing. Installed: a.", "skill"));
        assert!(!names("file_path is missing; give the path of an image file.", "path"));
        for text in ["no argument `skill`", "skill is not known; expected a", "unknown field \"skill\""] {
            assert!(names(text, "skill"), "{text}");
        }
    }

    #[test]
    fn other_words_for_an_argument_are_understood() {
        let bash = ["command", "timeout"];
        let steps = ["action", "query", "step_id", "task_id", "text"];
        for (name, known, argument) in [
            ("cmd", &bash[..], Some("command")),
            ("comand", &bash, Some("command")),
            ("max_timeout", &bash, Some("timeout")),
            ("questions", &["questions_json"], Some("questions_json")),
            ("path", &["file_path"], Some("file_path")),
            ("skill", &["arguments", "skill_name"], Some("skill_name")),
            ("id", &["task_id"], Some("task_id")),
            ("id", &steps, None),
            ("cmd", &steps, None),
            ("colour", &bash, None),
        ] {
            assert_eq!(meant(name, known), argument, "{name} {known:?}");
        }
    }

    #[test]
    fn a_message_ends_before_the_note_begins() {
        for (message, ended) in [
            ("policy.toml line 3: unknown key", "policy.toml line 3: unknown key."),
            ("start it again (by the operator)", "start it again (by the operator)."),
            ("command is missing.", "command is missing."),
            ("did you mean `x`?", "did you mean `x`?"),
        ] {
            assert_eq!(as_sentence(message.to_owned()), ended);
        }
    }
}
