//! JSON and YAML values as a tree of limited size, in document order.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// Maximum number of values of a document; each copy by an alias counts again. The description of GitHub's
/// API, one of the largest, has 700,000.
const MAX_VALUES: usize = 1_000_000;
/// Maximum nesting depth; the same as in the JSON parser.
const MAX_DEPTH: usize = 128;
/// Maximum size of text that aliases may add, in bytes.
const MAX_COPIED: usize = 4 * 1024 * 1024;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Bool(bool),
    /// A number: its source text in YAML, its value in JSON.
    Number(Cow<'a, str>),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    Map(Vec<(Cow<'a, str>, Self)>),
}

impl<'a> Value<'a> {
    /// Parses JSON. Returns `None` if the text is invalid or too large.
    pub(crate) fn of_json(text: &'a str) -> Option<Self> {
        let left = Cell::new(MAX_VALUES);
        let mut reader = serde_json::Deserializer::from_str(text);
        let value = Seed(&left).deserialize(&mut reader).ok()?;
        reader.end().ok()?;
        Some(value)
    }

    /// Parses the first YAML document. Returns `None` if the text is invalid or too large.
    pub(crate) fn of_yaml(text: &'a str) -> Option<Self> {
        let mut tree = Tree::default();
        for event in Parser::new_from_str(text) {
            let (event, _) = event.ok()?;
            if matches!(event, Event::DocumentEnd) {
                break;
            }
            tree.take(event)?;
        }
        tree.root
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.members().iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(crate) fn members(&self) -> &[(Cow<'a, str>, Self)] {
        if let Self::Map(members) = self { members } else { &[] }
    }

    pub(crate) fn elements(&self) -> &[Self] {
        if let Self::List(values) = self { values } else { &[] }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) | Self::Number(text) = self { Some(text) } else { None }
    }

    /// Returns the text of a member.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_text().map(str::trim).filter(|text| !text.is_empty())
    }

    /// Returns `true` if a member is `true`.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.get(name) == Some(&Self::Bool(true))
    }

    /// Formats a scalar as JSON, and abbreviates objects and lists.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(is) => is.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => format!("{text:?}"),
            Self::List(values) if values.is_empty() => "[]".to_owned(),
            Self::List(_) => "[…]".to_owned(),
            Self::Map(_) => "{…}".to_owned(),
        }
    }

    fn count(&self) -> (usize, usize) {
        let add = |(values, bytes): (usize, usize), (more, length): (usize, usize)| {
            (values.saturating_add(more), bytes.saturating_add(length))
        };
        match self {
            Self::Text(text) | Self::Number(text) => (1, text.len()),
            Self::List(values) => values.iter().map(Self::count).fold((1, 0), add),
            Self::Map(members) => {
                members.iter().map(|(name, value)| add(value.count(), (0, name.len()))).fold((1, 0), add)
            }
            Self::Null | Self::Bool(_) => (1, 0),
        }
    }
}

