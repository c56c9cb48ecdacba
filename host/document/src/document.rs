//! Tables and values that know their line and their name.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use scorpiox_rules::{Invalid, Layer, Source, shorten, suggest};

use crate::problem::Problem;

/// Most entries of one list: each is checked against each path or host.
const MAX_LIST: usize = 256;

/// The text, and where its lines begin.
pub struct Document<'a> {
    text: &'a str,
    path: &'a Path,
    layer: Layer,
    lines: Vec<usize>,
}

impl<'a> Document<'a> {
    /// A text of a layer; `path` is for messages.
    pub fn new(text: &'a str, path: &'a Path, layer: Layer) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, path, layer, lines: std::iter::once(0).chain(after_breaks).collect() }
    }

    /// The keys at the top.
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

    /// The number of the line that has this byte.
    pub fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|&start| start <= offset)
    }

    /// The line, as what is read from it names it.
    pub fn source(&self, offset: usize) -> Source {
        self.layer.line(self.line(offset))
    }

    /// What is wrong in a line of it, or with the whole of it.
    pub fn problem(&self, line: Option<usize>, what: impl Into<String>, fix: impl Into<String>) -> Problem {
        Problem { path: self.path.to_owned(), line, what: what.into(), fix: fix.into() }
    }
}

/// One table.
pub struct Section<'a> {
    document: &'a Document<'a>,
    table: &'a DeTable<'a>,
    /// As a person would write its header, such as `[shell]`; empty for the top.
    name: String,
}

impl<'a> Section<'a> {
    /// The keys at the top as a table.
    pub fn top(document: &'a Document<'a>, table: &'a DeTable<'a>) -> Self {
        Self { document, table, name: String::new() }
    }

    /// As a person would write its header; empty for the top.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The header of a table below this one.
    pub fn child(&self, key: &str) -> String {
        match self.name.strip_suffix(']') {
            Some(open) => format!("{open}.{key}]"),
            None => format!("[{key}]"),
        }
    }

    /// Refuses the first key, in the order of the file, that is not among `known`.
    pub fn only(&self, known: &[&str]) -> Result<(), Problem> {
        let unknown = |entry: &(&str, Entry<'_>)| !known.contains(&entry.0);
        let Some((key, entry)) = self.entries().find(unknown) else {
            return Ok(());
        };
        let place = if self.name.is_empty() { String::new() } else { format!(" in {}", self.name) };
        let what = format!("unknown key `{}`{place}", shorten(key));
        Err(self.document.problem(Some(entry.key_line), what, suggest(key, "keys", known)))
    }

    /// The value of a key, if it is there.
    pub fn get(&self, key: &str) -> Option<Entry<'a>> {
        self.table.get_key_value(key).map(|(key, value)| self.entry(key, value))
    }

    /// All entries in the order of the file.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, Entry<'a>)> {
        let mut pairs: Vec<_> = self.table.iter().collect();
        pairs.sort_by_key(|(key, _)| key.span().start);
        pairs.into_iter().map(|(key, value)| (key.get_ref().as_ref(), self.entry(key, value)))
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

/// One value.
pub struct Entry<'a> {
    document: &'a Document<'a>,
    value: &'a Spanned<DeValue<'a>>,
    /// What it is called in messages, such as "`read` in [shell]".
    label: String,
    key_line: usize,
}

impl<'a> Entry<'a> {
    /// What it is called in messages, such as "`read` in [shell]".
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The line of the value.
    fn line(&self) -> usize {
        self.document.line(self.value.span().start)
    }

    /// The line of the value.
    pub fn source(&self) -> Source {
        self.document.layer.line(self.line())
    }

    /// The line of the key, which for a table is its header.
    pub fn key_source(&self) -> Source {
        self.document.layer.line(self.key_line)
    }

    /// What is wrong with it.
    pub fn problem(&self, what: impl Into<String>, fix: impl Into<String>) -> Problem {
        let is_table = matches!(self.value.get_ref(), DeValue::Table(_));
        let line = if is_table { self.key_line } else { self.line() };
        self.document.problem(Some(line), what, fix)
    }

    /// A value that its own parser refused.
    pub fn invalid(&self, invalid: &Invalid) -> Problem {
        self.problem(format!("{}: {}", self.label, invalid.what), invalid.fix.as_str())
    }

    /// It is of another type than it should be; `fix` says how it is written.
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

    /// Whether it is true; a problem where it is no boolean.
    pub fn boolean(&self, fix: &str) -> Result<bool, Problem> {
        self.value.get_ref().as_bool().ok_or_else(|| self.wrong_type(fix))
    }

    /// The integer, when it is one of 64 bits.
    pub fn whole(&self) -> Option<i64> {
        let number = self.value.get_ref().as_integer()?;
        i64::from_str_radix(number.as_str(), number.radix()).ok()
    }

    /// The text; a problem where it is none.
    pub fn text(&self, fix: &str) -> Result<&'a str, Problem> {
        self.value.get_ref().as_str().ok_or_else(|| self.wrong_type(fix))
    }

    /// The text, where it is one.
    pub fn as_text(&self) -> Option<&'a str> {
        self.value.get_ref().as_str()
    }

    /// The entries; a problem where it is no list, or has too many.
    pub fn list(&self, fix: &str) -> Result<Vec<Entry<'a>>, Problem> {
        let items = self.value.get_ref().as_array().ok_or_else(|| self.wrong_type(fix))?;
        if items.len() > MAX_LIST {
            let what = format!("{} has {} entries", self.label, items.len());
            return Err(self.problem(what, format!("write at most {MAX_LIST}")));
        }
        let item = |value: &'a Spanned<DeValue<'a>>| Entry {
            document: self.document,
            value,
            label: self.label.clone(),
            key_line: self.document.line(value.span().start),
        };
        Ok(items.iter().map(item).collect())
    }

    /// The table; a problem where it is none. `name` is how its header is written.
    pub fn section(&self, name: &str) -> Result<Section<'a>, Problem> {
        let table = self.value.get_ref().as_table();
        let table = table.ok_or_else(|| self.wrong_type(&format!("write it as the table {name}")))?;
        Ok(Section { document: self.document, table, name: name.to_owned() })
    }
}
