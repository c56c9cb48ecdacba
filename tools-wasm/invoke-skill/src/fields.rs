//! Front matter fields other than the name and the description: allowed callers, arguments, and fields
//! without effect.
//!
//! The fields are those of agentskills.io and of Claude Code. A skill never grants permissions.

use scorpiox_tool_kit::args::shown;

use crate::hygiene;
use crate::nearest::meant;
use crate::yaml::{Document, Value};

/// Maximum number of argument names. `MAX_ARGUMENT_CHARS` is the maximum length of each.
const MAX_ARGUMENTS: usize = 16;
const MAX_ARGUMENT_CHARS: usize = 64;
/// Maximum length of a hint, in characters. Clients show it on one line.
const MAX_HINT_CHARS: usize = 200;
/// Maximum length of `compatibility` in the format, in characters.
const MAX_COMPATIBILITY_CHARS: usize = 500;
/// Maximum length of `when_to_use`, in characters; the same as for descriptions.
const MAX_WHEN_CHARS: usize = 1024;
/// Maximum number of ignored members that are reported.
const MAX_IGNORED: usize = 32;

/// Fields that have an effect, or are passed to clients that read the complete front matter.
const KNOWN: &[&str] = &[
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "when_to_use",
    "argument-hint",
    "arguments",
    "disable-model-invocation",
    "user-invocable",
];

const CLIENT: &str = "a server cannot choose that for its client";
const COMMANDS: &str = "the server runs no command of a skill";
/// Fields of the formats without effect, and the reason.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("allowed-tools", "a skill grants nothing; the policy and the client decide what tools may do"),
    ("disallowed-tools", "a skill forbids nothing; the policy and the client decide what tools may do"),
    ("model", CLIENT),
    ("effort", CLIENT),
    ("context", "a server starts no subagent; the model that asks follows the skill"),
    ("agent", "a server starts no subagent; the model that asks follows the skill"),
    ("paths", "the skill is listed whatever files are worked on"),
    ("hooks", COMMANDS),
    ("shell", COMMANDS),
];

/// Values of the fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// `true` if models may invoke the skill.
    pub for_models: bool,
    /// `true` if users may select the skill as a prompt.
    pub for_people: bool,
    /// Additional text that says when to use the skill.
    pub when_to_use: Option<String>,
    /// Hint about the arguments.
    pub argument_hint: Option<String>,
    /// Names of the arguments, in order.
    pub arguments: Vec<String>,
    /// Requirements of the skill.
    pub compatibility: Option<String>,
    /// Members without effect.
    pub ignored: Vec<Ignored>,
}

/// A member without effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// Key of the member.
    pub key: String,
    /// Reason; completes the sentence "… is ignored: ".
    pub why: String,
}

impl Fields {
    pub(crate) fn read(document: &Document, warnings: &mut Vec<String>) -> Self {
        let field =
            |key: &str| document.members.iter().find(|(known, _)| known == key).map(|(_, value)| value);
        // An invalid value counts as `true`: the author wanted to exclude models.
        let is_closed = flag("disable-model-invocation", field("disable-model-invocation"), true, warnings);
        let for_people = flag("user-invocable", field("user-invocable"), true, warnings).unwrap_or(true);
        let for_models = !is_closed.unwrap_or(false);
        if !for_models && !for_people {
            warnings.push("neither models nor people can invoke it".to_owned());
        }
        let mut text = |key: &str, most| line(key, field(key), most, warnings);
        let when_to_use = text("when_to_use", MAX_WHEN_CHARS);
        let argument_hint = text("argument-hint", MAX_HINT_CHARS);
        let compatibility = text("compatibility", MAX_COMPATIBILITY_CHARS);
        let arguments = field("arguments").map(|value| arguments(value, warnings)).unwrap_or_default();
        let ignored = ignored(document);
        Self { for_models, for_people, when_to_use, argument_hint, arguments, compatibility, ignored }
    }
}

