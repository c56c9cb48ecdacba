//! Tables and values that know their line and their name.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use scorpiox_rules::{Invalid, Layer, Source, shorten, suggest};

use crate::problem::Problem;

/// Most entries of one list: each is checked against each path or host.
const MAX_LIST: usize = 256;

/// The text, and where its lines begin.
pub(super) struct Document<'a> {
    text: &'a str,
    path: &'a Path,
    layer: Layer,
    lines: Vec<usize>,
}

impl<'a> Document<'a> {
    pub(super) fn new(text: &'a str, path: &'a Path, layer: Layer) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, path, layer, lines: std::iter::once(0).chain(after_breaks).collect() }
    }

    pub(super) fn parse(&self) -> Result<Spanned<DeTable<'a>>, Problem> {
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
    pub(super) fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|&start| start <= offset)
    }

    /// The line, as what is read from it names it.
    pub(super) fn source(&self, offset: usize) -> Source {
        self.layer.line(self.line(offset))
    }

    pub(super) fn problem(
        &self,
        line: Option<usize>,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Problem {
        Problem { path: self.path.to_owned(), line, what: what.into(), fix: fix.into() }
    }
}

/// One table.
pub(super) struct Section<'a> {
    document: &'a Document<'a>,
    table: &'a DeTable<'a>,
    /// As a person would write its header, such as `[shell]`; empty for the top.
    name: String,
}

impl<'a> Section<'a> {
    pub(super) fn top(document: &'a Document<'a>, table: &'a DeTable<'a>) -> Self {
        Self { document, table, name: String::new() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The header of a table below this one.
    pub(super) fn child(&self, key: &str) -> String {
        match self.name.strip_suffix(']') {
            Some(open) => format!("{open}.{key}]"),
            None => format!("[{key}]"),
        }
    }

    /// Refuses the first key, in the order of the file, that is not among `known`.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), Problem> {
        let unknown = |entry: &(&str, Entry<'_>)| !known.contains(&entry.0);
        let Some((key, entry)) = self.entries().find(unknown) else {
            return Ok(());
        };
        let place = if self.name.is_empty() { String::new() } else { format!(" in {}", self.name) };
        let what = format!("unknown key `{}`{place}", shorten(key));
        Err(self.document.problem(Some(entry.key_line), what, suggest(key, "keys", known)))
    }

    pub(super) fn get(&self, key: &str) -> Option<Entry<'a>> {
        self.table.get_key_value(key).map(|(key, value)| self.entry(key, value))
    }

    /// All entries in the order of the file.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, Entry<'a>)> {
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
pub(super) struct Entry<'a> {
    document: &'a Document<'a>,
    value: &'a Spanned<DeValue<'a>>,
    /// What it is called in messages, such as "`read` in [shell]".
    label: String,
    key_line: usize,
}

impl<'a> Entry<'a> {
    pub(super) fn label(&self) -> &str {
        &self.label
    }

    /// The line of the value.
    fn line(&self) -> usize {
        self.document.line(self.value.span().start)
    }

    pub(super) fn source(&self) -> Source {
        self.document.layer.line(self.line())
    }

    /// The line of the key, which for a table is its header.
    pub(super) fn key_source(&self) -> Source {
        self.document.layer.line(self.key_line)
    }

    pub(super) fn problem(&self, what: impl Into<String>, fix: impl Into<String>) -> Problem {
        let is_table = matches!(self.value.get_ref(), DeValue::Table(_));
        let line = if is_table { self.key_line } else { self.line() };
        self.document.problem(Some(line), what, fix)
    }

    /// A value that its own parser refused.
    pub(super) fn invalid(&self, invalid: &Invalid) -> Problem {
        self.problem(format!("{}: {}", self.label, invalid.what), invalid.fix.as_str())
    }

    pub(super) fn wrong_type(&self, fix: &str) -> Problem {
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

    pub(super) fn boolean(&self, fix: &str) -> Result<bool, Problem> {
        self.value.get_ref().as_bool().ok_or_else(|| self.wrong_type(fix))
    }

    /// The integer, when it is one of 64 bits.
    pub(super) fn whole(&self) -> Option<i64> {
        let number = self.value.get_ref().as_integer()?;
        i64::from_str_radix(number.as_str(), number.radix()).ok()
    }

    pub(super) fn text(&self, fix: &str) -> Result<&'a str, Problem> {
        self.value.get_ref().as_str().ok_or_else(|| self.wrong_type(fix))
    }

    pub(super) fn as_text(&self) -> Option<&'a str> {
        self.value.get_ref().as_str()
    }

    pub(super) fn list(&self, fix: &str) -> Result<Vec<Entry<'a>>, Problem> {
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

    pub(super) fn section(&self, name: &str) -> Result<Section<'a>, Problem> {
        let table = self.value.get_ref().as_table();
        let table = table.ok_or_else(|| self.wrong_type(&format!("write it as the table {name}")))?;
        Ok(Section { document: self.document, table, name: name.to_owned() })
    }
}