struct Seed<'c>(&'c Cell<usize>);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'de>, D::Error> {
        let left = self.0.get().checked_sub(1).ok_or_else(|| D::Error::custom("too many values"))?;
        self.0.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, is: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(is))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value<'de>, E> {
        Ok(Value::Number(Cow::Owned(number.to_string())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value<'de>, E> {
        Ok(Value::Number(Cow::Owned(number.to_string())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value<'de>, E> {
        Ok(Value::Number(Cow::Owned(number.to_string())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value<'de>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = elements.next_element_seed(Seed(self.0))? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value<'de>, A::Error> {
        let mut known = Vec::new();
        while let Some(Name(name)) = members.next_key()? {
            known.push((name, members.next_value_seed(Seed(self.0))?));
        }
        Ok(Value::Map(known))
    }
}

/// A name, borrowed if it has no escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// An unfinished list or mapping, and its anchor (0: none).
enum Open<'a> {
    List(Vec<Value<'a>>, usize),
    Map { members: Vec<(Cow<'a, str>, Value<'a>)>, name: Option<Cow<'a, str>>, anchor: usize },
}

#[derive(Default)]
struct Tree<'a> {
    open: Vec<Open<'a>>,
    root: Option<Value<'a>>,
    anchors: BTreeMap<usize, Value<'a>>,
    values: usize,
    copied: usize,
}

impl<'a> Tree<'a> {
    /// Returns `None` if a limit is exceeded.
    fn take(&mut self, event: Event<'a>) -> Option<()> {
        match event {
            Event::Scalar(text, style, anchor, _) => self.put(scalar(text, style), anchor),
            Event::SequenceStart(anchor, _) => self.enter(Open::List(Vec::new(), anchor)),
            Event::MappingStart(anchor, _) => {
                self.enter(Open::Map { members: Vec::new(), name: None, anchor })
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop()? {
                Open::List(values, anchor) => self.put(Value::List(values), anchor),
                Open::Map { members, anchor, .. } => self.put(Value::Map(members), anchor),
            },
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned()?;
                self.copy(&value)?;
                self.attach(value);
                Some(())
            }
            _ => Some(()),
        }
    }

    fn enter(&mut self, open: Open<'a>) -> Option<()> {
        self.open.push(open);
        (self.open.len() <= MAX_DEPTH).then_some(())
    }

    fn put(&mut self, value: Value<'a>, anchor: usize) -> Option<()> {
        self.values += 1;
        if anchor > 0 {
            self.copy(&value)?;
            self.anchors.insert(anchor, value.clone());
        }
        (self.values <= MAX_VALUES).then_some(())?;
        self.attach(value);
        Some(())
    }

    /// Counts a copy before it is used. The original was limited when it was read.
    fn copy(&mut self, value: &Value<'a>) -> Option<()> {
        let (values, bytes) = value.count();
        self.values = self.values.checked_add(values)?;
        self.copied = self.copied.checked_add(bytes)?;
        (self.values <= MAX_VALUES && self.copied <= MAX_COPIED).then_some(())
    }

    fn attach(&mut self, value: Value<'a>) {
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(Open::List(values, _)) => values.push(value),
            Some(Open::Map { members, name, .. }) => match name.take() {
                Some(name) => members.push((name, value)),
                None => {
                    *name = Some(match value {
                        Value::Text(text) | Value::Number(text) => text,
                        value => Cow::Owned(value.shown()),
                    });
                }
            },
        }
    }
}

/// Parses a scalar according to the core schema of YAML 1.2.
fn scalar(text: Cow<'_, str>, style: ScalarStyle) -> Value<'_> {
    if style != ScalarStyle::Plain {
        return Value::Text(text);
    }
    match &*text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        number if is_number(number) => Value::Number(text),
        _ => Value::Text(text),
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_yaml_give_the_same() {
        let json = Value::of_json(r#"{"a":[1,"x\n",null,true,{}],"b":{"c":"200"}}"#).expect("JSON");
        let yaml = "a:\n  - 1\n  - \"x\\n\"\n  - ~\n  - true\n  - {}\nb:\n  c: '200'\n";
        assert_eq!(Value::of_yaml(yaml), Some(json.clone()));
        assert_eq!(json.get("b").and_then(|b| b.text("c")), Some("200"));
    }

    #[test]
    fn aliases_are_copies_that_are_counted() {
        let value = Value::of_yaml("a: &x {k: v}\nb: *x\n").expect("YAML");
        assert_eq!(value.get("a"), value.get("b"));
        let bomb = (0..9).fold("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, n| {
            let list = vec![format!("*a{n}"); 10].join(",");
            text + &format!("a{0}: &a{0} [{list}]\n", n + 1)
        });
        assert_eq!(Value::of_yaml(&bomb), None);
        assert_eq!(Value::of_yaml("a: &a [*a]\n"), None);
        assert_eq!(Value::of_yaml(&"[".repeat(100_000)), None);
        assert_eq!(Value::of_json(&"[".repeat(100_000)), None);
        assert_eq!(Value::of_json(&format!("[{}1]", "1,".repeat(1_500_000))), None);
    }
}