/// Parses a Boolean field. Any other value counts as `assumed`.
fn flag(key: &str, value: Option<&Value>, assumed: bool, warnings: &mut Vec<String>) -> Option<bool> {
    let value = value.filter(|value| !value.is_null())?;
    let text = value.as_text().unwrap_or_default().trim().to_ascii_lowercase();
    Some(match text.as_str() {
        "true" | "yes" | "on" => true,
        "false" | "no" | "off" => false,
        _ => {
            warnings.push(format!("{key} should be true or false; {assumed} is assumed"));
            assumed
        }
    })
}

/// Reads a field as one line of at most `most` characters. A list is written in YAML's flow style, because
/// `argument-hint: [file]` is a list.
fn line(key: &str, value: Option<&Value>, most: usize, warnings: &mut Vec<String>) -> Option<String> {
    let text = match value? {
        Value::List(values) => {
            let values: Option<Vec<&str>> = values.iter().map(Value::as_text).collect();
            values.map(|values| format!("[{}]", values.join(", ")))
        }
        value if value.is_null() => return None,
        value => value.as_text().map(str::to_owned),
    };
    let Some(text) = text else {
        warnings.push(format!("{key} should be a text; it is not used"));
        return None;
    };
    let cleaned = hygiene::line(&text);
    if cleaned.stripped {
        warnings.push(format!("control or invisible characters were removed from {key}"));
    }
    let length = cleaned.text.chars().count();
    if length > most {
        warnings.push(format!("{key} has {length} characters; only {most} are used"));
    }
    let text: String = cleaned.text.chars().take(most).collect();
    (!text.is_empty()).then_some(text)
}

/// Reads names of arguments from a list or from words.
fn arguments(value: &Value, warnings: &mut Vec<String>) -> Vec<String> {
    let written: Vec<&str> = match value {
        Value::List(values) => values.iter().map(|value| named(value).unwrap_or_default()).collect(),
        value => value.as_text().unwrap_or_default().split_whitespace().collect(),
    };
    let mut names: Vec<String> = Vec::new();
    for name in written {
        if !is_argument_name(name) {
            let shown = shown(&hygiene::line(name).text);
            warnings.push(format!(
                "{shown:?} is no name for an argument: those have letters from a to z, digits, \"-\" and \"_\"; no argument has a name"
            ));
            return Vec::new();
        }
        if names.iter().any(|known| known == name) {
            warnings.push(format!("arguments names {name:?} twice; no argument has a name"));
            return Vec::new();
        }
        names.push(name.to_owned());
    }
    if names.len() > MAX_ARGUMENTS {
        warnings.push(format!("arguments has {} names; only {MAX_ARGUMENTS} are used", names.len()));
        names.truncate(MAX_ARGUMENTS);
    }
    names
}

/// Returns a scalar, or the `name` of a mapping.
fn named(value: &Value) -> Option<&str> {
    match value {
        Value::Map(members) => {
            members.iter().find(|(key, _)| key == "name").and_then(|(_, name)| name.as_text())
        }
        value => value.as_text(),
    }
}

fn is_argument_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (1..=MAX_ARGUMENT_CHARS).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(allowed)
        // These names have a special meaning.
        && !matches!(name, "ARGUMENTS" | "arguments")
}

fn ignored(document: &Document) -> Vec<Ignored> {
    let unknown = document.members.iter().filter(|(key, _)| !KNOWN.contains(&key.as_str()));
    let ignored = unknown.map(|(key, _)| Ignored { key: shown(&hygiene::line(key).text), why: why(key) });
    ignored.take(MAX_IGNORED).collect()
}

fn why(key: &str) -> String {
    if let Some((_, why)) = WITHOUT_EFFECT.iter().find(|(known, _)| *known == key) {
        return (*why).to_owned();
    }
    let plain = |key: &str| key.to_ascii_lowercase().replace(['_', ' '], "-");
    let all = KNOWN.iter().chain(WITHOUT_EFFECT.iter().map(|(known, _)| known));
    let all: Vec<&str> = all.copied().collect();
    let same = all.iter().find(|known| plain(known) == plain(key)).copied();
    match same.or_else(|| meant(key, &all)) {
        Some(meant) => format!("it is unknown; did you mean {meant}?"),
        None => "it is unknown".to_owned(),
    }
}
