//! Parses YAML into a tree, within limits.
//!
//! The parser emits events and never recurses. This module builds the tree, so that depth, nodes and text are
//! counted before anything is stored. An alias is expanded by copying, and the copy is counted again: a
//! "billion laughs" document reaches the limit instead of exhausting memory.

use std::borrow::Cow;
use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Maximum nesting depth of lists and mappings.
pub const MAX_DEPTH: usize = 32;
/// Maximum number of values. Each expansion of an alias counts again.
pub const MAX_NODES: usize = 4096;
/// Maximum size of text, in bytes. Each expansion of an alias counts again.
pub const MAX_TEXT: usize = 128 * 1024;

/// Number of lines in the file before the YAML text.
const FENCE: usize = 1;

/// A value in its source form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A scalar. If it is `plain` (unquoted), it may be a number, a Boolean or null.
    Scalar {
        /// Text of the scalar.
        text: String,
        /// `true` if the scalar is unquoted.
        plain: bool,
    },
    /// A list.
    List(Vec<Value>),
    /// A mapping in the order of the file, with unique keys.
    Map(Vec<(String, Value)>),
}

/// Reason why text is unusable as YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum YamlError {
    /// Syntax error, with its position.
    Syntax(String),
    /// The text exceeds a limit for front matter.
    Limit(String),
}

/// A mapping, and its duplicate keys (the first value counts).
#[derive(Debug, PartialEq, Eq)]
pub struct Document {
    /// Members of the mapping.
    pub members: Vec<(String, Value)>,
    /// Duplicate keys.
    pub repeated: Vec<String>,
}

/// Parses the first document of `text`, which must be a mapping or empty.
pub fn read(text: &str) -> Result<Document, YamlError> {
    let mut tree = Tree::default();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| {
            if let Some(line) = tabbed(text) {
                let line = line + FENCE;
                return YamlError::Syntax(format!("line {line}: a tab; YAML takes spaces between its words"));
            }
            let at = error.marker();
            YamlError::Syntax(format!(
                "line {}, column {}: {}",
                at.line() + FENCE,
                at.col() + 1,
                error.info()
            ))
        })?;
        if matches!(event, Event::DocumentEnd) {
            break;
        }
        tree.take(event)?;
    }
    let members = match tree.root {
        None => Vec::new(),
        Some(Value::Map(members)) => members,
        Some(value) if value.is_null() => Vec::new(),
        Some(_) => return Err(YamlError::Syntax("it is not made of \"key: value\" lines".to_owned())),
    };
    Ok(Document { members, repeated: tree.repeated })
}

/// Returns the number of the first line with a tab in its indentation or after its colon, which no parser explains.
fn tabbed(text: &str) -> Option<usize> {
    let has_tab = |line: &str| {
        let indentation = &line[..line.len() - line.trim_start().len()];
        indentation.contains('\t') && !line.trim_start().is_empty() || line.contains(":\t")
    };
    text.lines().position(has_tab).map(|index| index + 1)
}

/// An unfinished list or mapping, and its anchor (0: none).
enum Open {
    List(Vec<Value>, usize),
    Map { members: Vec<(String, Value)>, key: Option<String>, anchor: usize },
}

#[derive(Default)]
struct Tree {
    open: Vec<Open>,
    root: Option<Value>,
    anchors: BTreeMap<usize, Value>,
    repeated: Vec<String>,
    nodes: usize,
    text: usize,
}

