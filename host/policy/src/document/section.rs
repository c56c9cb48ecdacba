//! Tables and values that know their line and their name.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::rule::{Invalid, Layer, Source, shorten, suggest};

use crate::document::page::quote;
use crate::document::problem::Problem;

/// Maximum number of entries in a list; each is checked against each path or host.
const MAX_LIST: usize = 256;

/// A text and the offsets of its lines.
pub struct Document<'a> {
    text: &'a str,
    path: &'a Path,
    layer: Layer,
    lines: Vec<usize>,
}

impl<'a> Document<'a> {
    /// Creates a document for a text of a layer; `path` appears only in messages.
    pub fn new(text: &'a str, path: &'a Path, layer: Layer) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, path, layer, lines: std::iter::once(0).chain(after_breaks).collect() }
    }

    /// Parses the text and returns its top-level table.
    pub fn parse(&self) -> Result<Spanned<DeTable<'a>>, Problem> {
        DeTable::parse(self.text).map_err(|error| {
            let message = error.message().trim().replace('\n', ", ");
            let fix = if message.contains("duplicate key") {
                "keep one of them"
            } else {
                "see https://toml.io for how to write it"
            };
            let line = error.span().map(|span| self.line(span.start));
            self.problem(line, format!("is not TOML: {}", shorten(&message)), fix)
        })
    }

    /// Returns the number of the line that contains this byte offset.
    pub fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|&start| start <= offset)
    }

    /// Returns the source for this byte offset.
    pub fn source(&self, offset: usize) -> Source {
        self.layer.line(self.line(offset))
    }

    /// Returns the layer that the text belongs to.
    pub fn layer(&self) -> Layer {
        self.layer
    }

    /// Creates a problem for a line, or for the document as a whole.
    pub fn problem(&self, line: Option<usize>, what: impl Into<String>, fix: impl Into<String>) -> Problem {
        Problem { path: self.path.to_owned(), line, what: what.into(), fix: fix.into(), may_pass: false }
    }
}

/// A table.
pub struct Section<'a> {
    document: &'a Document<'a>,
    table: &'a DeTable<'a>,
    /// Header as written in the file, such as `[shell]`; empty for the top level.
    name: String,
}

impl<'a> Section<'a> {
    /// Returns the top-level keys as a section.
    pub fn top(document: &'a Document<'a>, table: &'a DeTable<'a>) -> Self {
        Self { document, table, name: String::new() }
    }

    /// Returns the header as written in the file; empty for the top level.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the header of a table below this one.
    pub fn child(&self, key: &str) -> String {
        match self.name.strip_suffix(']') {
            Some(open) => format!("{open}.{key}]"),
            None => format!("[{key}]"),
        }
    }

    /// Fails for the first key, in file order, that is not in `known`.
    pub fn only(&self, known: &[&str]) -> Result<(), Problem> {
        let unknown = |entry: &(&str, Entry<'_>)| !known.contains(&entry.0);
        let Some((key, entry)) = self.entries().find(unknown) else {
            return Ok(());
        };
        let place = if self.name.is_empty() { String::new() } else { format!(" in {}", self.name) };
        let what = format!("unknown key `{}`{place}", shorten(key));
        Err(self.document.problem(Some(entry.key_line), what, suggest(key, "keys", known)))
    }

    /// Returns the value of a key, if it exists.
    pub fn get(&self, key: &str) -> Option<Entry<'a>> {
        self.table.get_key_value(key).map(|(key, value)| self.entry(key, value))
    }

    /// Returns all entries in file order.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, Entry<'a>)> {
        let mut pairs: Vec<_> = self.table.iter().collect();
        pairs.sort_by_key(|(key, _)| key.span().start);
        pairs.into_iter().map(|(key, value)| (key.get_ref().as_ref(), self.entry(key, value)))
    }

    /// Returns the values of the table and of those in it, each with its dotted key below `prefix`, in the syntax of TOML
    /// on one line.
    pub fn written(&self, prefix: &str) -> Vec<(String, String, Source)> {
        let mut lines = Vec::new();
        for (key, entry) in self.entries() {
            let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            let is_bare = !key.is_empty() && key.chars().all(bare);
            let key = format!("{prefix}.{}", if is_bare { key.to_owned() } else { quote(key) });
            match entry.value.get_ref().as_table().filter(|table| !table.is_empty()) {
                Some(table) => {
                    let below = Section { document: self.document, table, name: String::new() };
                    lines.extend(below.written(&key));
                }
                None => lines.push((key, one_line(entry.value.get_ref()), entry.source())),
            }
        }
        lines
    }

    fn entry(
        &self,
        key: &'a Spanned<std::borrow::Cow<'a, str>>,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Entry<'a> {
        let place = if self.name.is_empty() { String::new() } else { format!(" in {}", self.name) };
        Entry {
            document: self.document,
            value,
            label: format!("`{}`{place}", shorten(key.get_ref())),
            key_line: self.document.line(key.span().start),
        }
    }
}

