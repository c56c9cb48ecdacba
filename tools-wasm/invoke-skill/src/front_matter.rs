//! SKILL.md: YAML between a first line `---` and the next line `---`, then the
//! instructions. The format is that of agentskills.io, read leniently: what is
//! merely wrong is a warning, and only what has no use is refused.

use std::fmt;
use std::ops::Range;

use scorpiox_tool_kit::args::shown;

use crate::fields::Fields;
use crate::yaml::{self, Document, Value, YamlError};
use crate::{hygiene, lenient};

/// Longest front matter in bytes. Real ones have a few hundred.
pub const MAX_BYTES: usize = 64 * 1024;
/// Longest description of the format, in characters; a longer one is a warning.
const MAX_DESCRIPTION_CHARS: usize = 1024;
/// Longest name of the format.
const MAX_NAME_CHARS: usize = 64;
/// A name that is longer than this, in characters, is not used.
const UNUSABLE_NAME_CHARS: usize = 128;

/// What a SKILL.md says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontMatter {
    /// The name, if there is a usable one: one line without hidden characters.
    pub name: Option<String>,
    /// The description: one line without hidden characters, never empty.
    pub description: String,
    /// What other fields say.
    pub fields: Fields,
    /// All of it in the author's order, without hidden characters.
    pub whole: Value,
    /// What is wrong with it but does not stop it from working.
    pub warnings: Vec<String>,
    /// Where the instructions start.
    pub body: usize,
}

/// Why a SKILL.md is not usable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The first line is not `---`.
    NoStart,
    /// No later line is `---`.
    NoEnd,
    /// Over [`MAX_BYTES`].
    TooLong,
    /// The YAML cannot be read, even leniently.
    Yaml(String),
    /// There is no text in `description`.
    NoDescription,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStart => f.write_str("SKILL.md has no front matter: its first line must be \"---\""),
            Self::NoEnd => f.write_str("the front matter has no end: a second line \"---\" is missing"),
            Self::TooLong => write!(f, "the front matter is longer than {MAX_BYTES} bytes"),
            Self::Yaml(why) => write!(f, "the front matter cannot be read: {why}"),
            Self::NoDescription => f.write_str("description is missing or empty in the front matter"),
        }
    }
}

/// The parts of a SKILL.md, as byte positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// The YAML between the two lines.
    pub yaml: Range<usize>,
    /// Where the instructions start.
    pub body: usize,
}

/// Finds the front matter. A byte order mark, CRLF and white space after `---` are
/// tolerated.
pub fn split(bytes: &[u8]) -> Result<Parts, Refusal> {
    let bom = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let start = next_line(bytes, bom);
    if !is_fence(&bytes[bom..start]) {
        return Err(Refusal::NoStart);
    }
    let mut line = start;
    while line < bytes.len() {
        let next = next_line(bytes, line);
        if is_fence(&bytes[line..next]) {
            return Ok(Parts { yaml: start..line, body: next });
        }
        line = next;
    }
    Err(Refusal::NoEnd)
}

fn next_line(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |end| from + end + 1)
}

fn is_fence(line: &[u8]) -> bool {
    line.trim_ascii_end() == b"---"
}

/// Reads the front matter of a SKILL.md, or of its first bytes.
pub fn parse(bytes: &[u8]) -> Result<FrontMatter, Refusal> {
    let parts = split(bytes)?;
    let body = parts.body;
    let bytes = &bytes[parts.yaml];
    if bytes.len() > MAX_BYTES {
        return Err(Refusal::TooLong);
    }
    let text = String::from_utf8_lossy(bytes);
    let mut warnings = Vec::new();
    if std::str::from_utf8(bytes).is_err() {
        warnings.push("the front matter is not valid UTF-8; broken bytes were replaced".to_owned());
    }
    let document = read(&text, &mut warnings)?;
    for key in &document.repeated {
        warnings.push(format!("{} stands there more than once; the first one counts", quoted(key)));
    }
    let name = name(&document, &mut warnings);
    let description = description(&document, &mut warnings)?;
    let fields = Fields::read(&document, &mut warnings);
    let whole = clean(Value::Map(document.members));
    Ok(FrontMatter { name, description, fields, whole, warnings, body })
}

fn read(text: &str, warnings: &mut Vec<String>) -> Result<Document, Refusal> {
    let why = match yaml::read(text) {
        Ok(document) => return Ok(document),
        Err(YamlError::Limit(why)) => return Err(Refusal::Yaml(why)),
        Err(YamlError::Syntax(why)) => why,
    };
    let repaired = lenient::repair(text);
    let document = yaml::read(&repaired.text).map_err(|_| Refusal::Yaml(hygiene::line(&why).text))?;
    for key in repaired.keys {
        warnings.push(format!("the value of {} is not valid YAML; it was read as text", quoted(&key)));
    }
    Ok(document)
}

fn field<'a>(document: &'a Document, key: &str) -> Option<&'a Value> {
    document.members.iter().find(|(known, _)| known == key).map(|(_, value)| value)
}

fn name(document: &Document, warnings: &mut Vec<String>) -> Option<String> {
    let value = field(document, "name")?;
    if value.is_null() {
        return None;
    }
    let cleaned = hygiene::line(value.as_text().unwrap_or_default());
    if cleaned.stripped {
        warnings.push(hidden("name"));
    }
    if cleaned.text.is_empty() || cleaned.text.chars().count() > UNUSABLE_NAME_CHARS {
        warnings.push(format!("name is not a text of at most {UNUSABLE_NAME_CHARS} characters; not used"));
        return None;
    }
    if !is_good_name(&cleaned.text) {
        warnings.push(format!(
            "the name {} should have 1 to {MAX_NAME_CHARS} lowercase letters, digits and single hyphens",
            quoted(&cleaned.text)
        ));
    }
    Some(cleaned.text)
}

/// The rule of agentskills.io.
pub fn is_good_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && name.bytes().all(allowed)
        && !(name.starts_with('-') || name.ends_with('-') || name.contains("--"))
}

fn description(document: &Document, warnings: &mut Vec<String>) -> Result<String, Refusal> {
    let raw = field(document, "description").and_then(Value::as_text).ok_or(Refusal::NoDescription)?;
    let cleaned = hygiene::line(raw);
    if cleaned.text.is_empty() {
        return Err(Refusal::NoDescription);
    }
    if cleaned.stripped {
        warnings.push(hidden("description"));
    }
    let length = cleaned.text.chars().count();
    if length > MAX_DESCRIPTION_CHARS {
        warnings.push(format!(
            "the description has {length} characters; the format allows {MAX_DESCRIPTION_CHARS}"
        ));
    }
    Ok(cleaned.text)
}

fn hidden(field: &str) -> String {
    format!("control or invisible characters were removed from the {field}")
}

fn quoted(text: &str) -> String {
    format!("{:?}", shown(&hygiene::line(text).text))
}

fn clean(value: Value) -> Value {
    match value {
        Value::Scalar { text, plain } => Value::Scalar { text: hygiene::value(&text).text, plain },
        Value::List(values) => Value::List(values.into_iter().map(clean).collect()),
        Value::Map(members) => {
            let mut kept: Vec<(String, Value)> = Vec::with_capacity(members.len());
            for (key, value) in members {
                let key = hygiene::line(&key).text;
                if kept.iter().all(|(known, _)| *known != key) {
                    kept.push((key, clean(value)));
                }
            }
            Value::Map(kept)
        }
    }
}