impl Tree {
    fn take(&mut self, event: Event<'_>) -> Result<(), YamlError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => self.put(scalar(text, style, tag.as_deref()), anchor),
            Event::SequenceStart(anchor, _) => self.enter(Open::List(Vec::new(), anchor)),
            Event::MappingStart(anchor, _) => {
                self.enter(Open::Map { members: Vec::new(), key: None, anchor })
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List(values, anchor)) => self.put(Value::List(values), anchor),
                Some(Open::Map { members, anchor, .. }) => self.put(Value::Map(members), anchor),
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned().ok_or_else(|| {
                    YamlError::Limit("an alias stands inside the value that it names".to_owned())
                })?;
                self.count(&value)?;
                self.attach(value)
            }
            _ => Ok(()),
        }
    }

    fn enter(&mut self, open: Open) -> Result<(), YamlError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(YamlError::Limit(format!("it is nested more than {MAX_DEPTH} levels deep")));
        }
        self.open.push(open);
        Ok(())
    }

    /// Adds a finished value: counts it, stores it under its anchor, and appends it to its parent.
    fn put(&mut self, value: Value, anchor: usize) -> Result<(), YamlError> {
        self.add(value.own_text())?;
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        self.attach(value)
    }

    fn attach(&mut self, value: Value) -> Result<(), YamlError> {
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(Open::List(values, _)) => values.push(value),
            Some(Open::Map { members, key, .. }) => match key.take() {
                None => *key = Some(value.into_key()?),
                Some(name) if members.iter().any(|(known, _)| *known == name) => self.repeated.push(name),
                Some(name) => members.push((name, value)),
            },
        }
        Ok(())
    }

    fn count(&mut self, value: &Value) -> Result<(), YamlError> {
        self.add(value.own_text())?;
        match value {
            Value::Scalar { .. } => Ok(()),
            Value::List(values) => values.iter().try_for_each(|value| self.count(value)),
            Value::Map(members) => members.iter().try_for_each(|(key, value)| {
                self.add(key.len())?;
                self.count(value)
            }),
        }
    }

    fn add(&mut self, text: usize) -> Result<(), YamlError> {
        self.nodes += 1;
        self.text += text;
        if self.nodes > MAX_NODES || self.text > MAX_TEXT {
            return Err(YamlError::Limit(format!(
                "with its aliases expanded it has more than {MAX_NODES} values or {MAX_TEXT} bytes"
            )));
        }
        Ok(())
    }
}

/// Creates a scalar. Tags other than `!!str` are ignored.
fn scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
    Value::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain && !is_text }
}

