//! `SKILL.md`: YAML between a first line `---` and the next line `---`, followed by the instructions. The
//! format is that of agentskills.io. The parser is lenient: mistakes cause warnings, and only unusable files
//! are refused.

use std::fmt;
use std::ops::Range;

use scorpiox_tool_kit::args::shown;

use crate::fields::Fields;
use crate::nearest::meant;
use crate::yaml::{self, Document, Value, YamlError};
use crate::{hygiene, lenient};

/// Maximum size of the front matter, in bytes. Typical sizes are a few hundred bytes.
pub const MAX_BYTES: usize = 64 * 1024;
/// Maximum length of a description in the format, in characters. A longer one causes a warning.
const MAX_DESCRIPTION_CHARS: usize = 1024;
/// Maximum length of a name in the format.
const MAX_NAME_CHARS: usize = 64;
/// Maximum length of a usable name, in characters.
const UNUSABLE_NAME_CHARS: usize = 128;

/// Contents of a front matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontMatter {
    /// Name, if it is usable: one line without hidden characters.
    pub name: Option<String>,
    /// Description: one line without hidden characters, never empty.
    pub description: String,
    /// Other fields.
    pub fields: Fields,
    /// All members in the author's order, without hidden characters.
    pub whole: Value,
    /// Problems that do not prevent the skill from working.
    pub warnings: Vec<String>,
    /// Byte position of the instructions.
    pub body: usize,
}

/// Reason why a `SKILL.md` is unusable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The file is empty.
    Empty,
    /// The file is not UTF-8 text.
    NotUtf8,
    /// The first line is not `---`.
    NoStart,
    /// No later line is `---`.
    NoEnd,
    /// The front matter exceeds [`MAX_BYTES`].
    TooLong,
    /// The YAML cannot be parsed, even leniently.
    Yaml(String),
    /// `description` has no text. The value is a similar member that the author may have meant.
    NoDescription(Option<String>),
    /// `description` is a list or a mapping.
    NoText,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("SKILL.md is empty"),
            Self::NotUtf8 => f.write_str("SKILL.md is no text in UTF-8; save it as UTF-8"),
            Self::NoStart => f.write_str("SKILL.md has no front matter: its first line must be \"---\""),
            Self::NoEnd => f.write_str("the front matter has no end: a second line \"---\" is missing"),
            Self::TooLong => write!(f, "the front matter is longer than {MAX_BYTES} bytes"),
            Self::Yaml(why) => write!(f, "the front matter cannot be read: {why}"),
            Self::NoDescription(meant) => {
                f.write_str("description is missing or empty in the front matter")?;
                meant.as_ref().map_or(Ok(()), |meant| write!(f, "; is it what {} stands for?", quoted(meant)))
            }
            Self::NoText => f.write_str("description is a list or a mapping; write one text"),
        }
    }
}

/// Parts of a `SKILL.md`, as byte positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// The YAML between the two lines.
    pub yaml: Range<usize>,
    /// Byte position of the instructions.
    pub body: usize,
}

/// Finds the front matter. A byte order mark, CRLF, and whitespace after `---` are tolerated.
pub fn split(bytes: &[u8]) -> Result<Parts, Refusal> {
    let bom = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    if bytes[bom..].trim_ascii().is_empty() {
        return Err(Refusal::Empty);
    }
    let start = next_line(bytes, bom);
    if !is_fence(&bytes[bom..start]) {
        // In UTF-16, every ASCII character has a zero byte.
        return Err(if bytes[bom..start].contains(&0) { Refusal::NotUtf8 } else { Refusal::NoStart });
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

/// Parses the front matter of a `SKILL.md`, or of its first bytes.
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
    let (document, slip) = read(&text, &mut warnings)?;
    for key in &document.repeated {
        warnings.push(format!("{} stands there more than once; the first one counts", quoted(key)));
    }
    let name = name(&document, &mut warnings);
    let description = description(&document, &mut warnings).map_err(|refusal| match (refusal, slip) {
        // Because of a missing quote or space, the description may have become part of another value.
        (Refusal::NoDescription(_), Some(slip)) => Refusal::Yaml(slip),
        (refusal, _) => refusal,
    })?;
    let fields = Fields::read(&document, &mut warnings);
    let whole = clean(Value::Map(document.members));
    Ok(FrontMatter { name, description, fields, whole, warnings, body })
}

/// Parses the document. Returns the syntax error too if the text required repair.
fn read(text: &str, warnings: &mut Vec<String>) -> Result<(Document, Option<String>), Refusal> {
    let why = match yaml::read(text) {
        Ok(document) => return Ok((document, None)),
        Err(YamlError::Limit(why)) => return Err(Refusal::Yaml(why)),
        Err(YamlError::Syntax(why)) => why,
    };
    let why = hygiene::line(&why).text;
    let repaired = lenient::repair(text);
    let Ok(document) = yaml::read(&repaired.text) else { return Err(Refusal::Yaml(why)) };
    for key in repaired.keys {
        warnings.push(format!(
            "the value of {} is not valid YAML and was read as text; put it in quotes",
            quoted(&key)
        ));
    }
    Ok((document, Some(why)))
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
            "the name {} should have 1 to {MAX_NAME_CHARS} lowercase letters, digits and single hyphens; clients that read skills as resources do not get it",
            quoted(&cleaned.text)
        ));
    }
    Some(cleaned.text)
}

/// Checks a name against the rule of agentskills.io.
pub fn is_good_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && name.bytes().all(allowed)
        && !(name.starts_with('-') || name.ends_with('-') || name.contains("--"))
}

fn description(document: &Document, warnings: &mut Vec<String>) -> Result<String, Refusal> {
    let missing = || {
        let keys: Vec<&str> = document.members.iter().map(|(key, _)| key.as_str()).collect();
        Refusal::NoDescription(meant("description", &keys).map(str::to_owned))
    };
    let value = field(document, "description").filter(|value| !value.is_null()).ok_or_else(missing)?;
    let cleaned = hygiene::line(value.as_text().ok_or(Refusal::NoText)?);
    if cleaned.text.is_empty() {
        return Err(missing());
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