/// A value.
pub struct Entry<'a> {
    document: &'a Document<'a>,
    value: &'a Spanned<DeValue<'a>>,
    /// Label in messages, such as "`read` in [shell]".
    label: String,
    key_line: usize,
}

impl<'a> Entry<'a> {
    /// Returns the label for messages, such as "`read` in [shell]".
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the line of the value.
    fn line(&self) -> usize {
        self.document.line(self.value.span().start)
    }

    /// Returns the line of the value as a source.
    pub fn source(&self) -> Source {
        self.document.layer.line(self.line())
    }

    /// Returns the line of the key as a source; for a table, this is its header.
    pub fn key_source(&self) -> Source {
        self.document.layer.line(self.key_line)
    }

    /// Creates a problem with this value.
    pub fn problem(&self, what: impl Into<String>, fix: impl Into<String>) -> Problem {
        let is_table = matches!(self.value.get_ref(), DeValue::Table(_));
        let line = if is_table { self.key_line } else { self.line() };
        self.document.problem(Some(line), what, fix)
    }

    /// Creates a problem from the error of a parser for this value.
    pub fn invalid(&self, invalid: &Invalid) -> Problem {
        self.problem(format!("{}: {}", self.label, invalid.what), invalid.fix.as_str())
    }

    /// Creates a problem for a value of the wrong type; `fix` describes the correct syntax.
    pub fn wrong_type(&self, fix: &str) -> Problem {
        let value = match self.value.get_ref() {
            DeValue::String(text) => format!("the string \"{}\"", shorten(text)),
            DeValue::Integer(number) => format!("the integer {}", shorten(&number.to_string())),
            DeValue::Float(number) => format!("the number {}", shorten(number.as_str())),
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Datetime(_) => "a date".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        self.problem(format!("{} is {value}", self.label), fix)
    }

    /// Returns the boolean, or a problem if the value has another type.
    pub fn boolean(&self, fix: &str) -> Result<bool, Problem> {
        self.value.get_ref().as_bool().ok_or_else(|| self.wrong_type(fix))
    }

    /// Returns the integer, if the value is one and fits into 64 bits.
    pub fn whole(&self) -> Option<i64> {
        let number = self.value.get_ref().as_integer()?;
        i64::from_str_radix(number.as_str(), number.radix()).ok()
    }

    /// Returns the string, or a problem if the value has another type.
    pub fn text(&self, fix: &str) -> Result<&'a str, Problem> {
        self.value.get_ref().as_str().ok_or_else(|| self.wrong_type(fix))
    }

    /// Returns the string, if the value is one.
    pub fn as_text(&self) -> Option<&'a str> {
        self.value.get_ref().as_str()
    }

    /// Returns the entries of the list. Fails if the value is not a list or has too many entries.
    pub fn list(&self, fix: &str) -> Result<Vec<Entry<'a>>, Problem> {
        self.list_of(fix, MAX_LIST)
    }

    /// Works like [`list`](Self::list), with another maximum number of entries.
    pub fn list_of(&self, fix: &str, most: usize) -> Result<Vec<Entry<'a>>, Problem> {
        let items = self.value.get_ref().as_array().ok_or_else(|| self.wrong_type(fix))?;
        if items.len() > most {
            let what = format!("{} has {} entries", self.label, items.len());
            return Err(self.problem(what, format!("write at most {most}")));
        }
        let item = |value: &'a Spanned<DeValue<'a>>| Entry {
            document: self.document,
            value,
            label: self.label.clone(),
            key_line: self.document.line(value.span().start),
        };
        Ok(items.iter().map(item).collect())
    }

    /// Returns the table, or a problem if the value has another type. `name` is the header as written in the
    /// file.
    pub fn section(&self, name: &str) -> Result<Section<'a>, Problem> {
        let table = self.value.get_ref().as_table();
        let table = table.ok_or_else(|| self.wrong_type(&format!("write it as the table {name}")))?;
        Ok(Section { document: self.document, table, name: name.to_owned() })
    }
}

/// Formats a value in the syntax of TOML on one line.
fn one_line(value: &DeValue<'_>) -> String {
    let joined = |items: Vec<String>| items.join(", ");
    match value {
        DeValue::String(text) => quote(text),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| number.to_string(), |number| number.to_string()),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Array(items) => {
            format!("[{}]", joined(items.iter().map(|item| one_line(item.get_ref())).collect()))
        }
        DeValue::Table(table) => {
            let pair = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
                format!("{} = {}", quote(key.get_ref()), one_line(value.get_ref()))
            };
            format!("{{{}}}", joined(table.iter().map(pair).collect()))
        }
    }
}