impl Value {
    /// Returns `true` for null of YAML's core schema.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Scalar { text, plain: true } if is_null(text))
    }

    /// Returns the source text of a scalar that is not null.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Scalar { text, plain } => (!(*plain && is_null(text))).then_some(text),
            _ => None,
        }
    }

    fn own_text(&self) -> usize {
        match self {
            Self::Scalar { text, .. } => text.len(),
            _ => 0,
        }
    }

    fn into_key(self) -> Result<String, YamlError> {
        match self {
            Self::Scalar { text, .. } => Ok(text),
            _ => Err(YamlError::Syntax("a key is a list or a mapping".to_owned())),
        }
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Scalar { text, plain: true } => serialize_plain(text, serializer),
            Self::Scalar { text, plain: false } => serializer.serialize_str(text),
            Self::List(values) => serializer.collect_seq(values),
            Self::Map(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

/// Serializes according to the core schema (YAML 1.2.2, section 10.3.2). Numbers that exceed JSON or 64 bits
/// stay text.
fn serialize_plain<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match text {
        "true" | "True" | "TRUE" => return serializer.serialize_bool(true),
        "false" | "False" | "FALSE" => return serializer.serialize_bool(false),
        _ if is_null(text) => return serializer.serialize_unit(),
        _ => {}
    }
    let based = |prefix, radix| {
        let digits = text.strip_prefix(prefix)?;
        let first = digits.chars().next()?;
        first.is_digit(radix).then(|| u64::from_str_radix(digits, radix).ok())?
    };
    if let Some(value) = based("0o", 8).or_else(|| based("0x", 16)) {
        return serializer.serialize_u64(value);
    }
    if let Ok(value) = text.parse::<i64>() {
        return serializer.serialize_i64(value);
    }
    if let Ok(value) = text.parse::<u64>() {
        return serializer.serialize_u64(value);
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && is_decimal(text) => serializer.serialize_f64(value),
        _ => serializer.serialize_str(text),
    }
}

/// Returns `true` for a decimal number, but not for words such as `inf`, `nan` and `infinity`.
fn is_decimal(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E'))
        && text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit() || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        serde_json::to_string(&Value::Map(read(text).expect("readable").members)).expect("serialises")
    }

    #[test]
    fn a_tab_is_named_with_its_line() {
        for (text, line) in [("name:\tx", 2), ("a: b\n\tc: d", 3), ("a:\n  - b\n \t- c", 4)] {
            let expected = format!("line {line}: a tab; YAML takes spaces between its words");
            assert_eq!(read(text), Err(YamlError::Syntax(expected)), "{text:?}");
        }
        assert!(matches!(read("a: [\tb"), Err(YamlError::Syntax(why)) if !why.contains("a tab")));
    }

    fn limit(text: &str) -> String {
        match read(text) {
            Err(YamlError::Limit(why)) => why,
            other => panic!("not limited: {other:?}"),
        }
    }

    #[test]
    fn members_keep_their_order_and_core_types() {
        let yaml = "b: 1\na: -2\nt: true\nn: null\ntilde: ~\nempty:\nf: 1.50\ns: '1'\nd: \"true\"\nhex: 0x1F\noct: 0o17\n\
                    version: 1.2.3\nno: no\ndate: 2024-01-02\nlist: [x, {y: 2}]\nstr: !!str 5\ninf: .inf\n";
        assert_eq!(
            json(yaml),
            r#"{"b":1,"a":-2,"t":true,"n":null,"tilde":null,"empty":null,"f":1.5,"s":"1","d":"true","hex":31,"oct":15,"version":"1.2.3","no":"no","date":"2024-01-02","list":["x",{"y":2}],"str":"5","inf":".inf"}"#
        );
    }

    #[test]
    fn numbers_beyond_json_stay_text() {
        let huge = "9".repeat(400);
        assert_eq!(
            json(&format!("a: {huge}\nb: 1e999\nc: 18446744073709551615\nd: 18446744073709551616\n")),
            format!(r#"{{"a":"{huge}","b":"1e999","c":18446744073709551615,"d":1.8446744073709552e+19}}"#)
        );
        assert_eq!(
            json("a: inf\nb: NaN\nc: +infinity\nd: e5\ne: +3\nf: 0x-1"),
            r#"{"a":"inf","b":"NaN","c":"+infinity","d":"e5","e":3,"f":"0x-1"}"#
        );
    }

    #[test]
    fn aliases_are_expanded() {
        assert_eq!(json("a: &x {k: v}\nb: *x\n"), r#"{"a":{"k":"v"},"b":{"k":"v"}}"#);
    }

    #[test]
    fn billion_laughs_end_at_the_limit() {
        let level = |n: usize| format!("a{n}: &a{n} [{}]", vec![format!("*a{}", n - 1); 10].join(", "));
        let lines: Vec<String> = (1..10).map(level).collect();
        assert!(limit(&format!("a0: &a0 lol\n{}", lines.join("\n"))).contains("aliases"));
        limit(&format!("a: &a {}\nb: [*a, *a, *a, *a, *a]", "x".repeat(MAX_TEXT / 4)));
        assert!(limit("a: &a [*a]").contains("inside"));
    }

    #[test]
    fn deep_nesting_ends_at_the_limit() {
        assert!(limit(&format!("a:\n  {}", "- ".repeat(5000))).contains("levels"));
        let open: Vec<String> = (0..40).map(|depth| format!("{}a:", " ".repeat(depth))).collect();
        assert!(limit(&open.join("\n")).contains("levels"));
        assert!(read(&"[".repeat(60_000)).is_err());
    }

    #[test]
    fn of_repeated_keys_the_first_counts() {
        let document = read("a: 1\na: 2\n").expect("readable");
        assert_eq!(document.repeated, ["a"]);
        assert_eq!(document.members.len(), 1);
    }

    #[test]
    fn what_is_no_mapping_is_refused() {
        for text in ["just words", "- a\n- b", "? [a]\n: b", "a: b: c", "\"open"] {
            assert!(matches!(read(text), Err(YamlError::Syntax(_))), "{text}");
        }
        assert_eq!(read("").expect("empty").members, []);
        assert_eq!(read("# comment\n").expect("empty").members, []);
    }
}
